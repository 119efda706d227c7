-- A clock that jumps expires leases and makes nobody silent: no shard moves to another worker while
-- its owner's next heartbeat is still on its way, and each keeps its token.
CREATE FUNCTION pass(worker text, OUT change text, OUT leases bigint) RETURNS SETOF record
    LANGUAGE sql AS $$
    SELECT p.change, count(*) FROM lease_worker_pass($1, singletons => '{singleton:gc}') AS p GROUP BY 1 ORDER BY 1
$$;
CREATE TABLE worker AS SELECT 'w' || n AS name FROM generate_series(1, 50) AS n;
SELECT count(*) FROM worker, LATERAL pass(name);
SELECT count(*) FROM worker, LATERAL pass(name);
SELECT count(*) FROM worker, LATERAL pass(name);
SELECT count(*), count(*) FILTER (WHERE l.owner = o.owner) AS as_computed
FROM lease_shard_owners(array(SELECT name FROM worker)) AS o
JOIN lease.lease AS l ON l.name = 'shard:' || o.shard;
CREATE TABLE before AS SELECT name, owner, token FROM lease.lease;
SET pg_lease.clock_offset = '1d';
SELECT state, count(*) FROM lease.status GROUP BY 1;
SELECT change, sum(leases) FROM worker, LATERAL pass(name) GROUP BY 1;
SELECT change, sum(leases) FROM worker, LATERAL pass(name) GROUP BY 1;
SELECT count(*) AS moved FROM lease.lease AS l JOIN before AS b USING (name)
WHERE (l.owner, l.token) IS DISTINCT FROM (b.owner, b.token);
-- what the doctor is to know: by how much, and when
SELECT count(*), min(clock_jump) BETWEEN '23:59:00' AND '24:01:00' AS jump,
       bool_and(clock_jumped_at > compute_now() - interval '5 min') AS seen_now
FROM lease_fleet() WHERE clock_jump IS NOT NULL;
-- and back again: expiries that are a day away
SET pg_lease.clock_offset = 0;
SELECT change, sum(leases) FROM worker, LATERAL pass(name) GROUP BY 1;
SELECT count(*) AS moved FROM lease.lease AS l JOIN before AS b USING (name)
WHERE (l.owner, l.token) IS DISTINCT FROM (b.owner, b.token);
-- a worker that dies after a jump is found out all the same
UPDATE lease.worker SET steady_at = steady_at - 16000000 WHERE owner = 'w7';
UPDATE lease.lease SET expires_at = compute_now() - interval '1 s' WHERE owner = 'w7';
SELECT change = 'orphan' AS orphans, leases = (SELECT count(*) FROM before WHERE owner = 'w7') AS all_of_them
FROM pass('w8') WHERE change <> 'kept';
-- a server that starts again: nobody is silent for what happened before
UPDATE lease.worker SET server = 1, steady_at = 0, began_at = 0;
UPDATE lease.lease SET expires_at = compute_now() - interval '1 minute';
SELECT change, sum(leases) FROM pass('w8') GROUP BY 1;
SELECT state, count(*) FROM lease_fleet() GROUP BY 1;
-- one ttl later those who have not come back are
UPDATE lease.worker SET began_at = began_at - 16000000 WHERE server <> 1;
SELECT state, count(*) FROM lease_fleet() GROUP BY 1 ORDER BY 1;
SELECT change, sum(leases) FROM pass('w8') GROUP BY 1 ORDER BY 1;
DROP FUNCTION pass;
DROP TABLE worker, before;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
