-- A token that is granted under REPEATABLE READ or SERIALIZABLE is refused until it is committed:
-- the snapshot may miss the predecessor's last write.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
\set VERBOSITY sqlstate

BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM ledger;
SELECT status, 'arbitrum=' || token AS t, token
FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
SAVEPOINT s;
INSERT INTO ledger VALUES (1);
ROLLBACK TO s;
SELECT lease_fence_check('arbitrum', :token);
ROLLBACK TO s;
COMMIT;
-- committed, it is good at every level
INSERT INTO ledger VALUES (2);
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO ledger VALUES (3);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO ledger VALUES (4);
COMMIT;
TABLE ledger;

-- the same for an expired lease, a takeover and a new token for its owner
UPDATE lease.lease SET expires_at = '2020-01-01';
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM ledger;
SELECT 'arbitrum=' || token AS t FROM lease_acquire('arbitrum', 'worker-b', '1 hour') \gset
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (5);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 'arbitrum=' || token AS t FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (5);
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 'arbitrum=' || token AS t
FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never') \gset
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (5);
ROLLBACK;

-- a renewal grants nothing
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT status FROM lease_renew('arbitrum', 'worker-a', :token, '1 hour');
SELECT status FROM lease_acquire('arbitrum', 'worker-a', '1 hour');
INSERT INTO ledger VALUES (6);
COMMIT;
-- READ COMMITTED sees the predecessor's writes, so the token is good at once
BEGIN;
SELECT 'arbitrum=' || token AS t FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (7);
COMMIT;
TABLE ledger;
\set VERBOSITY default
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT setval('lease.token', 40) AS forty \gset
SELECT token FROM lease_acquire('fresh', 'worker-a');
SELECT lease_fence_check('fresh', 41);
ROLLBACK;
SELECT setval('lease.token', (SELECT max(token) FROM lease.lease)) AS back \gset

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
