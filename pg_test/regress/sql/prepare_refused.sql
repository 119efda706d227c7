-- A transaction that changed who owns a lease cannot be prepared.
SELECT token FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
\set VERBOSITY sqlstate
BEGIN;
SELECT status FROM lease_acquire('new', 'worker-a');
PREPARE TRANSACTION 'regress_no';
BEGIN;
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
PREPARE TRANSACTION 'regress_no';
BEGIN;
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
PREPARE TRANSACTION 'regress_no';
BEGIN;
SELECT status FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never');
PREPARE TRANSACTION 'regress_no';
BEGIN;
SELECT status FROM lease_acquire_many('{a,b}', 'worker-a');
PREPARE TRANSACTION 'regress_no';
BEGIN;
SELECT lease_void_all();
PREPARE TRANSACTION 'regress_no';
BEGIN;
SELECT lease_fence_raise('remote', 17);
PREPARE TRANSACTION 'regress_no';
CREATE TABLE shard (id int);
SELECT guard FROM lease_guard('shard', 'remote', 'newest');
BEGIN;
SET LOCAL pg_lease.token TO 'remote=17';
INSERT INTO shard VALUES (1);
PREPARE TRANSACTION 'regress_no';
UPDATE lease.lease SET expires_at = '2020-01-01';
BEGIN;
SELECT lease_drop('arbitrum');
PREPARE TRANSACTION 'regress_no';
SELECT name, owner, token = :token AS token FROM lease.lease;
SELECT count(*) AS raised FROM lease.fence;
SELECT count(*) AS prepared FROM pg_prepared_xacts;

-- nor one that began a run
BEGIN;
SELECT lease_once('payout', 'today');
PREPARE TRANSACTION 'regress_no';
BEGIN;
SAVEPOINT s;
SELECT lease_once('payout', 'today');
ROLLBACK TO s;
INSERT INTO lease.once VALUES ('2020-01-01', NULL, 'payout', 'other', 'me', 'test');
PREPARE TRANSACTION 'regress_yes';
ROLLBACK PREPARED 'regress_yes';
BEGIN;
SELECT lease_once('payout', 'today');
\set VERBOSITY default
PREPARE TRANSACTION 'regress_no';
\set VERBOSITY sqlstate

-- what was rolled back, or refused, changed nothing
BEGIN;
SAVEPOINT s;
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
ROLLBACK TO s;
SELECT status FROM lease_release('arbitrum', 'worker-b', :token);
PREPARE TRANSACTION 'regress_yes';
COMMIT PREPARED 'regress_yes';
\set VERBOSITY default
BEGIN;
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
PREPARE TRANSACTION 'regress_no';
DROP TABLE shard;
DELETE FROM lease.lease;
