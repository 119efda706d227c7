-- A lease that is free or expired is granted; one that is held is refused without a trace.
SELECT acquired, status, owner, token IS NOT NULL AS token, expires_at - now AS left,
       renew_after, stop_after
FROM lease_acquire('l', 'a');
SELECT token AS first FROM lease.lease \gset
SELECT xmin AS written_by FROM lease.lease \gset
-- refused: who has it and for how long, never their token, and nothing to wait for of one's own
SELECT acquired, status, owner, token, expires_at - now BETWEEN '10 s' AND '15 s' AS left,
       renew_after, stop_after
FROM lease_acquire('l', 'b');
SELECT acquired, status, token FROM lease_acquire('l', 'b', '1 day', 'never');
SELECT xmin = :'written_by' AS untouched, owner FROM lease.lease;
BEGIN;
SELECT status FROM lease_acquire('l', 'b');
-- not even a lock, nor a transaction number
SELECT count(*) AS locks FROM pg_locks
WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR mode = 'RowExclusiveLock');
SELECT pg_current_xact_id_if_assigned() AS transaction;
COMMIT;

-- expired: the next one has it at once, and the first has lost it
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status, owner, token > :first AS higher, expires_at - now AS left, renew_after, stop_after
FROM lease_acquire('l', 'b', '30 s');
SELECT status, owner FROM lease_acquire('l', 'a');
SELECT owner, acquisitions, ttl_ms, since <= clock_timestamp() AS since FROM lease.lease;
-- released: the same
SELECT token AS second FROM lease.lease \gset
SELECT status FROM lease_release('l', 'b', :second);
SELECT status, token > :second AS higher FROM lease_acquire('l', 'c', '1 ms');

-- every argument has a name, every column too
SELECT name, status, owner, renew_after, stop_after
FROM lease_acquire(name => 'x', owner => 'o', ttl => '1 s', keep_token => 'never');
SELECT attnum, attname, format_type(atttypid, atttypmod) AS type
FROM pg_attribute WHERE attrelid = 'lease.answer'::regclass ORDER BY attnum;
-- the commit is on disk whatever the session says; the setting is the session's again afterwards
SET synchronous_commit = off;
BEGIN;
SELECT status FROM lease_acquire('durable', 'a');
SET LOCAL synchronous_commit = off;
SELECT pg_current_wal_insert_lsn() AS row_written \gset
COMMIT;
SELECT pg_current_wal_flush_lsn() > :'row_written'::pg_lsn AS commit_is_on_disk;
SHOW synchronous_commit;
RESET synchronous_commit;

-- a transaction that is rolled back has acquired nothing
BEGIN;
SELECT status FROM lease_acquire('never', 'a');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT status FROM lease_acquire('never', 'a');
ROLLBACK TO s;
COMMIT;
SELECT count(*) AS never FROM lease.lease WHERE name = 'never';
SELECT status FROM lease_acquire('never', 'b');
DELETE FROM lease.lease;
