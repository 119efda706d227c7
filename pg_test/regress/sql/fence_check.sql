-- lease_fence_check raises unless the token is good, and presents it for the rest of the
-- transaction.
SELECT token FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
\set VERBOSITY sqlstate
-- arguments
SELECT lease_fence_check(NULL, 1);
SELECT lease_fence_check('arbitrum', NULL);
SELECT lease_fence_check('arbitrum', :token, NULL);
SELECT lease_fence_check('', 1);
SELECT lease_fence_check('a b', 1);
SELECT lease_fence_check('arbitrum', 0);
SELECT lease_fence_check('arbitrum', -1);
SELECT lease_fence_check('arbitrum', :token, '');
SELECT lease_fence_check('arbitrum', :token, 'Current');
SELECT lease_fence_check('arbitrum', :token, 'newer');
-- tokens that are not good
SELECT lease_fence_check('unknown', 1);
SELECT lease_fence_check('unknown', 1, 'live');
SELECT lease_fence_check('arbitrum', :token - 1);
SELECT lease_fence_check('arbitrum', :token + 1);
SELECT lease_fence_check('arbitrum', 9223372036854775807);
SELECT lease_fence_check('arbitrum', :token - 1, 'live');
SELECT lease_fence_check('Arbitrum', :token);

-- good ones
SELECT lease_fence_check('arbitrum', :token);
SELECT lease_fence_check(name => 'arbitrum', token => :token, mode => 'live');
BEGIN READ ONLY;
SELECT lease_fence_check('arbitrum', :token);
SELECT lease_fence_check('arbitrum', :token, 'live');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT lease_fence_check('arbitrum', :token);
COMMIT;

-- it presents for the transaction, not for the session
BEGIN;
SELECT lease_fence_check('arbitrum', :token);
INSERT INTO ledger VALUES (1);
COMMIT;
INSERT INTO ledger VALUES (2);
BEGIN;
SELECT lease_fence_check('arbitrum', :token);
COMMIT AND CHAIN;
INSERT INTO ledger VALUES (2);
ROLLBACK;
-- a check that was refused presents nothing
BEGIN;
SAVEPOINT s;
SELECT lease_fence_check('arbitrum', :token - 1);
ROLLBACK TO s;
INSERT INTO ledger VALUES (2);
ROLLBACK;
-- it wins over the setting, whichever is good
SELECT 'arbitrum=' || :token AS good, 'arbitrum=' || :token - 1 AS stale \gset
SET pg_lease.token TO :'stale';
BEGIN;
SELECT lease_fence_check('arbitrum', :token);
INSERT INTO ledger VALUES (3);
COMMIT;
-- the last one counts
SELECT token AS newer FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
BEGIN;
SELECT lease_fence_check('arbitrum', :newer);
SAVEPOINT s;
SELECT lease_fence_check('arbitrum', :token);
ROLLBACK TO s;
INSERT INTO ledger VALUES (4);
COMMIT;
TABLE ledger;

-- modes: an expired lease still protects its holder unless a live one is asked for
RESET pg_lease.token;
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT lease_fence_check('arbitrum', :newer);
SELECT lease_fence_check('arbitrum', :newer, 'live');
-- what was presented in one mode is asked again in the guard's
SELECT lease_unguard('ledger');
SELECT guard FROM lease_guard('ledger', 'arbitrum', 'live');
BEGIN;
SELECT lease_fence_check('arbitrum', :newer);
INSERT INTO ledger VALUES (5);
ROLLBACK;
-- released: ended
SELECT status FROM lease_release('arbitrum', 'worker-b', :newer);
SELECT lease_fence_check('arbitrum', :newer);
-- mode newest asks another fence, and in a read-only transaction it can only compare
SELECT lease_fence_check('arbitrum', :newer, 'newest');
BEGIN READ ONLY;
SELECT lease_fence_check('arbitrum', :newer, 'newest');
SAVEPOINT s;
SELECT lease_fence_check('arbitrum', :token, 'newest');
ROLLBACK TO s;
SELECT lease_fence_check('arbitrum', :newer + 1, 'newest');
ROLLBACK;

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
