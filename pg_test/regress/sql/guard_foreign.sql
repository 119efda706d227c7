-- A foreign table commits on its far side before a guard can refuse: neither it nor a tree with one
-- is guarded, and none joins a guarded tree.
CREATE FOREIGN DATA WRAPPER regress_nothing;
CREATE SERVER regress_nowhere FOREIGN DATA WRAPPER regress_nothing;
CREATE FOREIGN TABLE far (id int) SERVER regress_nowhere;
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE tree_near PARTITION OF tree FOR VALUES IN (1);
CREATE FOREIGN TABLE tree_far PARTITION OF tree FOR VALUES IN (2) SERVER regress_nowhere;
CREATE TABLE city (name text);
CREATE FOREIGN TABLE far_city () INHERITS (city) SERVER regress_nowhere;

SELECT lease_guard('far', 'arbitrum');
SELECT lease_guard('tree', 'arbitrum');
SELECT lease_guard('city', 'arbitrum');
\set VERBOSITY sqlstate
SELECT lease_guard('far', 'arbitrum');
SELECT lease_guard('tree', 'arbitrum', 'newest');
SELECT lease_guard('city', 'arbitrum');
SELECT count(*) AS guards FROM lease.guards;

-- without its foreign partition the tree is guarded, and from then on takes none
ALTER TABLE tree DETACH PARTITION tree_far;
ALTER FOREIGN TABLE far_city NO INHERIT city;
SELECT guard FROM lease_guard('tree', 'arbitrum');
SELECT guard FROM lease_guard('city', 'arbitrum');
ALTER TABLE tree ATTACH PARTITION tree_far FOR VALUES IN (2);
CREATE FOREIGN TABLE tree_new PARTITION OF tree FOR VALUES IN (3) SERVER regress_nowhere;
ALTER FOREIGN TABLE far_city INHERIT city;
CREATE FOREIGN TABLE new_city () INHERITS (city) SERVER regress_nowhere;
-- nor one that comes inside a tree of its own
CREATE TABLE branch (id int) PARTITION BY LIST (id);
CREATE FOREIGN TABLE branch_far PARTITION OF branch DEFAULT SERVER regress_nowhere;
ALTER TABLE tree ATTACH PARTITION branch FOR VALUES IN (4);
SELECT relid AS tree FROM pg_partition_tree('tree');
SELECT inhrelid::regclass AS child FROM pg_inherits WHERE inhparent = 'city'::regclass;
\set VERBOSITY default
ALTER TABLE tree ATTACH PARTITION tree_far FOR VALUES IN (2);

DROP TABLE tree, city, branch;
DROP FOREIGN TABLE far, tree_far, far_city;
DROP SERVER regress_nowhere;
DROP FOREIGN DATA WRAPPER regress_nothing;
