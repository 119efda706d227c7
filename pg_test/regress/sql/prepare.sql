-- A guarded write goes through two-phase commit: PREPARE TRANSACTION decides, and what is prepared
-- keeps a takeover out until it has ended.
CREATE TABLE ledger (id int);
CREATE TABLE free (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS t, token FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
\set VERBOSITY sqlstate

BEGIN;
INSERT INTO ledger VALUES (1);
PREPARE TRANSACTION 'regress_one';
-- the same session goes on with other work, which has nothing to answer for
INSERT INTO free VALUES (1);
SELECT count(*) AS ledger FROM ledger;
-- whoever would end the token waits for what is prepared, and says so
SET lock_timeout = '50ms';
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
SELECT status FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never');
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status FROM lease_acquire('arbitrum', 'worker-b');
SELECT lease_drop('arbitrum');
-- a renewal does not wait
SELECT status FROM lease_renew('arbitrum', 'worker-a', :token, '1 hour');
\set VERBOSITY default
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
\set VERBOSITY sqlstate
COMMIT PREPARED 'regress_one';
RESET lock_timeout;
TABLE ledger;
-- unrelated work in the same session after the takeover
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
INSERT INTO free VALUES (2);
INSERT INTO ledger VALUES (99);
TABLE free;

-- while it is prepared, even a row that was changed behind the fence's back stops nobody else
SELECT 'arbitrum=' || token AS t, token FROM lease_takeover('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (2);
PREPARE TRANSACTION 'regress_two';
UPDATE lease.lease SET token = token + 1;
INSERT INTO free VALUES (3);
INSERT INTO ledger VALUES (99);
ROLLBACK PREPARED 'regress_two';
UPDATE lease.lease SET token = token - 1;
INSERT INTO ledger VALUES (3);
TABLE ledger;

-- PREPARE looks again, as a commit does
BEGIN;
INSERT INTO ledger VALUES (4);
UPDATE lease.lease SET token = token + 1;
PREPARE TRANSACTION 'regress_three';
BEGIN;
INSERT INTO ledger VALUES (4);
UPDATE lease.lease SET owner = NULL;
PREPARE TRANSACTION 'regress_three';
SELECT gid FROM pg_prepared_xacts;
INSERT INTO ledger VALUES (5);
-- a check alone, and a renewal, can be prepared
BEGIN;
SELECT lease_fence_check('arbitrum', :token);
SELECT status FROM lease_renew('arbitrum', 'worker-a', :token, '1 hour');
PREPARE TRANSACTION 'regress_four';
COMMIT PREPARED 'regress_four';
TABLE ledger;

-- in mode newest it keeps whoever would raise the token out
CREATE TABLE shard (id int);
SELECT guard FROM lease_guard('shard', 'site:7', 'newest');
SELECT lease_fence_raise('site:7', 17);
SET pg_lease.token TO 'site:7=17';
BEGIN;
INSERT INTO shard VALUES (1);
PREPARE TRANSACTION 'regress_five';
SET lock_timeout = '50ms';
SELECT lease_fence_raise('site:7', 18);
SELECT lease_fence_check('site:7', 18, 'newest');
INSERT INTO shard VALUES (2);
COMMIT PREPARED 'regress_five';
SELECT lease_fence_raise('site:7', 18);
INSERT INTO shard VALUES (3);
TABLE shard;
RESET lock_timeout;

RESET pg_lease.token;
DROP TABLE ledger, free, shard;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
