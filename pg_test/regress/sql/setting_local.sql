-- SET LOCAL presents for one transaction: what comes after it in the session presents nothing.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'a');
SELECT 'a=' || token AS t, token FROM lease_acquire('a', 'w', '1 hour') \gset
\set VERBOSITY sqlstate
BEGIN;
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
COMMIT;
SELECT current_setting('pg_lease.token') = '' AS empty;
INSERT INTO ledger VALUES (2);
BEGIN;
SET LOCAL pg_lease.token TO :'t';
ROLLBACK;
INSERT INTO ledger VALUES (2);
-- before the library is loaded the setting is a placeholder, and ends the same way
\c -
\set VERBOSITY sqlstate
BEGIN;
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (3);
COMMIT;
INSERT INTO ledger VALUES (4);
\c -
\set VERBOSITY sqlstate
BEGIN;
SET LOCAL pg_lease.token TO :'t';
COMMIT;
INSERT INTO ledger VALUES (4);
-- a plain SET stays, and goes with a rollback
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (5);
RESET ALL;
INSERT INTO ledger VALUES (6);
BEGIN;
SET pg_lease.token TO :'t';
ROLLBACK;
INSERT INTO ledger VALUES (6);
SET pg_lease.token TO :'t';
DISCARD ALL;
INSERT INTO ledger VALUES (6);
-- a function may present for its own length; the write answers for it at the commit all the same
CREATE FUNCTION write_it(int) RETURNS void LANGUAGE sql AS 'INSERT INTO ledger VALUES ($1)';
SELECT format('ALTER FUNCTION write_it SET pg_lease.token = %L', :'t') AS give_it_the_token \gset
:give_it_the_token;
SELECT write_it(7);
INSERT INTO ledger VALUES (8);
BEGIN;
SELECT write_it(8);
UPDATE lease.lease SET token = token + 1;
COMMIT;
TABLE ledger;
DROP FUNCTION write_it;
DROP TABLE ledger;
DELETE FROM lease.lease;
