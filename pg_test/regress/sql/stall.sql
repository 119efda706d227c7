-- A renewal is refused when its progress has not moved for stall_after, and the lease runs out.
\set VERBOSITY sqlstate
\pset null (null)
TRUNCATE lease.lease;
SELECT status, token FROM lease_acquire('l', 'a', '30 s', stall_after => '10 min') \gset
SELECT :'status' AS status, stall_ms, progress, moved_at = since AS from_the_grant FROM lease.lease;
SELECT stalls_at - moved_at AS stalls_after FROM lease.status;

-- what moves goes on: up, down, and after a long time as well
SELECT status FROM lease_renew('l', 'a', :token, '30 s', 1);
SELECT status FROM lease_renew('l', 'a', :token, '30 s', progress => -1);
SELECT progress, moved_at > since AS moved FROM lease.lease;
SET pg_lease.clock_offset = '9min';
-- what says nothing, or the same again, has not moved, and is not refused yet
SELECT moved_at AS before FROM lease.lease \gset
SELECT status FROM lease_renew('l', 'a', :token, '30 s');
SELECT status FROM lease_renew('l', 'a', :token, '30 s', -1);
SELECT progress, moved_at = :'before'::timestamptz AS stands_still FROM lease.lease;
-- after stall_after it is; the expiry stays, and nothing is written
SELECT status FROM lease_renew('l', 'a', :token, '10 min', -1);
SET pg_lease.clock_offset = '10min';
SELECT xmin AS written_by, expires_at AS expiry FROM lease.lease \gset
SELECT lease_renew('l', 'a', :token, '30 s');
SELECT lease_renew('l', 'a', :token, '30 s', -1);
SELECT acquired, status, owner, token, expires_at = :'expiry' AS same_expiry, renew_after
FROM lease_renew_many('{l}', 'a', ARRAY[:token], '30 s', '{-1}');
SELECT acquired, status FROM lease_renew_many('{l}', 'a', ARRAY[:token], '30 s');
SELECT xmin = :'written_by' AS untouched FROM lease.lease;
-- it is held for as long as it lasts, and the token is good
SELECT state, stalls_at < compute_now() AS stalls FROM lease.status;
SELECT status, owner FROM lease_acquire('l', 'b');
SELECT lease_fence_check('l', :token, 'live');
-- the owner's own acquire does not get round it, whatever it asks for
SELECT acquired, status, owner, token, expires_at = :'expiry' AS same_expiry
FROM lease_acquire('l', 'a', '1 hour');
SELECT status FROM lease_acquire('l', 'a', '1 hour', 'while_owner', stall_after => '1 day');
SELECT status FROM lease_acquire_many('{l}', 'a', '1 hour');
SELECT xmin = :'written_by' AS untouched FROM lease.lease;
-- what was lost is lost, and not stalled
SELECT status FROM lease_renew_many('{l}', 'b', ARRAY[:token], '30 s');
SELECT status FROM lease_renew_many('{l}', 'a', ARRAY[:token - 1], '30 s');
-- but work that moves is granted again
SELECT status FROM lease_renew('l', 'a', :token, '30 s', 0);
SELECT status FROM lease_renew('l', 'a', :token, '30 s');
-- also after the expiry, while nobody has taken it
SET pg_lease.clock_offset = '1h';
SELECT state FROM lease.status;
SELECT lease_renew('l', 'a', :token, '30 s');
SELECT status FROM lease_renew('l', 'a', :token, '30 s', 5);
-- when it has run out, anybody may have it, its owner too, but not under the same token
SET pg_lease.clock_offset = '2h';
SELECT status, token > :token AS higher
FROM lease_acquire('l', 'a', '30 s', 'while_owner', stall_after => '10 min');
-- a new token begins anew
SELECT progress, moved_at = since AS from_the_grant FROM lease.lease;
SET pg_lease.clock_offset = '3h';
SELECT status FROM lease_acquire('l', 'b', '30 s');

-- with never, a stalled lease gets a new token at once: what stands still is fenced by it
SELECT token FROM lease_takeover('l', 'a', '1 day') \gset
SELECT stall_ms FROM lease.lease;
SELECT status, token = :token AS same FROM lease_acquire('l', 'a', '1 day', stall_after => '1 s');
SET pg_lease.clock_offset = '4h';
SELECT status FROM lease_acquire('l', 'a', '1 day');
SELECT status, token > :token AS higher FROM lease_acquire('l', 'a', '1 day', 'never');

