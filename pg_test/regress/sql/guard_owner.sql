-- A guard decides who may write a table: only the owner of all of its tree sets it or takes it off.
CREATE ROLE regress_lease_owner;
CREATE ROLE regress_lease_other;
CREATE ROLE regress_lease_member IN ROLE regress_lease_owner;
GRANT EXECUTE ON FUNCTION lease_guard, lease_unguard
TO regress_lease_owner, regress_lease_other, regress_lease_member;
CREATE TABLE mine (id int);
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF tree FOR VALUES IN (1);
CREATE TABLE foreign_leaf PARTITION OF tree FOR VALUES IN (2);
ALTER TABLE mine OWNER TO regress_lease_owner;
ALTER TABLE tree OWNER TO regress_lease_owner;
ALTER TABLE leaf OWNER TO regress_lease_owner;
GRANT ALL ON mine, tree, leaf TO regress_lease_other;
\set VERBOSITY sqlstate
SET ROLE regress_lease_other;
SELECT lease_guard('mine', 'l');
SELECT lease_guard('tree', 'l');
SET ROLE regress_lease_owner;
SELECT guard FROM lease_guard('mine', 'l');
-- one partition belongs to somebody else
SELECT lease_guard('tree', 'l');
RESET ROLE;
ALTER TABLE foreign_leaf OWNER TO regress_lease_owner;
SET ROLE regress_lease_member;
SELECT guard FROM lease_guard('tree', 'l');
SELECT lease_unguard('tree');
SELECT guard FROM lease_guard('tree', 'l');
SET ROLE regress_lease_other;
SELECT lease_unguard('mine');
SELECT lease_unguard('tree');
SELECT lease_unguard('leaf');
SELECT lease_unguard('mine', 'l');
-- anybody may see the guards, and meets them
SELECT relation FROM lease.guards ORDER BY 1;
INSERT INTO mine VALUES (1);
TRUNCATE leaf;
\set VERBOSITY default
SELECT lease_guard('mine', 'l');
\set VERBOSITY sqlstate
SET ROLE regress_lease_owner;
SELECT lease_unguard('mine');
RESET ROLE;
-- nor may the tree's owner unguard a partition that is somebody else's by now
ALTER TABLE foreign_leaf OWNER TO regress_lease_other;
SET ROLE regress_lease_owner;
SELECT lease_unguard('tree');
RESET ROLE;
SELECT count(*) AS guards FROM lease.guards;
-- without EXECUTE not even one's own
REVOKE EXECUTE ON FUNCTION lease_guard, lease_unguard
FROM regress_lease_owner, regress_lease_other, regress_lease_member;
SET ROLE regress_lease_owner;
SELECT lease_guard('mine', 'l');
SELECT lease_unguard('tree');
RESET ROLE;
DROP TABLE mine, tree;
DROP ROLE regress_lease_member, regress_lease_other, regress_lease_owner;
