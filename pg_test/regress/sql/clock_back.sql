-- A clock that steps back must not freeze failover: whoever sees an expiry further away than its
-- ttl pulls it in, and failover is late by one ttl at most.
\set VERBOSITY sqlstate
-- the lease was granted while the clock was an hour ahead
SET pg_lease.clock_offset = '1h';
SELECT 'arbitrum=' || token AS t, token FROM lease_acquire('arbitrum', 'worker-a', '15 s') \gset
RESET pg_lease.clock_offset;
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum', 'live');
SELECT xmin AS written_by FROM lease.lease \gset

-- the first look refuses, and pulls the expiry in to one ttl from now
SELECT acquired, status, owner, expires_at - now AS left
FROM lease_acquire('arbitrum', 'worker-b', '1 min');
SELECT xmin <> :'written_by' AS pulled_in, ttl_ms, token = :token AS same_token FROM lease.lease;
-- the second look writes nothing any more
SELECT xmin AS written_by FROM lease.lease \gset
SELECT status, expires_at - now < '15 s' AS running_out
FROM lease_acquire('arbitrum', 'worker-b', '1 min');
SELECT xmin = :'written_by' AS untouched FROM lease.lease;
-- its holder goes on meanwhile
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
-- and one ttl later the newcomer has it, not an hour later
SET pg_lease.clock_offset = '15100';
SELECT status, token > :token AS higher FROM lease_acquire('arbitrum', 'worker-b', '1 min');
INSERT INTO ledger VALUES (2);
RESET pg_lease.clock_offset;

-- the holder itself needs no such thing: its own renewal sets the expiry anew
DELETE FROM lease.lease;
SET pg_lease.clock_offset = '1h';
SELECT token FROM lease_acquire('arbitrum', 'worker-a', '15 s') \gset
RESET pg_lease.clock_offset;
SELECT status, expires_at - now AS left FROM lease_renew('arbitrum', 'worker-a', :token, '10 s');
-- an acquire of many sees it as well
SET pg_lease.clock_offset = '1h';
SELECT status FROM lease_renew('arbitrum', 'worker-a', :token, '15 s');
RESET pg_lease.clock_offset;
SELECT name, status, expires_at - now AS left
FROM lease_acquire_many('{free,arbitrum}', 'worker-b', '1 min');
-- in a transaction that is rolled back nothing is pulled in
SET pg_lease.clock_offset = '1h';
SELECT status FROM lease_renew('arbitrum', 'worker-a', :token, '15 s');
RESET pg_lease.clock_offset;
BEGIN;
SELECT status, expires_at - now AS left FROM lease_acquire('arbitrum', 'worker-b');
ROLLBACK;
SELECT expires_at - compute_now() > '30 min' AS still_far FROM lease.lease WHERE name = 'arbitrum';

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
