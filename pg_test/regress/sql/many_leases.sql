-- A transaction that writes under more leases than are locked one by one is checked all the same.
CREATE TABLE ledger (id int);
SELECT array_agg('l' || i) AS names FROM generate_series(1, 300) i \gset
CREATE TABLE grants AS SELECT name, token FROM lease_acquire_many(:'names', 'worker-a', '1 hour');
SELECT count(*) AS granted, count(DISTINCT token) AS tokens FROM grants;
CREATE FUNCTION check_all(most int) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(lease_fence_check(name, token) IS NULL)
    FROM (SELECT * FROM grants ORDER BY token LIMIT most OFFSET 0) g $$;
\set VERBOSITY sqlstate

BEGIN;
SELECT check_all(300);
INSERT INTO ledger VALUES (300);
-- the presence locks stop at a number that leaves room in the lock table
SELECT count(*) AS presence_locks FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 19457;
COMMIT;
-- each of them counts: first, in the middle, last
BEGIN;
SELECT check_all(300);
INSERT INTO ledger VALUES (99);
UPDATE lease.lease SET token = token + 1 WHERE name = 'l1';
COMMIT;
BEGIN;
SELECT check_all(300);
INSERT INTO ledger VALUES (99);
UPDATE lease.lease SET owner = NULL WHERE name = 'l150';
COMMIT;
BEGIN;
SELECT check_all(300);
INSERT INTO ledger VALUES (99);
DELETE FROM lease.lease WHERE name = 'l300';
COMMIT;
-- at the limit, and one above it
BEGIN;
SELECT check_all(64);
INSERT INTO ledger VALUES (64);
COMMIT;
BEGIN;
SELECT check_all(65);
INSERT INTO ledger VALUES (65);
COMMIT;
BEGIN;
SELECT check_all(64);
INSERT INTO ledger VALUES (99);
UPDATE lease.lease SET token = token + 1
WHERE name = (SELECT name FROM grants ORDER BY token LIMIT 1 OFFSET 63);
COMMIT;
BEGIN;
SELECT check_all(65);
INSERT INTO ledger VALUES (99);
UPDATE lease.lease SET token = token + 1
WHERE name = (SELECT name FROM grants ORDER BY token LIMIT 1 OFFSET 64);
COMMIT;
-- a write under many, and the end of some of them, in one transaction
BEGIN;
SELECT check_all(300);
INSERT INTO ledger VALUES (301);
SELECT status FROM grants g, lease_release(g.name, 'worker-a', g.token) WHERE g.name = 'l7';
SELECT status FROM lease_takeover('l8', 'worker-b', '1 hour');
COMMIT;
TABLE ledger;
SELECT count(*) FILTER (WHERE state = 'free') AS free,
       count(*) FILTER (WHERE owner = 'worker-b') AS taken
FROM lease.status;
-- prepared
DELETE FROM grants WHERE name IN ('l7', 'l8');
BEGIN;
SELECT check_all(300);
INSERT INTO ledger VALUES (302);
PREPARE TRANSACTION 'regress_many';
SET lock_timeout = '50ms';
SELECT status FROM lease_takeover('l9', 'worker-b', '1 hour');
COMMIT PREPARED 'regress_many';
SELECT status FROM lease_takeover('l9', 'worker-b', '1 hour');
RESET lock_timeout;

-- in mode newest: who would raise one of them waits for what is prepared
SELECT count(lease_fence_raise('s' || i, 17)) AS raised FROM generate_series(1, 70) i;
BEGIN;
SELECT count(lease_fence_check('s' || i, 17, 'newest')) AS checked FROM generate_series(1, 70) i;
INSERT INTO ledger VALUES (303);
PREPARE TRANSACTION 'regress_many';
SET lock_timeout = '50ms';
SELECT lease_fence_raise('s1', 18);
SELECT lease_fence_raise('s70', 18);
COMMIT PREPARED 'regress_many';
RESET lock_timeout;
SELECT lease_fence_raise('s70', 18);
BEGIN;
SELECT count(lease_fence_check('s' || i, 17, 'newest')) AS checked FROM generate_series(1, 69) i;
INSERT INTO ledger VALUES (99);
UPDATE lease.fence SET token = 18 WHERE name = 's69';
COMMIT;
SELECT count(*) FILTER (WHERE id = 303) AS committed, count(*) FILTER (WHERE id = 99) AS refused
FROM ledger;

DROP FUNCTION check_all;
DROP TABLE ledger, grants;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
