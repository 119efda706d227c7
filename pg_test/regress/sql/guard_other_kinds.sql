-- Only tables whose writes a guard can see are guarded: all other relations are refused.
CREATE TABLE plain (id int PRIMARY KEY);
CREATE VIEW a_view AS TABLE plain;
CREATE MATERIALIZED VIEW a_matview AS TABLE plain;
CREATE SEQUENCE a_sequence;
CREATE TYPE a_type AS (id int);
\set VERBOSITY sqlstate
SELECT lease_guard('a_view', 'arbitrum');
SELECT lease_guard('a_matview', 'arbitrum');
SELECT lease_guard('a_sequence', 'arbitrum');
SELECT lease_guard('a_type', 'arbitrum');
SELECT lease_guard('plain_pkey', 'arbitrum');
SELECT lease_guard('not_there', 'arbitrum');
SELECT lease_guard(0, 'arbitrum');
SELECT lease_guard(4294967295, 'arbitrum');
SELECT lease_guard('pg_catalog.pg_class', 'arbitrum');
-- an INSTEAD rule turns the write away before the guard sees it; ALSO does not
CREATE RULE away AS ON DELETE TO plain DO INSTEAD NOTHING;
SELECT lease_guard('plain', 'arbitrum');
DROP RULE away ON plain;
CREATE RULE noted AS ON DELETE TO plain DO ALSO SELECT 1;
SELECT guard FROM lease_guard('plain', 'arbitrum');
SELECT lease_unguard('plain');
-- in a tree, wherever it is
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF tree DEFAULT;
CREATE RULE away AS ON INSERT TO leaf WHERE NEW.id < 0 DO INSTEAD NOTHING;
SELECT lease_guard('tree', 'arbitrum');
SELECT count(*) AS guards FROM lease.guards;
-- and not when it comes later
DROP RULE away ON leaf;
CREATE TABLE ruled (id int);
CREATE RULE away AS ON INSERT TO ruled DO INSTEAD NOTHING;
SELECT guard FROM lease_guard('tree', 'arbitrum');
ALTER TABLE tree DETACH PARTITION leaf;
ALTER TABLE tree ATTACH PARTITION ruled DEFAULT;
\set VERBOSITY default
SELECT lease_guard('a_view', 'arbitrum');
SELECT lease_guard('ruled', 'arbitrum');
SELECT lease_guard(4294967295, 'arbitrum');
-- temporary and unlogged tables are tables
CREATE TEMP TABLE a_temp (id int);
CREATE UNLOGGED TABLE an_unlogged (id int);
SELECT * FROM lease_guard('a_temp', 'arbitrum');
SELECT * FROM lease_guard('an_unlogged', 'arbitrum');
INSERT INTO a_temp VALUES (1);
INSERT INTO an_unlogged VALUES (1);

DROP TABLE a_temp, an_unlogged, tree, leaf, ruled;
DROP MATERIALIZED VIEW a_matview;
DROP VIEW a_view;
DROP TABLE plain;
DROP SEQUENCE a_sequence;
DROP TYPE a_type;
