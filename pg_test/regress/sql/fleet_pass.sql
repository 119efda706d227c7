-- A pass takes what is due to the worker and free, keeps what it has, lets go of what is due to
-- another, and says what it did about each lease.
CREATE FUNCTION pass(worker text, fleet text DEFAULT 'controllers', shards integer DEFAULT 256,
                     OUT change text, OUT leases bigint) RETURNS SETOF record
    LANGUAGE sql AS $$
    SELECT p.change, count(*) FROM lease_worker_pass($1, $2, shards => $3) AS p GROUP BY 1 ORDER BY 1
$$;
SELECT * FROM pass('a');
SELECT shard, name, token > 0 AS token, expires_at - now BETWEEN '14 s' AND '15 s' AS fresh, change, owner
FROM lease_worker_pass('a') LIMIT 3;
-- a renewal keeps the token
SELECT string_agg(token::text, ',' ORDER BY name) AS before FROM lease.lease \gset
SELECT * FROM pass('a');
SELECT string_agg(token::text, ',' ORDER BY name) = :'before' AS same_tokens FROM lease.lease;
-- one joins: it waits for the other to let go, and what moves moves to it
SELECT * FROM pass('b');
SELECT * FROM pass('a');
SELECT * FROM pass('b');
SELECT * FROM pass('a');
SELECT count(*), count(*) FILTER (WHERE l.owner = o.owner) AS as_computed
FROM lease_shard_owners('{a,b}') AS o JOIN lease.lease AS l ON l.name = 'shard:' || o.shard;
-- what was released ended with its token, which the pass gives once more
SELECT count(*) FROM lease_worker_pass('c');
SELECT count(*) FILTER (WHERE change = 'released') AS released,
       count(*) FILTER (WHERE change = 'released' AND token IS NULL) AS without_token,
       count(*) FILTER (WHERE change = 'released' AND expires_at IS NOT NULL) AS with_expiry
FROM lease_worker_pass('a');
SELECT * FROM pass('c');
-- a lease that was taken away is lost, once
SELECT name AS taken FROM lease.lease WHERE owner = 'a' ORDER BY name LIMIT 1 \gset
SELECT status FROM lease_takeover(:'taken', 'operator', '1 hour');
SELECT name = :'taken' AS right_one, token, expires_at, change FROM lease_worker_pass('a') WHERE change = 'lost';
SELECT count(*) FROM lease_worker_pass('a') WHERE change = 'lost';
SELECT (lease_release(name, owner, token)).status FROM lease.lease WHERE owner = 'operator';
SELECT name = :'taken' AS right_one, change FROM lease_worker_pass('a') WHERE change <> 'kept';
-- a lapse that nobody used costs nothing: the token stays
UPDATE lease.lease SET expires_at = compute_now() - interval '1 minute' WHERE owner = 'a';
SELECT count(DISTINCT change), min(change) FROM lease_worker_pass('a');
-- other fleets have leases and workers of their own
SELECT * FROM pass('a', 'scheduler', 4);
SELECT name, owner FROM lease.lease WHERE name LIKE 'scheduler/%' ORDER BY name;
SELECT owner, fleet FROM lease.worker ORDER BY owner;
SELECT worker, incarnation, state, shards, due, orphaned, singletons, skew, clock_jump
FROM lease_fleet();
SELECT worker, state, shards, due FROM lease_fleet('scheduler');
SELECT * FROM lease_fleet('none');
-- one that leaves releases all at once; the others have its shards on their next pass
SELECT lease_worker_leave('b') = count(*) AS all_released FROM lease.lease WHERE owner = 'b';
SELECT lease_worker_leave('b');
SELECT worker, shards, due - shards AS to_come FROM lease_fleet();
SELECT count(*) FILTER (WHERE change = 'gained') > 0 AS gained FROM lease_worker_pass('a');
SELECT count(*) FILTER (WHERE change = 'gained') > 0 AS gained FROM lease_worker_pass('c');
SELECT sum(shards) FROM lease_fleet();
DROP FUNCTION pass;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
