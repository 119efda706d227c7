-- A guard that takes signed tokens is another guard than one that does not, and whatever joins its
-- tree takes them too.
\set VERBOSITY sqlstate
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1);
SELECT guarded, guard FROM lease_guard('tree', 'mover', 'newest', signed => true);
SELECT guarded, guard FROM lease_guard('tree', 'mover', 'newest', signed => true);
SELECT guarded, guard FROM lease_guard('tree', 'mover', 'newest');
SELECT guarded, guard FROM lease_guard('tree', 'mover', 'newest', signed => NULL);
\set VERBOSITY default
SELECT guarded, guard FROM lease_guard('tree', 'mover', 'newest');
\set VERBOSITY sqlstate
-- made later, attached later
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2);
CREATE TABLE tree_3 (id int);
ALTER TABLE tree ATTACH PARTITION tree_3 FOR VALUES IN (3);
CREATE TABLE tree_4 (id int);
SELECT guard FROM lease_guard('tree_4', 'mover', 'newest');
ALTER TABLE tree ATTACH PARTITION tree_4 FOR VALUES IN (4);
SELECT relation, mode, signed FROM lease.guards ORDER BY relation::text;
SELECT lease_fence_raise('mover', 17);
SET pg_lease.token TO 'mover=17';
INSERT INTO tree_2 VALUES (2);
INSERT INTO tree_3 VALUES (3);
INSERT INTO tree_4 VALUES (4);
-- modes current and live take signatures as well
CREATE TABLE here (id int);
SELECT guard FROM lease_guard('here', 'l', signed => true);
SELECT lease_key_make() AS key \gset
SELECT lease_key_trust(:'key');
SELECT token AS l FROM lease_acquire('l', 'a', '1 hour') \gset
SELECT set_config('pg_lease.token', 'l=' || :l, false) <> '' AS bare;
INSERT INTO here VALUES (99);
SELECT set_config('pg_lease.token', 'l=' || :l || '.' || lease_token_sign('l', :l), false) <> '' AS signed;
INSERT INTO here VALUES (1);
-- a signature makes no stale token good
SELECT status FROM lease_takeover('l', 'b', '1 hour');
INSERT INTO here VALUES (99);
TABLE here;
RESET pg_lease.token;
-- a third argument made by hand
CREATE TABLE by_hand (id int);
CREATE TRIGGER g BEFORE INSERT ON by_hand EXECUTE FUNCTION lease.guard_writes('l', 'current', 'sealed');
CREATE TABLE four (id int);
CREATE TRIGGER g BEFORE INSERT ON four EXECUTE FUNCTION lease.guard_writes('l', 'current', 'signed', 'x');
INSERT INTO by_hand VALUES (99);
INSERT INTO four VALUES (99);
SELECT lease_unguard('tree');
DROP TABLE tree, tree_4, here, by_hand, four;
SELECT lease_key_distrust(:'key');
DELETE FROM lease.key;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
