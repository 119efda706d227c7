-- CREATE EXTENSION adopts nothing that somebody planted before it.
CREATE DATABASE regress_lease_planted;
\c regress_lease_planted
\set VERBOSITY sqlstate
CREATE SCHEMA lease;
CREATE EXTENSION pg_lease;
DROP SCHEMA lease;
CREATE FUNCTION lease_acquire(name text, owner text, ttl interval DEFAULT '1 s',
    keep_token text DEFAULT 'x', wait interval DEFAULT NULL, stall_after interval DEFAULT NULL,
    quiet_period interval DEFAULT NULL)
RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE EXTENSION pg_lease;
DROP FUNCTION lease_acquire;
CREATE FUNCTION compute_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
CREATE EXTENSION pg_lease;
DROP FUNCTION compute_now;
CREATE FUNCTION nothing() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER pg_lease_cover ON ddl_command_end EXECUTE FUNCTION nothing();
CREATE EXTENSION pg_lease;
DROP EVENT TRIGGER pg_lease_cover;
DROP FUNCTION nothing;
SELECT count(*) AS extensions FROM pg_extension WHERE extname = 'pg_lease';
-- a plain role cannot install it, even where it may create everything
CREATE ROLE regress_lease_plain;
GRANT ALL ON DATABASE regress_lease_planted TO regress_lease_plain;
SET ROLE regress_lease_plain;
CREATE EXTENSION pg_lease;
RESET ROLE;
-- nor do operators and functions in the search_path of who installs it count
CREATE SCHEMA trap;
CREATE FUNCTION trap.ne(bigint, bigint) RETURNS bool LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR trap.<> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = trap.ne);
CREATE FUNCTION trap.split_part(text, text, int) RETURNS text LANGUAGE sql
    AS $$ SELECT 'trapped' $$;
SET search_path = trap, public, pg_catalog;
CREATE EXTENSION pg_lease SCHEMA public;
SELECT status FROM lease_acquire('l', 'w');
UPDATE lease.lease SET home = 0;
SELECT state FROM lease.status;
CREATE TABLE public.ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT lease FROM lease.guards;
\c regression
DROP DATABASE regress_lease_planted;
DROP ROLE regress_lease_plain;
