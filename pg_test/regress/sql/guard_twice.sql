-- Guarding again under the same lease and mode changes nothing; another mode is refused; two leases
-- on one table must both be presented.
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF tree FOR VALUES IN (1);
SELECT * FROM lease_guard('tree', 'l');
SELECT oid AS trigger FROM pg_trigger WHERE tgrelid = 'tree'::regclass \gset
SELECT * FROM lease_guard('tree', 'l');
SELECT * FROM lease_guard('leaf', 'l', 'current', true);
SELECT count(*) AS triggers, bool_or(oid = :trigger) AS same FROM pg_trigger
WHERE tgfoid = 'lease.guard_writes'::regproc;
-- a child that lost its guard gets it again
SELECT trigger FROM lease.guards WHERE relation = 'leaf'::regclass \gset
DROP TRIGGER :"trigger" ON leaf;
SELECT * FROM lease_guard('tree', 'l');

SELECT lease_guard('tree', 'l', 'live');
SELECT lease_guard('leaf', 'l', always => false);
\set VERBOSITY sqlstate
SELECT lease_guard('tree', 'l', 'live');
SELECT lease_guard('tree', 'l', 'newest');
SELECT lease_guard('tree', 'l', 'current', false);
SELECT lease_guard('leaf', 'l', 'live');
-- all or nothing: a leaf with another mode stops the guarding of its parent
CREATE TABLE other (id int) PARTITION BY LIST (id);
CREATE TABLE other_leaf PARTITION OF other DEFAULT;
SELECT count(*) AS guards FROM lease_guard('other', 'l', 'live');
SELECT trigger FROM lease.guards WHERE relation = 'other'::regclass \gset
DROP TRIGGER :"trigger" ON other;
SELECT lease_guard('other', 'l');
SELECT relation, mode FROM lease.guards ORDER BY relation;
-- another mode by way of none, in one transaction
BEGIN;
SELECT lease_unguard('tree');
SELECT guard FROM lease_guard('tree', 'l', 'live');
COMMIT;
SELECT relation, mode FROM lease.guards ORDER BY relation;

-- two leases on one table
SELECT * FROM lease_guard('tree', 'm');
SELECT relation, lease, mode FROM lease.guards WHERE relation = 'leaf'::regclass ORDER BY lease;
SELECT 'l=' || token AS l FROM lease_acquire('l', 'a', '1 hour') \gset
SELECT 'm=' || token AS m FROM lease_acquire('m', 'a', '1 hour') \gset
SELECT :'l' || ',' || :'m' AS both_tokens \gset
INSERT INTO tree VALUES (1);
SET pg_lease.token TO :'l';
INSERT INTO tree VALUES (1);
SET pg_lease.token TO :'m';
INSERT INTO tree VALUES (1);
SET pg_lease.token TO :'both_tokens';
INSERT INTO tree VALUES (1);
-- both are looked at again at the commit
BEGIN;
INSERT INTO tree VALUES (1);
UPDATE lease.lease SET token = token + 1 WHERE name = 'l';
COMMIT;
BEGIN;
INSERT INTO tree VALUES (1);
UPDATE lease.lease SET token = token + 1 WHERE name = 'm';
COMMIT;
SELECT count(*) AS rows FROM tree;
RESET pg_lease.token;
DROP TABLE tree, other;
DELETE FROM lease.lease;