-- stall_after is stored anew by each acquire that keeps the token: off, and on from now
SELECT token FROM lease_takeover('l', 'a', '1 day') \gset
SET pg_lease.clock_offset = '5h';
SELECT status FROM lease_acquire('l', 'a', '1 day', stall_after => '10 min');
SELECT status FROM lease_renew('l', 'a', :token, '1 day');
SET pg_lease.clock_offset = '309min';
SELECT status FROM lease_renew('l', 'a', :token, '1 day');
-- another span does not begin it again
SELECT status FROM lease_acquire('l', 'a', '1 day', stall_after => '11 min');
SET pg_lease.clock_offset = '312min';
SELECT lease_renew('l', 'a', :token, '1 day');
SELECT status FROM lease_renew('l', 'a', :token, '1 day', 9);
-- acquire_many, which cannot name it, leaves it
SELECT status FROM lease_acquire_many('{l}', 'a', '1 day');
SELECT stall_ms FROM lease.lease;
SELECT status FROM lease_acquire('l', 'a', '1 day');
SELECT stall_ms, (SELECT stalls_at FROM lease.status) FROM lease.lease;
SET pg_lease.clock_offset = '10h';
SELECT status FROM lease_renew('l', 'a', :token, '1 day');

-- a clock that steps back delays the refusal by one span at most
SELECT token FROM lease_takeover('l', 'a', '1 day') \gset
SELECT status FROM lease_acquire('l', 'a', '1 day', stall_after => '1 min');
SELECT status FROM lease_renew('l', 'a', :token, '1 day', 1);
RESET pg_lease.clock_offset;
SELECT status FROM lease_renew('l', 'a', :token, '1 day', 1);
SET pg_lease.clock_offset = '1min';
SELECT lease_renew('l', 'a', :token, '1 day', 1);
RESET pg_lease.clock_offset;

-- in a batch, each by itself
-- without an owner nothing is kept of it
SELECT status FROM lease_release('l', 'a', :token);
SELECT stall_ms, quiet_ms, progress, moved_at FROM lease.lease;
DELETE FROM lease.lease;
SELECT token AS x FROM lease_acquire('x', 'a', '1 hour', stall_after => '1 ms') \gset
SELECT token AS y FROM lease_acquire('y', 'a', '1 hour', stall_after => '1 ms') \gset
SELECT token AS z FROM lease_acquire('z', 'a', '1 hour') \gset
SET pg_lease.clock_offset = '1s';
SELECT name, status FROM lease_renew_many('{x,y,z}', 'a', ARRAY[:x, :y, :z], '1 hour', '{NULL,7,NULL}');
SELECT lease_renew_many('{x,y}', 'a', ARRAY[:x, :y], '1 hour', '{1}');
SELECT lease_renew_many('{x}', 'a', ARRAY[:x], '1 hour', '{1,2}');
SELECT lease_renew_many('{x}', 'a', ARRAY[:x], '1 hour', '{}');
RESET pg_lease.clock_offset;
-- spans as ttls have; no stall_after at all is NULL
SELECT lease_acquire('l', 'a', stall_after => '0');
SELECT lease_acquire('l', 'a', stall_after => '-1 s');
SELECT lease_acquire('l', 'a', stall_after => '0.5 ms');
SELECT lease_acquire('l', 'a', stall_after => '1 day 1 ms');
SELECT lease_acquire('l', 'a', stall_after => '1 month');
SELECT status FROM lease_acquire('l', 'a', stall_after => NULL);
-- each renewal stays a heap-only update, whatever it says
SELECT token FROM lease_takeover('l', 'a', '1 hour') \gset
SELECT status FROM lease_acquire('l', 'a', '1 hour', stall_after => '1 hour');
BEGIN;
SELECT count(status) FROM generate_series(1, 40) n, lease_renew('l', 'a', :token, '1 hour', n);
SELECT n_tup_upd - n_tup_hot_upd AS not_heap_only, n_tup_hot_upd > 0 AS counted
FROM pg_stat_xact_all_tables WHERE relid = 'lease.lease'::regclass;
COMMIT;
DELETE FROM lease.lease;
\pset null ''
