-- The commit looks again: a token that was good at the statement and is lost by the commit takes
-- the whole transaction with it.
CREATE TABLE ledger (id int);
CREATE TABLE free (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS good, 'arbitrum=' || token + 1 AS next, token
FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
\set VERBOSITY sqlstate

-- the row says so in whatever way: another token, no owner, another database, no row
SET pg_lease.token TO :'good';
BEGIN;
INSERT INTO ledger VALUES (1);
INSERT INTO free VALUES (1);
UPDATE lease.lease SET token = token + 1;
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (1);
UPDATE lease.lease SET owner = NULL;
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (1);
UPDATE lease.lease SET home = home + 1;
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (1);
DELETE FROM lease.lease;
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (1);
TRUNCATE lease.lease;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO ledger VALUES (1);
UPDATE lease.lease SET token = token + 1;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO ledger VALUES (1);
UPDATE lease.lease SET token = token + 1;
COMMIT;
SELECT (SELECT count(*) FROM ledger) AS ledger, (SELECT count(*) FROM free) AS free;

-- the token is the one presented at the write: changing the setting afterwards does not help
BEGIN;
INSERT INTO ledger VALUES (2);
UPDATE lease.lease SET token = token + 1;
SET LOCAL pg_lease.token TO :'next';
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (2);
UPDATE lease.lease SET token = token + 1;
SET pg_lease.token TO '';
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (2);
UPDATE lease.lease SET token = token + 1;
SELECT lease_fence_check('arbitrum', :token + 1);
INSERT INTO ledger VALUES (3);
COMMIT;
TABLE ledger;

-- changed the other way round, it does not hurt
SET pg_lease.token TO :'good';
BEGIN;
INSERT INTO ledger VALUES (4);
SET LOCAL pg_lease.token TO :'next';
COMMIT;
TABLE ledger;

-- a transaction that only asked answers for what else it wrote
BEGIN;
SELECT lease_fence_check('arbitrum', :token);
INSERT INTO free VALUES (5);
UPDATE lease.lease SET token = token + 1;
COMMIT;
TABLE free;
-- a single statement is a transaction
CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN UPDATE lease.lease SET token = token + 1; RETURN NULL; END';
CREATE TRIGGER lose AFTER INSERT ON ledger FOR EACH STATEMENT EXECUTE FUNCTION lose();
INSERT INTO ledger VALUES (6);
DROP TRIGGER lose ON ledger;
-- several statements sent at once are one too
SET pg_lease.token TO :'good';
INSERT INTO ledger VALUES (7)\; UPDATE lease.lease SET token = token + 1;
SELECT token - :token AS moved FROM lease.lease;
TABLE ledger;

-- nothing is left behind: the session goes on as if nothing had happened
BEGIN;
INSERT INTO ledger VALUES (8);
UPDATE lease.lease SET token = token + 1;
COMMIT;
INSERT INTO free VALUES (9);
INSERT INTO ledger VALUES (10);
SELECT count(*) AS locks_left FROM pg_locks
WHERE locktype = 'advisory' AND objsubid > 2 AND pid = pg_backend_pid();
TABLE ledger;

-- a guard in mode live looks at the expiry again
SELECT guard FROM lease_guard('free', 'arbitrum', 'live');
BEGIN;
INSERT INTO free VALUES (11);
SET LOCAL pg_lease.clock_offset = '2h';
INSERT INTO ledger VALUES (11);
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (12);
SET LOCAL pg_lease.clock_offset = '2h';
COMMIT;
SELECT (SELECT array_agg(id) FROM ledger) AS ledger, (SELECT array_agg(id) FROM free) AS free;

RESET pg_lease.token;
DROP TABLE ledger, free;
DROP FUNCTION lose;
DELETE FROM lease.lease;
