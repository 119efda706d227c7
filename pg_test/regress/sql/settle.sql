-- Who writes under a token and ends it in the same transaction commits both, and writes nothing
-- more under it.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
\set VERBOSITY sqlstate

-- last write and release
SELECT 'arbitrum=' || token AS t, token FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (1);
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
COMMIT;
-- the release is what others see, and the token has ended
INSERT INTO ledger VALUES (99);
-- last write and takeover
SELECT 'arbitrum=' || token AS t FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (2);
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
COMMIT;
-- last write, and an acquire that always brings a new token
SELECT 'arbitrum=' || token AS t FROM lease_takeover('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (3);
SELECT status FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never');
COMMIT;
TABLE ledger;

-- a write under the old token after the end is refused
SELECT 'arbitrum=' || token AS t, token FROM lease_takeover('arbitrum', 'worker-a', '1 hour') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (4);
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
INSERT INTO ledger VALUES (4);
ROLLBACK;
BEGIN;
INSERT INTO ledger VALUES (4);
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
INSERT INTO ledger VALUES (4);
ROLLBACK;
BEGIN;
INSERT INTO ledger VALUES (4);
SELECT status FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never');
INSERT INTO ledger VALUES (4);
ROLLBACK;
-- and passes under the new one
BEGIN;
INSERT INTO ledger VALUES (5);
SELECT 'arbitrum=' || token AS new
FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never') \gset
SET LOCAL pg_lease.token TO :'new';
INSERT INTO ledger VALUES (6);
COMMIT;
TABLE ledger;

-- an entry that is stale when the token ends is refused there: ending does not whitewash it
SET pg_lease.token TO :'new';
BEGIN;
INSERT INTO ledger VALUES (7);
UPDATE lease.lease SET token = token + 1;
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
ROLLBACK;
-- the other leases of the transaction are still looked at at the commit
SELECT token AS other FROM lease_acquire('other', 'worker-a', '1 hour') \gset
SELECT split_part(:'new', '=', 2) AS token \gset
BEGIN;
SELECT lease_fence_check('other', :other);
INSERT INTO ledger VALUES (8);
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
UPDATE lease.lease SET token = token + 1 WHERE name = 'other';
COMMIT;

-- an end that is rolled back leaves the write unsettled, and the commit looks at it again
BEGIN;
INSERT INTO ledger VALUES (9);
SAVEPOINT s;
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
ROLLBACK TO s;
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (10);
SAVEPOINT s;
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
ROLLBACK TO s;
UPDATE lease.lease SET token = token + 1 WHERE name = 'arbitrum';
COMMIT;
-- one whose savepoint was released stays settled
BEGIN;
INSERT INTO ledger VALUES (11);
SAVEPOINT s;
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
RELEASE s;
COMMIT;
TABLE ledger;

-- a guard that asks for a live lease is settled by that
SELECT lease_unguard('ledger');
SELECT guard FROM lease_guard('ledger', 'arbitrum', 'live');
SELECT 'arbitrum=' || token AS t, token FROM lease_acquire('arbitrum', 'worker-a', '1 min') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (12);
SET LOCAL pg_lease.clock_offset = '2 min';
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
ROLLBACK;
BEGIN;
INSERT INTO ledger VALUES (13);
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
COMMIT;
SELECT count(*) FILTER (WHERE id = 13) AS live,
       count(*) FILTER (WHERE id = 12) AS expired FROM ledger;

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
