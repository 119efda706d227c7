-- lease_unguard takes a guard off a table and all below it, and leaves no hole in a guarded tree.
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE branch PARTITION OF tree FOR VALUES IN (1, 2) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF branch DEFAULT;
CREATE TABLE plain (id int);
\set VERBOSITY sqlstate
SELECT count(*) AS guards FROM lease_guard('tree', 'l');
SELECT count(*) AS guards FROM lease_guard('tree', 'm', 'live');
SELECT count(*) AS guards FROM lease_guard('branch', 'own');
-- a part of a tree cannot be let go
SELECT lease_unguard('leaf');
SELECT lease_unguard('branch');
SELECT lease_unguard('leaf', 'l');
SELECT lease_unguard('leaf', 'own');
-- but for a guard that begins there
SELECT lease_unguard('branch', 'own');
SELECT relation, lease, mode FROM lease.guards ORDER BY 1, 2;
-- one lease, then the rest
SELECT lease_unguard('tree', 'l');
SELECT relation, lease, mode FROM lease.guards ORDER BY 1, 2;
SELECT lease_unguard('tree', NULL);
SELECT count(*) AS guards FROM lease.guards;
INSERT INTO tree VALUES (1);
-- all of two leases at once
SELECT count(*) AS guards FROM lease_guard('tree', 'l');
SELECT count(*) AS guards FROM lease_guard('tree', 'm');
SELECT lease_unguard('tree');
-- a leaf with a guard of its own, of another lease, keeps it
SELECT guard FROM lease_guard('leaf', 'own');
SELECT count(*) AS guards FROM lease_guard('tree', 'l');
SELECT lease_unguard('tree');
SELECT relation, lease FROM lease.guards;
SELECT lease_unguard('leaf');
-- a child of two guarded parents keeps what the other one needs
SET client_min_messages = warning;
CREATE TABLE mother (id int);
CREATE TABLE father (id int);
CREATE TABLE child () INHERITS (mother, father);
SELECT count(*) AS guards FROM lease_guard('mother', 'l');
SELECT count(*) AS guards FROM lease_guard('father', 'l');
SELECT lease_unguard('mother');
SELECT relation FROM lease.guards ORDER BY 1;
SELECT lease_unguard('child');
SELECT lease_unguard('father');

-- wrong usage
SELECT lease_unguard('plain');
SELECT lease_unguard('plain', 'l');
SELECT guard FROM lease_guard('plain', 'l');
SELECT lease_unguard('plain', 'm');
SELECT lease_unguard(NULL);
SELECT lease_unguard(NULL, 'l');
SELECT lease_unguard(4294967295);
SELECT lease_unguard('not_there');
SELECT lease_unguard('pg_class');
SELECT count(*) AS guards FROM lease_guard('tree', 'l');
\set VERBOSITY default
SELECT lease_unguard('leaf');
SELECT lease_unguard('plain', 'm');
SELECT lease_unguard('plain');
SELECT lease_unguard('plain');
-- rolled back, it guards as before
BEGIN;
SELECT lease_unguard('tree');
ROLLBACK;
\set VERBOSITY sqlstate
INSERT INTO leaf VALUES (1);
DROP TABLE child, mother, father, tree, plain;
