-- A session that has found a token good once, and so need not read it again, still hears of every
-- change: by each function, by hand, undone by a savepoint or a rollback.
CREATE TABLE chunk (n int);
SELECT guard FROM lease_guard('chunk', 'arbitrum');
CREATE FUNCTION hold() RETURNS void LANGUAGE plpgsql AS $$
DECLARE held bigint;
BEGIN
    SELECT token INTO held FROM lease_takeover('arbitrum', 'worker-a', '1 hour');
    PERFORM set_config('pg_lease.token', 'arbitrum=' || held, false);
END $$;
\set VERBOSITY sqlstate

-- each way in which the token ends
SELECT hold();
INSERT INTO chunk VALUES (1);
INSERT INTO chunk VALUES (1);
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
INSERT INTO chunk VALUES (-1);
SELECT hold();
INSERT INTO chunk VALUES (2);
SELECT status FROM lease_acquire('arbitrum', 'worker-a', '1 hour', 'never');
INSERT INTO chunk VALUES (-2);
SELECT hold();
INSERT INTO chunk VALUES (3);
SELECT r.status FROM lease.lease, lease_release('arbitrum', 'worker-a', token) AS r;
INSERT INTO chunk VALUES (-3);
SELECT hold();
INSERT INTO chunk VALUES (4);
SELECT lease_void_all() > 0 AS voided;
INSERT INTO chunk VALUES (-4);

-- by hand
SELECT hold();
INSERT INTO chunk VALUES (5);
UPDATE lease.lease SET token = token + 1 WHERE name = 'arbitrum';
INSERT INTO chunk VALUES (-5);
SELECT hold();
INSERT INTO chunk VALUES (6);
UPDATE lease.lease SET home = home + 1 WHERE name = 'arbitrum';
INSERT INTO chunk VALUES (-6);
SELECT hold();
INSERT INTO chunk VALUES (7);
DELETE FROM lease.lease;
INSERT INTO chunk VALUES (-7);
SELECT hold();
INSERT INTO chunk VALUES (8);
TRUNCATE lease.lease;
INSERT INTO chunk VALUES (-8);
SELECT hold();
INSERT INTO chunk VALUES (9);
SET session_replication_role = replica;
UPDATE lease.lease SET owner = NULL WHERE name = 'arbitrum';
INSERT INTO chunk VALUES (-9);
RESET session_replication_role;

-- undone: the old token is good again, and the new one never was
SELECT hold();
INSERT INTO chunk VALUES (10);
BEGIN;
SAVEPOINT before;
SELECT token AS taken FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SELECT lease_fence_check('arbitrum', :taken);
INSERT INTO chunk VALUES (-10);
ROLLBACK TO before;
INSERT INTO chunk VALUES (10);
COMMIT;
SELECT lease_fence_check('arbitrum', :taken);
BEGIN;
SELECT token AS taken FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SELECT lease_fence_check('arbitrum', :taken);
ROLLBACK;
SELECT lease_fence_check('arbitrum', :taken);
INSERT INTO chunk VALUES (10);

-- within a transaction: what was good at its first statement is not at the next
BEGIN;
INSERT INTO chunk VALUES (-11);
SELECT status FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
INSERT INTO chunk VALUES (-11);
ROLLBACK;

-- within a transaction that has changed ownership before, of another lease
SELECT hold();
BEGIN;
SELECT status FROM lease_acquire('other', 'worker-a');
INSERT INTO chunk VALUES (12);
SELECT r.status FROM lease.lease l, lease_release('arbitrum', 'worker-a', l.token) AS r
WHERE l.name = 'arbitrum';
SAVEPOINT released;
INSERT INTO chunk VALUES (-12);
ROLLBACK TO released;
COMMIT;

-- the newest token obeyed
CREATE TABLE shard (n int);
SELECT guard FROM lease_guard('shard', 'mover', 'newest');
SET pg_lease.token = 'mover=17';
INSERT INTO shard VALUES (17);
INSERT INTO shard VALUES (17);
SELECT lease_fence_raise('mover', 18);
INSERT INTO shard VALUES (-17);
SET pg_lease.token = 'mover=18';
INSERT INTO shard VALUES (18);
INSERT INTO shard VALUES (18);
UPDATE lease.fence SET token = 19;
INSERT INTO shard VALUES (-18);

SELECT array_agg(n ORDER BY n) FROM chunk;
SELECT array_agg(n ORDER BY n) FROM shard;
RESET pg_lease.token;
DROP TABLE chunk, shard;
DROP FUNCTION hold;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
