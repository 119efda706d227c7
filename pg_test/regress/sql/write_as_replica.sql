-- A guard fires under session_replication_role = replica too, unless it was made with
-- always => false.
CREATE TABLE always_guarded (id int);
CREATE TABLE origin_guarded (id int);
SELECT guard FROM lease_guard('always_guarded', 'arbitrum');
SELECT guard FROM lease_guard('origin_guarded', 'arbitrum', always => false);
SELECT relation, enabled FROM lease.guards ORDER BY 1;
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset

\set VERBOSITY sqlstate
SET pg_lease.token TO :'stale';
INSERT INTO always_guarded VALUES (1);
INSERT INTO origin_guarded VALUES (1);
SET session_replication_role = replica;
INSERT INTO always_guarded VALUES (2);
TRUNCATE always_guarded;
INSERT INTO origin_guarded VALUES (2);
SET pg_lease.token TO :'good';
INSERT INTO always_guarded VALUES (3);
SET session_replication_role = local;
SET pg_lease.token TO :'stale';
INSERT INTO always_guarded VALUES (4);
INSERT INTO origin_guarded VALUES (4);
RESET session_replication_role;
SELECT (SELECT array_agg(id) FROM always_guarded) AS always_guarded,
       (SELECT array_agg(id) FROM origin_guarded) AS origin_guarded;

-- a partition that is made as a replica is covered all the same
CREATE TABLE tree (id int) PARTITION BY LIST (id);
SELECT guard FROM lease_guard('tree', 'arbitrum');
SET session_replication_role = replica;
CREATE TABLE leaf PARTITION OF tree DEFAULT;
INSERT INTO leaf VALUES (1);
RESET session_replication_role;
SELECT relation, enabled FROM lease.guards WHERE relation = 'leaf'::regclass;
INSERT INTO leaf VALUES (1);

-- a role that was given the setting gets no further
CREATE ROLE regress_lease_replica;
GRANT SET ON PARAMETER session_replication_role TO regress_lease_replica;
GRANT INSERT ON always_guarded TO regress_lease_replica;
SET ROLE regress_lease_replica;
SET session_replication_role = replica;
INSERT INTO always_guarded VALUES (5);
RESET session_replication_role;
RESET ROLE;
REVOKE SET ON PARAMETER session_replication_role FROM regress_lease_replica;

DROP TABLE always_guarded, origin_guarded, tree;
DROP ROLE regress_lease_replica;
DELETE FROM lease.lease;
