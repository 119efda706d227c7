-- Which columns may name leases, and what becomes of a guard whose column is changed.
SELECT count(*)
FROM unnest('{7,-7,9223372036854775807,00000000-0000-0000-0000-00000000000a}'::text[]) n,
     lease_acquire('site:' || n, 'worker', '1 hour');
SELECT string_agg(name || '=' || token, ',') AS tokens
FROM lease.status WHERE name LIKE 'site:%' \gset
SELECT set_config('pg_lease.token', :'tokens', false) = '' AS is_none;
\set VERBOSITY sqlstate
CREATE TYPE mood AS ENUM ('7');
CREATE DOMAIN label AS text;
CREATE TABLE t (
    word text, short varchar(40), small smallint, whole integer, big bigint, id uuid,
    padded char(4), num numeric, day date, feeling mood, tag label, words text[], raw bytea, nm name);
CREATE FUNCTION try(c name) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    PERFORM lease_guard('t', lease_column => c, prefix => 'site:');
    SELECT enabled INTO answer FROM lease.guards;
    PERFORM lease_unguard('t');
    RETURN answer;
EXCEPTION WHEN wrong_object_type THEN
    RETURN 'refused';
END $$;
SELECT attname, atttypid::regtype, try(attname)
FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum;
DROP FUNCTION try;
\set VERBOSITY default
SELECT lease_guard('t', lease_column => 'padded');
\set VERBOSITY sqlstate
SELECT guard FROM lease_guard('t', lease_column => 'big', prefix => 'site:');
INSERT INTO t (big) VALUES (7), (-7), (9223372036854775807);
INSERT INTO t (big) VALUES (8);
SELECT lease_unguard('t');
SELECT guard FROM lease_guard('t', lease_column => 'id', prefix => 'site:');
INSERT INTO t (id) VALUES ('00000000-0000-0000-0000-00000000000A');
INSERT INTO t (id) VALUES ('00000000-0000-0000-0000-00000000000b');
SELECT lease_unguard('t');
-- no prefix; short values, long ones, compressed ones
SELECT guard FROM lease_guard('t', lease_column => 'short');
INSERT INTO t (short) VALUES ('site:7'), ('site:-7');
INSERT INTO t (short) VALUES ('site:8');
-- renamed, moved; beside another column that takes its name
ALTER TABLE t RENAME short TO lease;
ALTER TABLE t RENAME word TO short;
INSERT INTO t (lease, short) VALUES ('site:7', 'site:8');
INSERT INTO t (lease, short) VALUES ('site:8', 'site:7');
UPDATE t SET short = 'site:8' WHERE lease = 'site:7';
ALTER TABLE t RENAME TO u;
SELECT relation, lease_column, enabled FROM lease.guards;
UPDATE u SET lease = 'site:8';
-- its type and the column itself are held fast; CASCADE takes the guard along, and says so
ALTER TABLE u ALTER lease TYPE text;
ALTER TABLE u ALTER lease TYPE int USING 1;
ALTER TABLE u DROP lease;
ALTER TABLE u DROP small;
SELECT relation, lease_column, enabled FROM lease.guards;
INSERT INTO u (lease) VALUES ('site:8');
ALTER TABLE u DROP lease CASCADE;
SELECT count(*) FROM lease.guards;
DROP TABLE u;
DROP TYPE mood;
DROP DOMAIN label;

-- a generated column, an identity column, and defaults
CREATE TABLE made (
    id bigint GENERATED ALWAYS AS IDENTITY (START 7), site text DEFAULT '7', name text GENERATED ALWAYS AS ('site:' || site) STORED);
SELECT guard FROM lease_guard('made', lease_column => 'name');
INSERT INTO made DEFAULT VALUES;
INSERT INTO made (site) VALUES ('8');
UPDATE made SET site = '8';
UPDATE made SET site = '-7';
SELECT lease_unguard('made');
SELECT guard FROM lease_guard('made', lease_column => 'id', prefix => 'site:');
INSERT INTO made DEFAULT VALUES;
INSERT INTO made OVERRIDING SYSTEM VALUE VALUES (7);
SELECT * FROM made;
DROP TABLE made;
DELETE FROM lease.lease;
