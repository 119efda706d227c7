-- What a savepoint did to the fence is undone with it, and is its parent's when it is released.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS good, token
FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SELECT 'arbitrum=' || :token - 1 AS stale \gset
\set VERBOSITY sqlstate

-- a refused write inside a savepoint that is rolled back, then a rightful one
BEGIN;
SET LOCAL pg_lease.token TO :'stale';
SAVEPOINT s;
INSERT INTO ledger VALUES (1);
ROLLBACK TO s;
SET LOCAL pg_lease.token TO :'good';
INSERT INTO ledger VALUES (1);
COMMIT;
TABLE ledger;

-- a write that was rolled back is not answered for: the commit stands though the token is lost
SET pg_lease.token TO :'good';
BEGIN;
SAVEPOINT s;
INSERT INTO ledger VALUES (2);
ROLLBACK TO s;
UPDATE lease.lease SET token = token + 1;
COMMIT;
UPDATE lease.lease SET token = token - 1;
-- and it is not remembered as checked either: the next write looks again
BEGIN;
SAVEPOINT s;
INSERT INTO ledger VALUES (3);
ROLLBACK TO s;
UPDATE lease.lease SET token = token + 1;
INSERT INTO ledger VALUES (3);
ROLLBACK;
BEGIN;
SAVEPOINT s;
INSERT INTO ledger VALUES (3);
ROLLBACK TO s;
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
INSERT INTO ledger VALUES (3);
ROLLBACK;

-- a write whose savepoint was released is answered for
BEGIN;
SAVEPOINT s;
INSERT INTO ledger VALUES (4);
RELEASE s;
UPDATE lease.lease SET token = token + 1;
COMMIT;
-- also two deep
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
INSERT INTO ledger VALUES (5);
RELEASE b;
RELEASE a;
UPDATE lease.lease SET token = token + 1;
COMMIT;
-- released into a savepoint that is rolled back: forgotten
BEGIN;
SAVEPOINT a;
SAVEPOINT b;
INSERT INTO ledger VALUES (6);
RELEASE b;
ROLLBACK TO a;
UPDATE lease.lease SET token = token + 1;
COMMIT;
UPDATE lease.lease SET token = token - 1;
-- before the savepoint: stays answered for, whatever the savepoint does
BEGIN;
INSERT INTO ledger VALUES (7);
SAVEPOINT a;
INSERT INTO ledger VALUES (8);
ROLLBACK TO a;
UPDATE lease.lease SET token = token + 1;
COMMIT;
TABLE ledger;

-- an exception block of PL/pgSQL is a savepoint
DO $$
BEGIN
    BEGIN
        INSERT INTO ledger VALUES (9);
        RAISE 'back';
    EXCEPTION WHEN raise_exception THEN NULL;
    END;
    UPDATE lease.lease SET token = token + 1;
END $$;
UPDATE lease.lease SET token = token - 1;
DO $$
BEGIN
    BEGIN
        INSERT INTO ledger VALUES (10);
    EXCEPTION WHEN raise_exception THEN NULL;
    END;
    UPDATE lease.lease SET token = token + 1;
END $$;
SELECT token - :token AS moved FROM lease.lease;

-- what lease_fence_check presented in a savepoint is not presented after it is rolled back
RESET pg_lease.token;
BEGIN;
SAVEPOINT s;
SELECT lease_fence_check('arbitrum', :token);
INSERT INTO ledger VALUES (11);
ROLLBACK TO s;
INSERT INTO ledger VALUES (11);
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT lease_fence_check('arbitrum', :token);
RELEASE s;
INSERT INTO ledger VALUES (12);
COMMIT;
-- nor a setting that was made in it
BEGIN;
SAVEPOINT s;
SET LOCAL pg_lease.token TO :'good';
INSERT INTO ledger VALUES (13);
ROLLBACK TO s;
INSERT INTO ledger VALUES (13);
ROLLBACK;
TABLE ledger;

DROP TABLE ledger;
DELETE FROM lease.lease;
