-- The functions live in whatever schema the extension is installed into; the tables in schema
-- lease.
CREATE DATABASE regress_lease_schema;
\c regress_lease_schema
CREATE SCHEMA "We ird""";
CREATE EXTENSION pg_lease SCHEMA "We ird""";
\set VERBOSITY sqlstate
SELECT lease_acquire('l', 'w');
SELECT "We ird""".compute_now() IS NOT NULL AS now;
SELECT 'l=' || token AS t, token FROM "We ird""".lease_acquire('l', 'w') \gset
CREATE TABLE ledger (id int) PARTITION BY LIST (id);
SELECT guard FROM "We ird""".lease_guard('ledger', 'l');
CREATE TABLE leaf PARTITION OF ledger DEFAULT;
SELECT relation, lease, mode, enabled FROM lease.guards ORDER BY 1;
SELECT name, state FROM lease.status;
INSERT INTO leaf VALUES (1);
SET pg_lease.token TO :'t';
INSERT INTO leaf VALUES (1);
SELECT status FROM "We ird""".lease_renew('l', 'w', :token, '1 s');
SELECT "We ird""".lease_fence_check('l', :token);
SELECT "We ird""".lease_fence_raise('l', 17);
SELECT status FROM "We ird""".lease_takeover('l', 'v', '1 s');
INSERT INTO ledger VALUES (2);
SELECT "We ird""".lease_unguard('ledger');
SELECT "We ird""".lease_void_all();
SELECT "We ird""".lease_drop('l');
-- what is written in SQL finds the rest of the extension
SELECT token AS t1 FROM "We ird""".lease_acquire('shard:1', 'w') \gset
SELECT "We ird""".lease_work_add('q', 'k', shard => 1) > 0 AS added;
SELECT key, generation AS k
FROM "We ird""".lease_work_claim('q', 'w', 1, '1 s', '{1}', ARRAY[:t1]) \gset
SELECT "We ird""".lease_work_retry('q', :'key', :k, 'why', '0') IS NOT NULL AS due;
SELECT "We ird""".lease_once('payout', 'today');
CALL "We ird""".lease_drain('w', '0');
SELECT name, state FROM lease.status ORDER BY name;
-- whatever the search_path is: planted objects are not looked at
CREATE SCHEMA trap;
CREATE TABLE trap.lease (token bigint, owner text);
CREATE FUNCTION trap.compute_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
SET search_path = trap, "We ird""", public, pg_catalog;
SELECT status FROM lease_acquire('l', 'w');
SELECT state FROM lease.status;
SET search_path = '';
SELECT status FROM "We ird""".lease_acquire('l', 'w');
SELECT guard FROM "We ird""".lease_guard('public.ledger', 'l');
CREATE TABLE public.another PARTITION OF public.ledger FOR VALUES IN (7);
SELECT relation FROM lease.guards ORDER BY 1;
-- it does not move
ALTER EXTENSION pg_lease SET SCHEMA public;
\c regression
DROP DATABASE regress_lease_schema;
