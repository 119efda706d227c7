-- A worker that is silent for longer than its ttl is passed over: the first to come when its leases
-- have expired looks after its shards, until it is heard again or is no longer in the live set.
CREATE PROCEDURE silence(who text, seconds integer) LANGUAGE sql AS $$
    UPDATE lease.worker SET steady_at = steady_at - seconds * 1000000::bigint WHERE owner = who;
    UPDATE lease.lease SET expires_at = expires_at - seconds * interval '1 s' WHERE lease.owner = who
$$;
CREATE FUNCTION pass(worker text, OUT change text, OUT leases bigint) RETURNS SETOF record
    LANGUAGE sql AS $$
    SELECT p.change, count(*) FROM lease_worker_pass($1) AS p GROUP BY 1 ORDER BY 1
$$;
CREATE VIEW has AS
SELECT l.owner, count(*) FROM lease.lease AS l WHERE l.name LIKE 'shard:%' GROUP BY 1;
SELECT count(*) FROM pass('a') UNION ALL SELECT count(*) FROM pass('b') UNION ALL
SELECT count(*) FROM pass('c') UNION ALL SELECT count(*) FROM pass('a') UNION ALL
SELECT count(*) FROM pass('b') UNION ALL SELECT count(*) FROM pass('c') UNION ALL
SELECT count(*) FROM pass('b') UNION ALL SELECT count(*) FROM pass('c');
SELECT * FROM has ORDER BY owner;
-- a little late is not silent
CALL silence('a', 14);
SELECT * FROM pass('b');
-- silent, and its leases have expired: all of them go to whoever comes first
CALL silence('a', 2);
SELECT worker, state, shards, due, orphaned FROM lease_fleet();
SELECT * FROM pass('b');
SELECT * FROM pass('c');
SELECT worker, state, shards, due, orphaned FROM lease_fleet();
-- looked after from pass to pass
SELECT * FROM pass('b');
-- it is heard again: it has lost all of them, gets none under an old token, and has them back
SELECT * FROM pass('a');
SELECT * FROM pass('b');
SELECT * FROM pass('a');
SELECT * FROM has ORDER BY owner;
-- silent, but its lease is renewed: it is its own
CALL silence('a', 16);
UPDATE lease.lease SET expires_at = compute_now() + interval '5 s' WHERE owner = 'a';
SELECT * FROM pass('b');
CALL silence('a', 0);
SELECT * FROM pass('a');
-- out of the live set: what was looked after goes to its new owners
CALL silence('a', 16);
SELECT * FROM pass('c');
CALL silence('a', 16);
SELECT worker, state, shards, due, orphaned FROM lease_fleet();
SELECT * FROM pass('c');
SELECT * FROM pass('b');
SELECT count(*), count(*) FILTER (WHERE l.owner = o.owner) AS as_computed
FROM lease_shard_owners('{b,c}') AS o JOIN lease.lease AS l ON l.name = 'shard:' || o.shard;
-- after 20 times live_for it is forgotten; if it comes back, it begins again
SELECT count(*) FROM lease.worker WHERE owner = 'a';
CALL silence('a', 600 - 32);
SELECT count(*) FROM pass('b');
SELECT count(*) FROM lease.worker WHERE owner = 'a';
CALL silence('a', 2);
SELECT count(*) FROM pass('b');
SELECT count(*) FROM lease.worker WHERE owner = 'a';
-- even with leases that nobody has taken meanwhile: no token of before its row was deleted is good
SELECT lease_worker_leave('b') > 0, lease_worker_leave('c') > 0;
SELECT * FROM pass('a');
SELECT token AS old FROM lease.lease WHERE name = 'shard:0' \gset
DELETE FROM lease.worker;
SELECT * FROM pass('a');
SELECT token > :old AS new_token FROM lease.lease WHERE name = 'shard:0';
DROP VIEW has;
DROP FUNCTION pass;
DROP PROCEDURE silence;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
