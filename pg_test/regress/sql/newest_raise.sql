-- lease_fence_raise announces a new holder: the fence goes up, never down, and stays where it is
-- for an equal token.
SELECT lease_fence_raise('site:7', 17);
SELECT token FROM lease.fence;
SELECT xmin AS written_by FROM lease.fence \gset
SELECT lease_fence_raise('site:7', 17);
SELECT xmin = :'written_by' AS untouched FROM lease.fence;
SELECT lease_fence_raise('site:7', 18);
SELECT lease_fence_raise('site:7', 17);
\set VERBOSITY sqlstate
SELECT lease_fence_raise('site:7', 17);
SELECT lease_fence_raise('site:7', 1);
SELECT lease_fence_raise('site:7', 0);
SELECT lease_fence_raise('site:7', -1);
SELECT lease_fence_raise('site:7', NULL);
SELECT lease_fence_raise(NULL, 18);
SELECT lease_fence_raise('a b', 18);
SELECT name, token FROM lease.fence;

-- in REPEATABLE READ and SERIALIZABLE a token must have been raised before, in another transaction
CREATE TABLE reading (id int);
SELECT guard FROM lease_guard('reading', 'site:7', 'newest');
SET pg_lease.token TO 'site:7=19';
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO reading VALUES (1);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lease_fence_check('site:7', 19, 'newest');
ROLLBACK;
-- raising and using it in one such transaction is no way round
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM reading;
SELECT lease_fence_raise('site:7', 19);
INSERT INTO reading VALUES (1);
ROLLBACK;
\set VERBOSITY default
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO reading VALUES (1);
ROLLBACK;
SELECT lease_fence_raise('site:7', 19);
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO reading VALUES (1);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lease_fence_check('site:7', 19, 'newest');
INSERT INTO reading VALUES (2);
COMMIT;
TABLE reading;
-- under READ COMMITTED raise and write go together
BEGIN;
SELECT lease_fence_raise('site:7', 20);
SET LOCAL pg_lease.token TO 'site:7=20';
INSERT INTO reading VALUES (3);
COMMIT;
TABLE reading;

RESET pg_lease.token;
DROP TABLE reading;
DELETE FROM lease.fence;
