-- A guard that a write could walk around is refused: a part of a tree, a trigger that does not fire
-- for everything, a partition that a subscription writes through its parent.
\set VERBOSITY sqlstate
SET client_min_messages = error;
-- writes through an unguarded parent do not meet a leaf's guard (statement triggers fire for the
-- table that is named only)
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF tree FOR VALUES IN (1);
SELECT lease_guard('leaf', 'l');
CREATE TABLE mother (id int);
CREATE TABLE child () INHERITS (mother);
SELECT lease_guard('child', 'l');
-- nor when the guarded table joins an unguarded parent later, or one under another lease or mode
CREATE TABLE guarded (id int);
SELECT guard FROM lease_guard('guarded', 'l');
ALTER TABLE tree ATTACH PARTITION guarded FOR VALUES IN (2);
CREATE TABLE heir (id int);
SELECT guard FROM lease_guard('heir', 'l');
ALTER TABLE heir INHERIT mother;
CREATE TABLE two_parents () INHERITS (heir, mother);
-- a tree with a member that has another parent outside it
CREATE TABLE father (id int);
CREATE TABLE shared () INHERITS (mother, father);
SELECT lease_guard('father', 'l');
-- a leaf that brings a weaker guard of the same lease; one that its owner has disabled stays the
-- owner's affair, and lease.guards shows it
CREATE TABLE parent (id int) PARTITION BY LIST (id);
SELECT guard FROM lease_guard('parent', 'l', 'live');
CREATE TABLE weaker (id int);
SELECT guard FROM lease_guard('weaker', 'l', 'current');
ALTER TABLE parent ATTACH PARTITION weaker FOR VALUES IN (1);
CREATE TABLE off (id int);
SELECT guard FROM lease_guard('off', 'l', 'live');
ALTER TABLE off DISABLE TRIGGER USER;
ALTER TABLE parent ATTACH PARTITION off FOR VALUES IN (2);
-- a trigger made by hand that fires for some writes only is no guard
CREATE TABLE by_hand (id int);
CREATE TRIGGER g BEFORE INSERT ON by_hand EXECUTE FUNCTION lease.guard_writes('l', 'current');
ALTER TABLE by_hand ENABLE ALWAYS TRIGGER g;
SELECT lease_guard('by_hand', 'l');
CREATE TABLE by_when (id int);
CREATE TRIGGER g BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON by_when
    FOR EACH STATEMENT WHEN (1 = 2) EXECUTE FUNCTION lease.guard_writes('l', 'current');
ALTER TABLE by_when ENABLE ALWAYS TRIGGER g;
SELECT lease_guard('by_when', 'l');
-- a subscription that writes the parent writes its partitions
CREATE TABLE root (id int) PARTITION BY LIST (id);
CREATE TABLE part PARTITION OF root DEFAULT;
CREATE SUBSCRIPTION regress_lease CONNECTION 'dbname=nowhere' PUBLICATION p WITH (connect = false);
INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate)
SELECT oid, 'root'::regclass, 'r' FROM pg_subscription;
SELECT lease_guard('part', 'l');
DELETE FROM pg_subscription_rel;
ALTER SUBSCRIPTION regress_lease SET (slot_name = NONE);
DROP SUBSCRIPTION regress_lease;
-- the extension's own tables
SELECT lease_guard('lease.lease', 'l');
SELECT relation, lease, mode, enabled FROM lease.guards ORDER BY relation, enabled COLLATE "C";
DROP TABLE IF EXISTS two_parents, shared, child, heir, guarded, mother, father, tree, parent, weaker,
    off, by_hand, by_when, root CASCADE;
