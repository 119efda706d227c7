-- No detour reaches a guarded table: views, rules, functions, triggers and CTEs meet its guard.
CREATE TABLE ledger (id int PRIMARY KEY, eur int);
INSERT INTO ledger VALUES (1, 10);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset

CREATE VIEW ledger_view AS SELECT * FROM ledger;
CREATE VIEW checked_view AS SELECT * FROM ledger_view WHERE id > 0 WITH CHECK OPTION;
CREATE VIEW ruled_view AS SELECT 1 AS id;
CREATE RULE instead AS ON INSERT TO ruled_view DO INSTEAD INSERT INTO ledger VALUES (NEW.id, 0);
CREATE TABLE inbox (id int);
CREATE RULE also AS ON INSERT TO inbox DO ALSO INSERT INTO ledger VALUES (NEW.id, 0);
CREATE TABLE outbox (id int);
CREATE FUNCTION by_trigger() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO ledger VALUES (NEW.id, 0); RETURN NEW; END';
CREATE TRIGGER t AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION by_trigger();
CREATE VIEW triggered_view AS SELECT 1 AS id;
CREATE TRIGGER t INSTEAD OF INSERT ON triggered_view FOR EACH ROW EXECUTE FUNCTION by_trigger();
CREATE FUNCTION by_sql(int) RETURNS void LANGUAGE sql AS 'INSERT INTO ledger VALUES ($1, 0)';
CREATE FUNCTION by_plpgsql(int) RETURNS void LANGUAGE plpgsql AS
    'BEGIN EXECUTE format(''INSERT INTO ledger VALUES (%s, 0)'', $1); END';
CREATE FUNCTION as_owner(int) RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = public, pg_temp AS 'INSERT INTO ledger VALUES ($1, 0)';
PREPARE by_plan AS INSERT INTO ledger VALUES ($1, 0);

\set VERBOSITY sqlstate
SET pg_lease.token TO :'stale';
INSERT INTO ledger_view VALUES (2, 0);
UPDATE ledger_view SET eur = 0;
DELETE FROM checked_view;
INSERT INTO checked_view VALUES (2, 0);
INSERT INTO ruled_view VALUES (2);
INSERT INTO inbox VALUES (2);
INSERT INTO outbox VALUES (2);
INSERT INTO triggered_view VALUES (2);
SELECT by_sql(2);
SELECT by_plpgsql(2);
SELECT as_owner(2);
EXECUTE by_plan(2);
DO 'BEGIN DELETE FROM ledger; END';
WITH x AS (INSERT INTO ledger VALUES (2, 0) RETURNING id) SELECT * FROM x;
WITH x AS (DELETE FROM ledger RETURNING id) INSERT INTO outbox SELECT * FROM x;
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) DELETE FROM ledger;
-- a handler that swallows the error has written nothing
\set VERBOSITY terse
DO $$
BEGIN
    PERFORM by_sql(2);
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'swallowed %', SQLSTATE;
END $$;
\set VERBOSITY sqlstate
TABLE ledger;
SELECT (SELECT count(*) FROM inbox) AS inbox, (SELECT count(*) FROM outbox) AS outbox;

SET pg_lease.token TO :'good';
INSERT INTO ledger_view VALUES (2, 0);
INSERT INTO checked_view VALUES (3, 0);
INSERT INTO ruled_view VALUES (4);
INSERT INTO inbox VALUES (5);
INSERT INTO outbox VALUES (6);
INSERT INTO triggered_view VALUES (7);
SELECT by_sql(8), by_plpgsql(9), as_owner(10);
EXECUTE by_plan(11);
WITH x AS (INSERT INTO ledger VALUES (12, 0) RETURNING id) SELECT * FROM x;
SELECT array_agg(id ORDER BY id) AS ids FROM ledger;

DROP FUNCTION by_sql, by_plpgsql, as_owner;
DROP VIEW triggered_view, ruled_view, checked_view, ledger_view;
DROP TABLE outbox, inbox, ledger;
DROP FUNCTION by_trigger;
DELETE FROM lease.lease;
