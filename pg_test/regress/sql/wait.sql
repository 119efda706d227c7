-- wait: where nobody has the lease it is granted at once; what waits in vain, or may not wait, is
-- told so.
\set VERBOSITY sqlstate

-- free, new, one's own: no waiting
SELECT status FROM lease_acquire('job', 'a', '1 h', wait => '10 s');
SELECT status FROM lease_acquire('job', 'a', '1 h', wait => '10 s');
SELECT status FROM lease_acquire('job', 'a', '1 h', 'never', wait => '10 s');
SELECT status FROM lease_acquire('job', 'b', wait => '0');

-- in vain: an error, as after any wait for a lock
SELECT lease_acquire('job', 'b', wait => '1 ms');
SELECT lease_acquire('job', 'b', wait => '30 ms');
\set VERBOSITY terse
SELECT lease_acquire('job', 'b', wait => '1 ms');

-- its own wait counts, not lock_timeout
SET lock_timeout = '10 ms';
CREATE TEMP TABLE began AS SELECT clock_timestamp() AS at;
SELECT lease_acquire('job', 'b', wait => '300 ms');
SELECT clock_timestamp() - at >= '300 ms' AS waited_long_enough FROM began;
RESET lock_timeout;

-- other timeouts end it as they end everything
SET statement_timeout = '50 ms';
SELECT lease_acquire('job', 'b', wait => '1 min');
RESET statement_timeout;
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory';

-- caught, it leaves nothing behind
DO $$
BEGIN
    PERFORM lease_acquire('job', 'b', wait => '1 ms');
EXCEPTION WHEN lock_not_available THEN
    RAISE NOTICE '% locks', (SELECT count(*) FROM pg_locks
        WHERE locktype = 'advisory' OR relation = 'lease.lease'::regclass);
END $$;

-- from 0 to 1 day
SELECT lease_acquire('x', 'a', wait => NULL);
SELECT lease_acquire('x', 'a', wait => '-1 s');
SELECT lease_acquire('x', 'a', wait => '1 month');
SELECT lease_acquire('x', 'a', wait => '1 day 1 ms');
SELECT lease_acquire('x', 'a', wait => '0.5 ms');
SELECT status FROM lease_acquire('x', 'a', wait => '1 day');

-- not in a transaction that others may have to wait for
CREATE TABLE note (id integer);
\set VERBOSITY sqlstate
BEGIN;
INSERT INTO note VALUES (1);
SELECT lease_acquire('y', 'a', wait => '1 s');
ROLLBACK;
\set VERBOSITY terse
BEGIN;
INSERT INTO note VALUES (1);
SELECT lease_acquire('y', 'a', wait => '1 s');
ROLLBACK;
INSERT INTO note VALUES (1);
BEGIN;
SELECT id FROM note FOR UPDATE;
SELECT lease_acquire('y', 'a', wait => '1 s');
ROLLBACK;
BEGIN;
SELECT status FROM lease_acquire('y', 'a');
SELECT lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;
BEGIN;
SELECT status FROM lease_acquire('y', 'a', wait => '1 s');
SELECT lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;
SELECT token AS job FROM lease_acquire('job', 'a', '1 h') \gset
BEGIN;
SELECT lease_fence_check('job', :job);
SELECT lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;
-- what was undone is no obstacle
BEGIN;
SAVEPOINT s;
SELECT lease_fence_check('job', :job);
ROLLBACK TO s;
SELECT status FROM lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;

-- nor where a snapshot hides what is written meanwhile, whether or not there is anything to wait for
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_acquire('z', 'a', wait => '1 s');
ROLLBACK;

-- an expiry that a clock has made impossible is waited for no longer than the lease's ttl
SELECT status FROM lease_takeover('job', 'a', '200 ms');
UPDATE lease.lease SET expires_at = expires_at + '1 h' WHERE name = 'job';
SELECT status, owner, expires_at - now <= '15 s' AS full_ttl
FROM lease_acquire('job', 'b', wait => '10 s');

-- a quiet period is waited for as well
SELECT now AS began FROM lease_acquire('q', 'a', '100 ms', quiet_period => '300 ms') \gset
SELECT status, now - :'began' >= '400 ms' AS after_the_quiet_period
FROM lease_acquire('q', 'b', wait => '10 s');

DROP TABLE began, note;
DELETE FROM lease.lease;
