-- Singletons go to the first worker that would have them, and are renewed in the same call; what is
-- no longer named is let go.
SELECT shard, name, change FROM lease_worker_pass('a', shards => 1, singletons => '{singleton:gc,sink:1}');
SELECT shard, name, change FROM lease_worker_pass('b', shards => 1, singletons => '{singleton:gc,sink:2}');
SELECT shard, name, change FROM lease_worker_pass('a', shards => 1, singletons => '{sink:1,sink:2,singleton:gc,sink:1}');
SELECT name, owner FROM lease.lease ORDER BY name;
SELECT worker, shards, singletons FROM lease_fleet();
-- dropped by one, taken by the other
SELECT shard, name, change FROM lease_worker_pass('a', shards => 1, singletons => '{sink:1}');
SELECT name, change FROM lease_worker_pass('b', shards => 1, singletons => '{singleton:gc,sink:2}');
-- lost: reported once
SELECT status FROM lease_takeover('sink:2', 'operator', '1 hour');
SELECT name, token IS NOT NULL AS token, change FROM lease_worker_pass('b', shards => 1, singletons => '{singleton:gc,sink:2}');
SELECT name, token IS NOT NULL AS token, change FROM lease_worker_pass('b', shards => 1, singletons => '{singleton:gc,sink:2}');
-- its holder is silent and the lease has expired: free to take; not before
UPDATE lease.lease SET expires_at = compute_now() - interval '1 s' WHERE owner = 'b';
SELECT name, change FROM lease_worker_pass('a', shards => 1, singletons => '{singleton:gc}');
UPDATE lease.worker SET steady_at = steady_at - 16000000 WHERE owner = 'b';
SELECT name, change FROM lease_worker_pass('a', shards => 1, singletons => '{singleton:gc}');
-- of other fleets as well
SELECT name, change FROM lease_worker_pass('a', 'f', shards => 1, singletons => '{singleton:gc}');
SELECT lease_worker_leave('a');
SELECT name, change, owner FROM lease_worker_pass('a', 'f', shards => 1, singletons => '{singleton:gc}');
DELETE FROM lease.worker;
DELETE FROM lease.lease;
