-- A write that reaches a guarded table through a foreign key of another table is refused as well.
CREATE TABLE turbine (id int PRIMARY KEY);
INSERT INTO turbine VALUES (0), (1), (2), (3), (4);
CREATE TABLE deleted_with (t int REFERENCES turbine ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE nulled_with (t int REFERENCES turbine ON DELETE SET NULL ON UPDATE SET NULL);
CREATE TABLE reset_with (t int DEFAULT 0 REFERENCES turbine ON DELETE SET DEFAULT);
INSERT INTO deleted_with VALUES (1);
INSERT INTO nulled_with VALUES (2);
INSERT INTO reset_with VALUES (3);
SELECT guard FROM lease_guard('deleted_with', 'arbitrum');
SELECT guard FROM lease_guard('nulled_with', 'arbitrum');
SELECT guard FROM lease_guard('reset_with', 'arbitrum');
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset

\set VERBOSITY sqlstate
SET client_min_messages = warning;
SET pg_lease.token TO :'stale';
DELETE FROM turbine WHERE id = 1;
UPDATE turbine SET id = 11 WHERE id = 1;
DELETE FROM turbine WHERE id = 2;
UPDATE turbine SET id = 12 WHERE id = 2;
DELETE FROM turbine WHERE id = 3;
TRUNCATE turbine CASCADE;
SELECT array_agg(id ORDER BY id) AS turbines FROM turbine;
SELECT d.t AS deleted_with, n.t AS nulled_with, r.t AS reset_with
FROM deleted_with d, nulled_with n, reset_with r;

-- the parent itself is not guarded
INSERT INTO turbine VALUES (5);
DELETE FROM deleted_with;

SET pg_lease.token TO :'good';
UPDATE turbine SET id = 11 WHERE id = 1;
UPDATE turbine SET id = 12 WHERE id = 2;
DELETE FROM turbine WHERE id = 3;
SELECT d.t AS deleted_with, n.t AS nulled_with, r.t AS reset_with
FROM deleted_with d, nulled_with n, reset_with r;
DELETE FROM turbine WHERE id = 11;
SELECT count(*) AS deleted_with FROM deleted_with;

DROP TABLE deleted_with, nulled_with, reset_with, turbine;
DELETE FROM lease.lease;
