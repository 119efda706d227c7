-- A session may set pg_lease.token before it has loaded the library: a good value counts, a bad one
-- is refused at the first guard.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'a');
SELECT 'a=' || token AS t, token FROM lease_acquire('a', 'w', '1 hour') \gset
\c -
\set VERBOSITY sqlstate
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
SHOW pg_lease.max_clock_skew;

\c -
\set VERBOSITY sqlstate
SET pg_lease.token TO '41';
INSERT INTO ledger VALUES (2);
INSERT INTO ledger VALUES (2);
SHOW pg_lease.token;
-- what lease_fence_check declares wins over it, a good value replaces it
BEGIN;
SELECT lease_fence_check('a', :token);
INSERT INTO ledger VALUES (3);
COMMIT;
SET pg_lease.token TO '42';
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (4);
RESET pg_lease.token;
INSERT INTO ledger VALUES (5);

-- one that is too long to read
\c -
\set VERBOSITY sqlstate
SELECT length(set_config('pg_lease.token', repeat('x', 1000001), false));
INSERT INTO ledger VALUES (6);
\set VERBOSITY default
INSERT INTO ledger VALUES (6);
-- a misspelt setting is a placeholder until then, and no setting afterwards
\c -
\set VERBOSITY sqlstate
SET client_min_messages = error;
SET pg_lease.tokens TO 'a=1';
INSERT INTO ledger VALUES (7);
SET pg_lease.tokens TO 'a=1';
TABLE ledger;
DROP TABLE ledger;
DELETE FROM lease.lease;
