-- token_scope = transaction honours lease_fence_check only; whoever may not set it cannot get round
-- it.
CREATE DATABASE regress_lease_scope;
ALTER DATABASE regress_lease_scope SET pg_lease.token_scope = 'transaction';
CREATE ROLE regress_lease_plain LOGIN;
\c regress_lease_scope
CREATE EXTENSION pg_lease;
CREATE TABLE ledger (id int);
GRANT INSERT ON ledger TO PUBLIC;
SELECT guard FROM lease_guard('ledger', 'a');
SELECT lease_allow('regress_lease_plain', 'a');
SET ROLE regress_lease_plain;
SELECT 'a=' || token AS t, token FROM lease_acquire('a', 'w', '1 hour') \gset
RESET ROLE;
\set VERBOSITY sqlstate
SHOW pg_lease.token_scope;
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
BEGIN;
SET LOCAL pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
ROLLBACK;
BEGIN;
SELECT lease_fence_check('a', :token);
INSERT INTO ledger VALUES (2);
COMMIT;
INSERT INTO ledger VALUES (3);
-- a bad setting is nobody's business then
SET pg_lease.token TO 'x';
SET ROLE regress_lease_plain;
SET pg_lease.token_scope = 'session';
SELECT set_config('pg_lease.token_scope', 'session', false);
RESET pg_lease.token_scope;
SHOW pg_lease.token_scope;
RESET ROLE;
SET pg_lease.token_scope = 'sometimes';
-- a superuser may
SET pg_lease.token_scope = 'session';
INSERT INTO ledger VALUES (4);
RESET pg_lease.token_scope;
INSERT INTO ledger VALUES (5);

-- a plain role that sets it before the library is loaded gets no further
\c - regress_lease_plain
\set VERBOSITY sqlstate
SET client_min_messages = error;
SET pg_lease.token_scope = 'session';
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (6);
SHOW pg_lease.token_scope;
BEGIN;
SELECT lease_fence_check('a', :token);
INSERT INTO ledger VALUES (7);
COMMIT;
\c - postgres
TABLE ledger;
\c regression
DROP DATABASE regress_lease_scope;
DROP ROLE regress_lease_plain;
