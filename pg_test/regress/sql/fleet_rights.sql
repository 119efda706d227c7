-- A role passes for the fleets whose leases it may use, and under the names of its own workers only.
CREATE ROLE crew;
CREATE ROLE other;
SET ROLE crew;
SELECT lease_worker_pass('a', shards => 2);
SELECT lease_worker_leave('a');
SELECT * FROM lease_fleet();
RESET ROLE;
SELECT count(*) AS none FROM lease.worker;
SELECT lease_allow('crew', 'shard:*'), lease_allow('other', 'shard:*'), lease_allow('other', 'f/shard:1');
SET ROLE crew;
SELECT name, change FROM lease_worker_pass('a', shards => 2);
SELECT lease_worker_pass('a', 'f', shards => 2);
SELECT lease_worker_pass('a', shards => 2, singletons => '{singleton:gc}');
SELECT worker, state, shards FROM lease_fleet();
-- another role may not pass under its name, in whatever incarnation, nor send it away
SET ROLE other;
SELECT lease_worker_pass('a', shards => 2);
SELECT lease_worker_pass('a', incarnation => 'other', shards => 2);
SELECT lease_worker_leave('a');
-- of the fleet f it may use one shard only: that is not enough
SELECT lease_worker_pass('b', 'f', shards => 2);
-- what the first left behind is free to take when it has expired, not before
RESET ROLE;
UPDATE lease.worker SET steady_at = steady_at - 31000000;
SET ROLE other;
SELECT name, change FROM lease_worker_pass('a', shards => 2);
RESET ROLE;
UPDATE lease.lease SET expires_at = compute_now() - interval '1 s';
SET ROLE other;
SELECT name, change FROM lease_worker_pass('a', shards => 2);
SET ROLE crew;
SELECT lease_worker_pass('a', shards => 2);
RESET ROLE;
-- allowed is allowed to whoever belongs to the role
GRANT other TO crew;
SET ROLE crew;
SELECT name, change FROM lease_worker_pass('a', shards => 2);
SELECT lease_worker_leave('a');
RESET ROLE;
SELECT lease_disallow('crew', 'shard:*'), lease_disallow('other', 'shard:*'), lease_disallow('other', 'f/shard:1');
DROP ROLE crew, other;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
