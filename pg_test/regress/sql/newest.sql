-- In mode newest a database obeys the highest token it has seen: lower ones are refused for ever,
-- equal ones pass, higher ones raise it at the statement.
CREATE TABLE reading (id int);
SELECT guard FROM lease_guard('reading', 'site:7', 'newest');
\set VERBOSITY sqlstate
-- nothing is needed here but the token: the lease lives elsewhere
SET pg_lease.token TO 'site:7=17';
INSERT INTO reading VALUES (1);
SELECT name, token FROM lease.fence;
SELECT count(*) AS leases_here FROM lease.lease;
-- equal passes, and writes nothing to the fence
SELECT xmin AS written_by FROM lease.fence \gset
INSERT INTO reading VALUES (2);
SELECT xmin = :'written_by' AS untouched FROM lease.fence;
-- higher raises at the statement, before the commit
BEGIN;
SET LOCAL pg_lease.token TO 'site:7=18';
INSERT INTO reading VALUES (3);
SELECT token FROM lease.fence;
COMMIT;
-- lower is refused
INSERT INTO reading VALUES (99);
SET pg_lease.token TO 'site:7=1';
INSERT INTO reading VALUES (99);
TRUNCATE reading;
SET pg_lease.token TO 'site:7=18';
INSERT INTO reading VALUES (4);
TABLE reading;

-- a raise that is rolled back was none
BEGIN;
SET LOCAL pg_lease.token TO 'site:7=20';
INSERT INTO reading VALUES (99);
ROLLBACK;
BEGIN;
SAVEPOINT s;
SET LOCAL pg_lease.token TO 'site:7=20';
INSERT INTO reading VALUES (99);
ROLLBACK TO s;
INSERT INTO reading VALUES (5);
COMMIT;
SELECT token FROM lease.fence;

-- the commit looks again: another raised it meanwhile
BEGIN;
INSERT INTO reading VALUES (99);
UPDATE lease.fence SET token = 19;
COMMIT;
SELECT token FROM lease.fence;
-- so does a transaction that raised it twice itself: its first write is stale by then
BEGIN;
INSERT INTO reading VALUES (99);
SET LOCAL pg_lease.token TO 'site:7=21';
INSERT INTO reading VALUES (99);
COMMIT;
SELECT token FROM lease.fence;
TABLE reading;

-- each lease has a fence of its own
CREATE TABLE other (id int);
SELECT guard FROM lease_guard('other', 'site:8', 'newest');
SET pg_lease.token TO 'site:7=18,site:8=3';
INSERT INTO other VALUES (1);
SELECT name, token FROM lease.fence ORDER BY name;
-- the leases that are granted here count for nothing
SELECT status FROM lease_acquire('site:7', 'worker-a');
INSERT INTO reading VALUES (6);
-- DELETE and UPDATE, and partitions, as in any mode
SET pg_lease.token TO 'site:7=2,site:8=2';
DELETE FROM reading;
UPDATE other SET id = 0;
SELECT (SELECT count(*) FROM reading) AS reading, (SELECT sum(id) FROM other) AS other;

RESET pg_lease.token;
DROP TABLE reading, other;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
