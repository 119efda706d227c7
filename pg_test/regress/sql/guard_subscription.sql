-- A table that a subscription writes cannot be guarded: its worker fires no statement triggers.
CREATE TABLE reading (id int);
CREATE TABLE tree (id int) PARTITION BY LIST (id);
CREATE TABLE leaf PARTITION OF tree DEFAULT;
SET client_min_messages = error;
CREATE SUBSCRIPTION regress_lease CONNECTION 'dbname=nowhere' PUBLICATION p WITH (connect = false);
SELECT oid AS subscription FROM pg_subscription WHERE subname = 'regress_lease' \gset
-- what ALTER SUBSCRIPTION … REFRESH PUBLICATION writes when there is a publisher
INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate)
VALUES (:subscription, 'reading'::regclass, 'r'), (:subscription, 'leaf'::regclass, 'i');
SELECT lease_guard('reading', 'arbitrum');
SELECT lease_guard('tree', 'arbitrum');
\set VERBOSITY sqlstate
SELECT lease_guard('reading', 'arbitrum');
SELECT lease_guard('leaf', 'arbitrum');
SELECT lease_guard('tree', 'arbitrum');
SELECT count(*) AS guards FROM lease.guards;
-- nor does it join a guarded tree later
ALTER TABLE tree DETACH PARTITION leaf;
SELECT guard FROM lease_guard('tree', 'arbitrum');
ALTER TABLE tree ATTACH PARTITION leaf DEFAULT;
SELECT lease_unguard('tree');
ALTER TABLE tree ATTACH PARTITION leaf DEFAULT;

DELETE FROM pg_subscription_rel WHERE srsubid = :subscription;
SELECT guard FROM lease_guard('reading', 'arbitrum');
SELECT guard FROM lease_guard('tree', 'arbitrum');

ALTER SUBSCRIPTION regress_lease SET (slot_name = NONE);
DROP SUBSCRIPTION regress_lease;
DROP TABLE reading, tree;
