-- A run of a job is begun by exactly one caller ever, and one that was begun and never finished
-- stays in view.
SET application_name = 'payout on box a';
SELECT lease_once('payout', '2026-11-29');
SELECT lease_once('payout', '2026-11-29');
SELECT lease_once('payout', '2026-11-30');
SELECT lease_once('other', '2026-11-29');
-- a run is any text, compared exactly
SELECT lease_once('payout', 'Nov 29 2026, évening'), lease_once('payout', 'nov 29 2026, évening');
SELECT job, run, begun_by = session_user AS by_me, application, age < '1 min' AS young
FROM lease.once_unfinished ORDER BY job, run;
-- finished: told once
SELECT lease_once_done('payout', '2026-11-29');
SELECT lease_once_done('payout', '2026-11-29');
SELECT job, run FROM lease.once_unfinished ORDER BY job, run;
-- and no reason to begin again
SELECT lease_once('payout', '2026-11-29');
-- a caller that is rolled back has begun nothing
BEGIN;
SELECT lease_once('payout', 'undone');
ROLLBACK;
SELECT lease_once('payout', 'undone');
-- nor has a savepoint
BEGIN;
SAVEPOINT s;
SELECT lease_once('payout', 'savepoint');
ROLLBACK TO s;
SELECT lease_once('payout', 'savepoint');
COMMIT;
SELECT lease_once('payout', 'savepoint');
-- at every isolation level
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lease_once('payout', 'serializable');
SELECT lease_once('payout', 'serializable');
SELECT lease_once_done('payout', 'serializable');
COMMIT;
SELECT lease_once('payout', 'serializable');

-- what is wrong says so
SELECT lease_once_done('payout', '2026-12-24');
SELECT lease_once('a b', 'r');
SELECT lease_once('', 'r');
SELECT lease_once(repeat('x', 201), 'r');
SELECT lease_once('payout', '');
SELECT lease_once('payout', E'two\nlines');
SELECT lease_once('payout', repeat('x', 201));
SELECT lease_once(repeat('x', 200), repeat('é', 200));
SELECT lease_once_done('a b', 'r');
SELECT lease_once_done('payout', repeat('x', 201));
\set VERBOSITY sqlstate
SELECT lease_once(NULL, 'r');
SELECT lease_once('payout', NULL);
SELECT lease_once_done(NULL, 'r');
SELECT lease_once_done('payout', NULL);
SELECT lease_once_done('payout', '2026-12-24');
SELECT lease_once('a b', 'r');
BEGIN READ ONLY;
SELECT lease_once('payout', 'read only');
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_once_done('payout', 'undone');
ROLLBACK;
-- planted objects are not looked at
CREATE SCHEMA trap;
CREATE FUNCTION trap.compute_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
CREATE FUNCTION trap.never(text, text) RETURNS bool LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.never);
CREATE TEMP TABLE once (job text, run text);
SET search_path = trap, pg_temp, public, pg_catalog;
SELECT lease_once('payout', 'trapped');
SELECT lease_once('payout', 'trapped');
SELECT lease_once_done('payout', 'trapped');
RESET search_path;
-- only for roles that were let in
CREATE ROLE regress_lease_plain;
SET ROLE regress_lease_plain;
SELECT lease_once('payout', 'plain');
SELECT lease_once_done('payout', 'undone');
TABLE lease.once;
TABLE lease.once_unfinished;
RESET ROLE;
GRANT EXECUTE ON FUNCTION lease_once, lease_once_done TO regress_lease_plain;
SET ROLE regress_lease_plain;
SELECT lease_once('payout', 'plain');
SELECT lease_once_done('payout', 'plain');
RESET ROLE;
DROP OWNED BY regress_lease_plain;
DROP ROLE regress_lease_plain;
DROP TABLE once;
DROP SCHEMA trap CASCADE;
RESET application_name;
DELETE FROM lease.once;
