-- DROP EXTENSION and CREATE EXTENSION forget the leases, and still no token comes again.
CREATE DATABASE regress_lease_again;
\c regress_lease_again
CREATE EXTENSION pg_lease;
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'w') \gset
SELECT token AS later FROM lease_takeover('m', 'w', '1 s') \gset
\set VERBOSITY sqlstate
SET client_min_messages = warning;
-- guards depend on it, so that only CASCADE drops it
DROP EXTENSION pg_lease;
DROP EXTENSION pg_lease CASCADE;
INSERT INTO ledger VALUES (1);
CREATE EXTENSION pg_lease;
-- the same session goes on, though everything it knew is gone
SELECT count(*) AS leases FROM lease.status;
SELECT count(*) AS guards FROM lease.guards;
SELECT status, token > :later AS higher FROM lease_acquire('l', 'w');
SELECT guard FROM lease_guard('ledger', 'l');
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (2);
SELECT 'l=' || token AS t FROM lease.lease \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (3);
TABLE ledger;
-- and in the transaction that made it
BEGIN;
DROP EXTENSION pg_lease CASCADE;
CREATE EXTENSION pg_lease;
SELECT status FROM lease_acquire('l', 'w');
ROLLBACK;
INSERT INTO ledger VALUES (4);
BEGIN;
DROP EXTENSION pg_lease CASCADE;
CREATE EXTENSION pg_lease;
SELECT token AS inside FROM lease_acquire('l', 'w') \gset
COMMIT;
SELECT token > :inside AS higher FROM lease_takeover('l', 'w', '1 s');
INSERT INTO ledger VALUES (5);
SELECT count(*) AS written FROM ledger;
-- dropped in the transaction that wrote a guarded table
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t FROM lease.lease \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (6);
DROP EXTENSION pg_lease CASCADE;
COMMIT;
SELECT count(*) AS still_there FROM pg_extension WHERE extname = 'pg_lease';
\c regression
DROP DATABASE regress_lease_again;
