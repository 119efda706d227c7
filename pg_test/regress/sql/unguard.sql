-- lease_unguard takes a guard off a table and all below it, and leaves no hole in a guarded tree.
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE branch PARTITION OF tree FOR VALUES IN (1, 2) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF branch DEFAULT;
CREATE TABLE plain (id int);
\set VERBOSITY sqlstate
SELECT count(*) AS guards FROM lease_guard('tree', 'l');
SELECT count(*) AS guards FROM lease_guard('tree', 'm', 'live');
-- a part of a tree cannot be let go
SELECT lease_unguard('leaf');
SELECT lease_unguard('branch');
SELECT lease_unguard('leaf', 'l');
SELECT lease_unguard('leaf', 'own');
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
-- what was detached is a tree of its own, and keeps its guard when its former parent loses it
SELECT count(*) AS guards FROM lease_guard('tree', 'l');
ALTER TABLE branch DETACH PARTITION leaf;
SELECT lease_unguard('tree');
SELECT relation, lease FROM lease.guards;
SELECT lease_unguard('leaf');
ALTER TABLE branch ATTACH PARTITION leaf DEFAULT;

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
DROP TABLE tree, plain;
