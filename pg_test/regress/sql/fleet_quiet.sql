-- A shard in its quiet period is not free: no pass takes it before that is over, nor from a former
-- incarnation. A shard whose work has stalled gets a new token once it has run out.
CREATE FUNCTION pass(worker text, incarnation text DEFAULT '', OUT change text, OUT leases bigint)
    RETURNS SETOF record LANGUAGE sql AS $$
    SELECT p.change, count(*) FROM lease_worker_pass($1, incarnation => $2, shards => 4) AS p
    GROUP BY 1 ORDER BY 1
$$;
SELECT status FROM lease_acquire('shard:0', 'somebody', '1 s', quiet_period => '1 hour');
SET pg_lease.clock_offset = '1min';
SELECT * FROM pass('a');
SELECT * FROM pass('a');
SELECT worker, state, shards, due, orphaned FROM lease_fleet();
SELECT state, owner FROM lease.status WHERE name = 'shard:0';
SET pg_lease.clock_offset = '3602s';
SELECT * FROM pass('a');
SET pg_lease.clock_offset = '3605s';
SELECT * FROM pass('a');
SELECT worker, state, shards, due, orphaned FROM lease_fleet();
-- its own may go on under the same token
SELECT token, status FROM lease_acquire('shard:0', 'a', '15 s', quiet_period => '1 hour') \gset
SET pg_lease.clock_offset = '70min';
SELECT state FROM lease.status WHERE name = 'shard:0';
SELECT worker, state, shards, due, orphaned FROM lease_fleet();
SELECT * FROM pass('a');
SELECT token = :token AS same, state FROM lease.status WHERE name = 'shard:0';
-- a former incarnation's may not: it may be alive
SET pg_lease.clock_offset = '80min';
SELECT * FROM pass('a', '2');
SELECT * FROM pass('a', '2');
SELECT token = :token AS same, state FROM lease.status WHERE name = 'shard:0';
SET pg_lease.clock_offset = '131min';
SELECT * FROM pass('a', '2');
-- work that stands still keeps what it has, and no longer
SELECT token, status FROM lease_acquire('shard:1', 'a#2', '15 s', stall_after => '1 s') \gset
SELECT :'status' AS status;
SELECT expires_at AS expiry FROM lease.lease WHERE name = 'shard:1' \gset
SET pg_lease.clock_offset = '7870s';
SELECT * FROM pass('a', '2');
SELECT expires_at = :'expiry' AS not_renewed FROM lease.lease WHERE name = 'shard:1';
SET pg_lease.clock_offset = '7880s';
SELECT * FROM pass('a', '2');
SELECT token > :token AS higher, state, stalls_at FROM lease.status WHERE name = 'shard:1';
RESET pg_lease.clock_offset;
DROP FUNCTION pass;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
