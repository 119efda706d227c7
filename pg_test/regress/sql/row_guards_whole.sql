-- lease.guards says where a row guard is not whole, and lease_guard does not call such a one kept.
CREATE TABLE t (id int, lease text, other text);
SELECT guard FROM lease_guard('t', lease_column => 'lease');
CREATE FUNCTION look() RETURNS text LANGUAGE sql AS
    $$SELECT string_agg(concat_ws(' ', lease_column, enabled, trigger), ', ') FROM lease.guards$$;
\set VERBOSITY sqlstate
SELECT look();
-- each trigger counts: disabled, weakened
ALTER TABLE t DISABLE TRIGGER pg_lease_rows_new;
SELECT look();
SELECT lease_guard('t', lease_column => 'lease');
ALTER TABLE t ENABLE TRIGGER pg_lease_rows_new;
SELECT look();
SELECT lease_guard('t', lease_column => 'lease');
ALTER TABLE t ENABLE ALWAYS TRIGGER pg_lease_rows_new, ENABLE TRIGGER pg_lease_rows;
SELECT look();
ALTER TABLE t ENABLE ALWAYS TRIGGER pg_lease_rows, ENABLE REPLICA TRIGGER pg_lease_rows_old;
SELECT look();
ALTER TABLE t ENABLE ALWAYS TRIGGER pg_lease_rows_old;
SELECT look();
-- dropped
BEGIN;
DROP TRIGGER pg_lease_rows_old ON t;
SELECT look();
SELECT lease_guard('t', lease_column => 'lease');
ROLLBACK;
BEGIN;
DROP TRIGGER pg_lease_rows_new ON t;
SELECT look();
ROLLBACK;
BEGIN;
DROP TRIGGER pg_lease_rows ON t;
SELECT look();
SELECT lease_unguard('t');
SELECT look();
ROLLBACK;
-- made by hand, as they should be, and otherwise
CREATE FUNCTION remake(condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    DROP TRIGGER pg_lease_rows_new ON t;
    EXECUTE 'CREATE TRIGGER pg_lease_rows_new AFTER INSERT OR UPDATE ON t FOR EACH ROW '
        || condition || ' EXECUTE FUNCTION lease.guard_rows()';
    ALTER TABLE t ENABLE ALWAYS TRIGGER pg_lease_rows_new;
    RETURN look();
END $$;
BEGIN;
SELECT condition, remake(condition)
FROM (VALUES ($$WHEN (NOT lease.guard_row(NEW.lease, '', 'current', false))$$),
    ($$WHEN (NOT lease.guard_row(NEW.lease::text, ''::text, 'current', 'f'))$$),
    (''), ('WHEN (false)'),
    ($$WHEN (lease.guard_row(NEW.lease, '', 'current', false))$$),
    ($$WHEN (NOT lease.guard_row(NEW.other, '', 'current', false))$$),
    ($$WHEN (NOT lease.guard_row('a', '', 'current', false))$$),
    ($$WHEN (NOT lease.guard_row(NEW.lease || '', '', 'current', false))$$),
    ($$WHEN (NOT lease.guard_row(NEW.lease, 'x', 'current', false))$$),
    ($$WHEN (NOT lease.guard_row(NEW.lease, '', 'live', false))$$),
    ($$WHEN (NOT lease.guard_row(NEW.lease, '', 'current', true))$$),
    ($$WHEN (NOT lease.guard_row(NEW.lease, NULL, 'current', false))$$),
    ($$WHEN (NEW.id > 7 AND NOT lease.guard_row(NEW.lease, '', 'current', false))$$)) v (condition);
-- a trigger without the condition refuses every row
SELECT remake('');
INSERT INTO t VALUES (1, 'a');
ROLLBACK;
BEGIN;
CREATE TRIGGER second BEFORE UPDATE OF other OR TRUNCATE ON t EXECUTE FUNCTION lease.guard_rows('', 'current');
SELECT look();
SELECT lease_unguard('t');
SELECT look();
ROLLBACK;
BEGIN;
DROP TRIGGER pg_lease_rows ON t;
CREATE TRIGGER pg_lease_rows BEFORE TRUNCATE ON t EXECUTE FUNCTION lease.guard_rows('', 'current');
SELECT look();
ROLLBACK;
SELECT look();
-- whoever owns a table alone cannot make one by hand
CREATE ROLE regress_lease_rows;
GRANT CREATE ON SCHEMA public TO regress_lease_rows;
SET ROLE regress_lease_rows;
CREATE TABLE own (lease text);
CREATE TRIGGER x BEFORE TRUNCATE ON own EXECUTE FUNCTION lease.guard_rows('', 'current');
SELECT lease_guard('own', lease_column => 'lease');
SELECT look();
RESET ROLE;
GRANT EXECUTE ON FUNCTION lease_guard TO regress_lease_rows;
SET ROLE regress_lease_rows;
SELECT guard FROM lease_guard('own', lease_column => 'lease');
SELECT lease_guard('t', lease_column => 'lease');
INSERT INTO own VALUES ('a');
RESET ROLE;
DROP TABLE own;
REVOKE ALL ON SCHEMA public FROM regress_lease_rows;
REVOKE ALL ON FUNCTION lease_guard FROM regress_lease_rows;
DROP ROLE regress_lease_rows;
-- a table like it has no guard
CREATE TABLE twin (LIKE t INCLUDING ALL);
SELECT relation FROM lease.guards;
-- a session that is older than the guard sees it
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT look();
ROLLBACK;
DROP TABLE t, twin;
DROP FUNCTION look, remake;
