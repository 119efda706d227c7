-- Every statement that writes a guarded table is refused under a stale token, and changes nothing.
CREATE TABLE reading (id int PRIMARY KEY, mw int);
INSERT INTO reading VALUES (1, 10), (2, 20);
CREATE TABLE incoming AS SELECT 2 AS id, 99 AS mw UNION ALL SELECT 3, 99;
SELECT * FROM lease_guard('reading', 'arbitrum');
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset

\set VERBOSITY sqlstate
SET pg_lease.token TO :'stale';
INSERT INTO reading VALUES (3, 30);
INSERT INTO reading VALUES (3, 30) RETURNING id;
INSERT INTO reading SELECT * FROM incoming WHERE id = 3;
INSERT INTO reading VALUES (2, 0) ON CONFLICT DO NOTHING;
INSERT INTO reading VALUES (2, 0) ON CONFLICT (id) DO UPDATE SET mw = 0;
INSERT INTO reading DEFAULT VALUES;
UPDATE reading SET mw = 0;
UPDATE reading SET mw = 0 WHERE false;
UPDATE reading r SET mw = i.mw FROM incoming i WHERE i.id = r.id;
DELETE FROM reading;
DELETE FROM reading USING incoming i WHERE i.id = reading.id;
MERGE INTO reading r USING incoming i ON i.id = r.id
    WHEN MATCHED THEN UPDATE SET mw = i.mw;
MERGE INTO reading r USING incoming i ON i.id = r.id
    WHEN MATCHED THEN DELETE;
MERGE INTO reading r USING incoming i ON i.id = r.id
    WHEN NOT MATCHED THEN INSERT VALUES (i.id, i.mw);
COPY reading FROM stdin;
3	30
4	40
\.
TRUNCATE reading;
TRUNCATE incoming, reading;
-- with nothing presented, and under a token of another lease, it is the same
SET pg_lease.token TO '';
INSERT INTO reading VALUES (3, 30);
TRUNCATE reading;
SET pg_lease.token TO 'other=41';
UPDATE reading SET mw = 0;
COPY reading FROM stdin;
3	30
\.
TABLE reading ORDER BY id;
SELECT count(*) AS incoming FROM incoming;

-- each of them passes under the good token: it was the fence that refused
SET pg_lease.token TO :'good';
INSERT INTO reading VALUES (3, 30);
INSERT INTO reading VALUES (2, 0) ON CONFLICT (id) DO UPDATE SET mw = 25;
UPDATE reading SET mw = 11 WHERE id = 1;
DELETE FROM reading WHERE id = 3;
MERGE INTO reading r USING incoming i ON i.id = r.id
    WHEN MATCHED THEN UPDATE SET mw = i.mw WHEN NOT MATCHED THEN INSERT VALUES (i.id, i.mw);
COPY reading FROM stdin;
4	40
\.
TABLE reading ORDER BY id;
TRUNCATE reading;
TABLE reading;

-- COPY FREEZE, which needs a table that was made in the same transaction
SET pg_lease.token TO :'stale';
BEGIN;
CREATE TABLE frozen (id int);
SELECT guard FROM lease_guard('frozen', 'arbitrum');
COPY frozen FROM stdin WITH (FREEZE);
1
\.
ROLLBACK;
SET pg_lease.token TO :'good';
BEGIN;
CREATE TABLE frozen (id int);
SELECT guard FROM lease_guard('frozen', 'arbitrum');
COPY frozen FROM stdin WITH (FREEZE);
1
\.
COMMIT;
TABLE frozen;

-- reading needs no token
SET pg_lease.token TO '';
SELECT count(*) FROM frozen;
BEGIN;
SELECT id FROM frozen FOR UPDATE;
LOCK TABLE frozen IN SHARE MODE;
COMMIT;

DROP TABLE frozen, reading, incoming;
DELETE FROM lease.lease;
