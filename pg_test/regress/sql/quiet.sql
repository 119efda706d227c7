-- After an expiry nobody gets a new token before quiet_period is over; a release and a takeover make
-- no such pause.
\set VERBOSITY sqlstate
TRUNCATE lease.lease;
SELECT token FROM lease_acquire('l', 'a', '30 s', quiet_period => '2 min') \gset
SELECT quiet_ms FROM lease.lease;
SELECT state, quiet_until - expires_at AS lasts FROM lease.status;
SELECT status, expires_at - now <= '30 s' AS its_expiry FROM lease_acquire('l', 'b');
SET pg_lease.clock_offset = '31s';
SELECT state, remaining, quiet_until - expires_at AS lasts FROM lease.status;
SELECT xmin AS written_by, expires_at AS expiry FROM lease.lease \gset
-- nobody: another, many, the same owner, whatever becomes of tokens
SELECT acquired, status, owner, token, expires_at - :'expiry' AS after_the_expiry, renew_after
FROM lease_acquire('l', 'b');
SELECT name, status FROM lease_acquire_many('{k,l,m}', 'b');
SELECT status FROM lease_acquire('l', 'a');
SELECT status FROM lease_acquire('l', 'a', '30 s', 'never');
SELECT xmin = :'written_by' AS untouched FROM lease.lease WHERE name = 'l';
-- its holder's writes still pass, where a guard does not ask for a live lease
SELECT lease_fence_check('l', :token);
SELECT lease_fence_check('l', :token, 'live');
-- it is not idle
SELECT lease_drop('l');
-- its holder may go on under the same token
SELECT status, token = :token AS same FROM lease_renew('l', 'a', :token, '30 s');
SET pg_lease.clock_offset = '62s';
SELECT state FROM lease.status WHERE name = 'l';
SELECT status, token = :token AS same
FROM lease_acquire('l', 'a', '30 s', 'while_owner', quiet_period => '2 min');
-- to the end of it, and no longer
SET pg_lease.clock_offset = '200s';
SELECT status FROM lease_acquire('l', 'b');
SET pg_lease.clock_offset = '213s';
SELECT state FROM lease.status WHERE name = 'l';
SELECT status, token > :token AS higher FROM lease_acquire('l', 'b', '1 min');
-- the next holder has what it has asked for
SELECT quiet_ms FROM lease.lease WHERE name = 'l';
SELECT quiet_until FROM lease.status WHERE name = 'l';
SET pg_lease.clock_offset = '5min';
SELECT status FROM lease_acquire('l', 'a', '1 min', quiet_period => '1 hour');

-- a release, also in the quiet period, is no expiry
SELECT token FROM lease.lease WHERE name = 'l' \gset
SET pg_lease.clock_offset = '10min';
SELECT state FROM lease.status WHERE name = 'l';
SELECT status FROM lease_release('l', 'a', :token);
SELECT state, quiet_until FROM lease.status WHERE name = 'l';
SELECT status FROM lease_acquire('l', 'b', '1 min', quiet_period => '1 hour');
-- a takeover does not wait for it
SET pg_lease.clock_offset = '15min';
SELECT status FROM lease_acquire('l', 'c');
SELECT status FROM lease_takeover('l', 'c', '1 min');
SELECT quiet_ms FROM lease.lease WHERE name = 'l';
-- nor what was granted in another copy of this database
SELECT status FROM lease_acquire('l', 'c', '1 min', quiet_period => '1 hour');
SET pg_lease.clock_offset = '20min';
UPDATE lease.lease SET home = home + 1 WHERE name = 'l';
SELECT state FROM lease.status WHERE name = 'l';
SELECT status FROM lease_acquire('l', 'b', '1 min', quiet_period => '1 hour');
-- acquire_many leaves it when it keeps a lease; acquire stores it anew
SELECT status FROM lease_acquire_many('{l}', 'b', '1 min');
SELECT quiet_ms FROM lease.lease WHERE name = 'l';
SELECT status FROM lease_acquire('l', 'b', '1 min');
SELECT quiet_ms FROM lease.lease WHERE name = 'l';

-- a stalled lease that its owner would keep: once it has run out, it is quiet for the owner too
DELETE FROM lease.lease;
SELECT token FROM lease_acquire('l', 'a', '1 min', stall_after => '1 s', quiet_period => '1 min') \gset
SET pg_lease.clock_offset = '1290s';
SELECT status FROM lease_acquire('l', 'a', '1 min', 'while_owner');
SELECT lease_renew('l', 'a', :token, '1 min');
SELECT status FROM lease_renew('l', 'a', :token, '1 min', 1);
RESET pg_lease.clock_offset;

-- a clock that steps back makes it live again, and the expiry is pulled in as any other
DELETE FROM lease.lease;
SET pg_lease.clock_offset = '1h';
SELECT status FROM lease_acquire('l', 'a', '15 s', quiet_period => '1 min');
RESET pg_lease.clock_offset;
SELECT status, expires_at - now AS left FROM lease_acquire('l', 'b');
SET pg_lease.clock_offset = '16s';
SELECT status FROM lease_acquire('l', 'b');
SET pg_lease.clock_offset = '76s';
SELECT status FROM lease_acquire('l', 'b');
RESET pg_lease.clock_offset;

-- 0 is none; otherwise as ttls
SELECT status FROM lease_acquire('z', 'a', quiet_period => '0');
SELECT status FROM lease_acquire('z', 'a', quiet_period => '1 day');
SELECT lease_acquire('z', 'a', quiet_period => '-1 s');
SELECT lease_acquire('z', 'a', quiet_period => '0.5 ms');
SELECT lease_acquire('z', 'a', quiet_period => '1 day 1 ms');
SELECT lease_acquire('z', 'a', quiet_period => '1 month -30 days');
SELECT lease_acquire('z', 'a', quiet_period => NULL);
\set VERBOSITY default
SELECT lease_acquire('z', 'a', quiet_period => '-1 s');
DELETE FROM lease.lease;
