-- A worker that presents the leases of its shards gets keys of these shards only, and none of a
-- shard whose lease has moved.
SELECT lease_work_add('q', 'n' || n, compute_now() - interval '1 min' + n * interval '1 ms', n % 4)
    > 0 AS added FROM generate_series(1, 8) AS n;
SELECT token AS t0 FROM lease_acquire('shard:0', 'w1', '1 hour') \gset
SELECT token AS t1 FROM lease_acquire('shard:1', 'w1', '1 hour') \gset
SELECT token AS t2 FROM lease_acquire('shard:2', 'w2', '1 hour') \gset
SELECT key, shard FROM lease_work_claim('q', 'w1', 3, '1 min', '{1,0}', ARRAY[:t1, :t0]);
SELECT key, shard FROM lease_work_claim('q', 'w1', 3, '1 min', '{1,0}', ARRAY[:t1, :t0]);
SELECT key, shard FROM lease_work_claim('q', 'w1', 3, '1 min', '{1,0}', ARRAY[:t1, :t0]);
-- not with another's token, a made-up one, one of another fleet
SELECT key FROM lease_work_claim('q', 'w1', 10, '1 min', '{2,3}', ARRAY[:t1, 5]);
SELECT key FROM lease_work_claim('q', 'w2', 10, '1 min', '{2}', ARRAY[:t2], 'scheduler');
SELECT token AS s2 FROM lease_acquire('scheduler/shard:2', 'w2', '1 hour') \gset
SELECT key FROM lease_work_claim('q', 'w2', 1, '1 min', '{2}', ARRAY[:s2], 'scheduler');
-- nor after the lease has been released, or taken over
UPDATE lease.work SET ready_at = compute_now() - interval '1 min', claim = NULL;
SELECT status FROM lease_release('shard:0', 'w1', :t0);
SELECT status FROM lease_takeover('shard:1', 'w3', '1 hour');
SELECT key FROM lease_work_claim('q', 'w1', 10, '1 min', '{0,1}', ARRAY[:t0, :t1]);
-- one that has expired, and that nobody took, is still the worker's
UPDATE lease.lease SET expires_at = compute_now() - interval '1 s' WHERE name = 'shard:2';
SELECT key FROM lease_work_claim('q', 'w2', 10, '1 min', '{0,2}', ARRAY[:t0, :t2])
ORDER BY key;
-- the claim presents the token for the rest of its transaction, which answers for it
CREATE TABLE placed (key text);
SELECT guard FROM lease_guard('placed', 'shard:3');
SELECT token AS t3 FROM lease_acquire('shard:3', 'w3', '1 hour') \gset
BEGIN;
SELECT key AS k FROM lease_work_claim('q', 'w3', 1, '1 min', '{3}', ARRAY[:t3]) \gset
INSERT INTO placed VALUES (:'k');
COMMIT;
TABLE placed;
INSERT INTO placed VALUES ('later');
DROP TABLE placed;
-- without shards all keys are to be had
UPDATE lease.work SET ready_at = compute_now() - interval '1 min', claim = NULL;
SELECT count(*) FROM lease_work_claim('q', 'anybody', 10);
-- a key that says no shard is in the one that its fleet computes
SELECT lease_work_add('q', 'node-1') > 0 AS added;
SELECT shard = lease_shard_of('node-1') AS computed FROM lease.work_status WHERE key = 'node-1';
DELETE FROM lease.work;
DELETE FROM lease.lease;
