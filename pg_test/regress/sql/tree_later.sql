-- What is created under, or attached to, a guarded table afterwards is guarded at once.
CREATE TABLE reading (id int, mw int) PARTITION BY RANGE (id);
CREATE TABLE city (name text);
SELECT guard FROM lease_guard('reading', 'arbitrum', 'live');
SELECT guard FROM lease_guard('city', 'arbitrum', always => false);
\set VERBOSITY sqlstate
SET client_min_messages = warning;

-- created as a partition, as a tree below it, and as a partition of that
CREATE TABLE created PARTITION OF reading FOR VALUES FROM (0) TO (10);
CREATE TABLE sub PARTITION OF reading FOR VALUES FROM (10) TO (20) PARTITION BY LIST (id);
CREATE TABLE sub_leaf PARTITION OF sub DEFAULT;
CREATE TABLE IF NOT EXISTS created PARTITION OF reading FOR VALUES FROM (0) TO (10);
-- attached: a table, a tree, and the default partition
CREATE TABLE attached (id int, mw int);
INSERT INTO attached VALUES (20, 20);
ALTER TABLE reading ATTACH PARTITION attached FOR VALUES FROM (20) TO (30);
CREATE TABLE subtree (id int, mw int) PARTITION BY LIST (id);
CREATE TABLE subtree_leaf PARTITION OF subtree DEFAULT;
SELECT count(*) AS guarded_too_early FROM lease.guards WHERE relation = 'subtree_leaf'::regclass;
ALTER TABLE reading ATTACH PARTITION subtree FOR VALUES FROM (30) TO (40);
CREATE TABLE rest (LIKE reading);
ALTER TABLE reading ATTACH PARTITION rest DEFAULT;
-- attached to a partition of a partition
CREATE TABLE deep (id int, mw int);
ALTER TABLE subtree DETACH PARTITION subtree_leaf;
ALTER TABLE subtree ATTACH PARTITION deep DEFAULT;
-- inheritance children
CREATE TABLE capital (country text) INHERITS (city);
CREATE TABLE old_capital () INHERITS (capital);
CREATE TABLE village (name text);
ALTER TABLE village INHERIT city;
CREATE TABLE hamlet () INHERITS (village);
-- inside a schema that is created with its tables
CREATE SCHEMA annex
    CREATE TABLE annex_leaf PARTITION OF public.reading FOR VALUES FROM (40) TO (50)
    CREATE TABLE annex_city () INHERITS (public.city)
    CREATE TABLE annex_free (id int);
-- inside a function, and by a statement that does two things at once
DO $$ BEGIN EXECUTE 'CREATE TABLE done PARTITION OF reading FOR VALUES FROM (50) TO (60)'; END $$;
CREATE TABLE both_ways (name text);
ALTER TABLE both_ways INHERIT city, ADD COLUMN note text;
-- a table that has nothing to do with it is left alone
CREATE TABLE lone (id int);
CREATE TEMP TABLE lone_temp (id int);
CREATE TEMP TABLE temp_city () INHERITS (city);

SELECT relation, mode, enabled FROM lease.guards
ORDER BY relation::text COLLATE "C";
-- detached, and still under its guard
SELECT count(*) AS guards FROM lease.guards WHERE relation = 'subtree_leaf'::regclass;

SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset
SET pg_lease.token TO :'stale';
INSERT INTO created VALUES (1, 1);
INSERT INTO sub_leaf VALUES (10, 1);
TRUNCATE created;
TRUNCATE attached;
DELETE FROM attached;
INSERT INTO rest VALUES (77, 1);
INSERT INTO deep VALUES (31, 1);
INSERT INTO annex.annex_leaf VALUES (40, 1);
INSERT INTO done VALUES (50, 1);
INSERT INTO capital VALUES ('rome');
INSERT INTO old_capital VALUES ('bonn');
INSERT INTO village VALUES ('au');
TRUNCATE hamlet;
INSERT INTO annex.annex_city VALUES ('ulm');
INSERT INTO temp_city VALUES ('ulm');
INSERT INTO both_ways VALUES ('ulm');
INSERT INTO lone VALUES (1);
INSERT INTO annex.annex_free VALUES (1);
SELECT count(*) AS readings, min(id) FROM reading;
SELECT count(*) AS cities FROM city;
SET pg_lease.token TO :'good';
INSERT INTO created VALUES (1, 1);
INSERT INTO sub_leaf VALUES (10, 1);
INSERT INTO hamlet VALUES ('au');

-- a partition made by a role that owns the tree but may not touch the leases
CREATE ROLE regress_lease_owner;
GRANT CREATE ON SCHEMA public TO regress_lease_owner;
CREATE TABLE theirs (id int) PARTITION BY LIST (id);
ALTER TABLE theirs OWNER TO regress_lease_owner;
SELECT guard FROM lease_guard('theirs', 'arbitrum');
SET ROLE regress_lease_owner;
CREATE TABLE their_leaf PARTITION OF theirs DEFAULT;
RESET pg_lease.token;
INSERT INTO their_leaf VALUES (1);
RESET ROLE;
SELECT relation FROM lease.guards WHERE relation = 'their_leaf'::regclass;

DROP TABLE theirs, reading, city, subtree_leaf, lone, lone_temp CASCADE;
DROP SCHEMA annex CASCADE;
REVOKE CREATE ON SCHEMA public FROM regress_lease_owner;
DROP ROLE regress_lease_owner;
DELETE FROM lease.lease;
