-- The guard of a partitioned table stands on every partition that is there: a leaf has no side
-- door.
CREATE TABLE reading (id int, mw int) PARTITION BY RANGE (id);
CREATE TABLE reading_low PARTITION OF reading FOR VALUES FROM (0) TO (10);
CREATE TABLE reading_mid PARTITION OF reading FOR VALUES FROM (10) TO (20)
    PARTITION BY LIST (id);
CREATE TABLE reading_mid_15 PARTITION OF reading_mid FOR VALUES IN (15);
CREATE TABLE reading_mid_rest PARTITION OF reading_mid DEFAULT;
CREATE TABLE reading_rest PARTITION OF reading DEFAULT;
INSERT INTO reading VALUES (1, 1), (15, 15), (16, 16), (99, 99);
SELECT * FROM lease_guard('reading', 'arbitrum') ORDER BY guarded;
SELECT relation, lease, mode, enabled FROM lease.guards ORDER BY relation;
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset

\set VERBOSITY sqlstate
SET pg_lease.token TO :'stale';
INSERT INTO reading VALUES (2, 2);
INSERT INTO reading_low VALUES (2, 2);
INSERT INTO reading_mid VALUES (15, 0);
INSERT INTO reading_mid_15 VALUES (15, 0);
INSERT INTO reading_rest VALUES (77, 0);
UPDATE reading_low SET mw = 0;
UPDATE reading_mid SET mw = 0;
UPDATE reading_mid_rest SET mw = 0;
DELETE FROM reading_mid_15;
DELETE FROM reading_rest;
MERGE INTO reading_low r USING (VALUES (1)) i(id) ON i.id = r.id WHEN MATCHED THEN DELETE;
COPY reading_low FROM stdin;
3	3
\.
COPY reading_mid_rest FROM stdin;
17	3
\.
TRUNCATE reading_low;
TRUNCATE reading_mid;
TRUNCATE reading_mid_15;
TRUNCATE reading_rest, reading_mid_rest;
TRUNCATE reading;
SELECT tableoid::regclass, * FROM reading ORDER BY id;

SET pg_lease.token TO :'good';
INSERT INTO reading_low VALUES (2, 2);
INSERT INTO reading_mid_15 VALUES (15, 0);
COPY reading_mid_rest FROM stdin;
17	17
\.
-- a row that moves from one partition to another
UPDATE reading SET id = 3 WHERE id = 17;
TRUNCATE reading_rest;
SELECT tableoid::regclass, * FROM reading ORDER BY id, mw;

-- a partition that leaves takes its guard along, and is then its owner's to free
ALTER TABLE reading DETACH PARTITION reading_low;
SET pg_lease.token TO :'stale';
INSERT INTO reading_low VALUES (4, 4);
SELECT lease_unguard('reading_low');
INSERT INTO reading_low VALUES (4, 4);
INSERT INTO reading VALUES (15, 15);

SET pg_lease.token TO '';
DROP TABLE reading, reading_low;
DELETE FROM lease.lease;
