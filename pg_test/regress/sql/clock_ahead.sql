-- A clock that jumps ahead expires leases early: harmless, as the new holder's higher token fences
-- the old one.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS a, token FROM lease_acquire('arbitrum', 'worker-a', '15 s') \gset
SELECT status FROM lease_acquire('arbitrum', 'worker-b', '15 s');
SET pg_lease.clock_offset = '1h';
SELECT status, token > :token AS higher, 'arbitrum=' || token AS b
FROM lease_acquire('arbitrum', 'worker-b', '15 s') \gset
SELECT :'status' AS status, :'higher' AS higher;
\set VERBOSITY sqlstate
SET pg_lease.token TO :'a';
INSERT INTO ledger VALUES (1);
SELECT lease_renew('arbitrum', 'worker-a', :token, '15 s');
SET pg_lease.token TO :'b';
INSERT INTO ledger VALUES (2);
RESET pg_lease.clock_offset;
INSERT INTO ledger VALUES (3);
TABLE ledger;

-- a lease that expired a year ago is granted at once
DELETE FROM lease.lease;
SELECT token FROM lease_acquire('arbitrum', 'worker-a', '15 s') \gset
UPDATE lease.lease SET expires_at = now() - interval '1 year', since = now() - interval '1 year';
SELECT status, token > :token AS higher, expires_at - now AS left
FROM lease_acquire('arbitrum', 'worker-b', '15 s');
-- held until its expiry, anybody's from then on
SELECT expires_at AS at FROM lease.lease \gset
SELECT extract(epoch FROM :'at'::timestamptz - clock_timestamp()) * 1000 AS ms \gset
SELECT :ms - 5000 AS before, :ms + 1 AS after \gset
SET pg_lease.clock_offset = :before;
SELECT status FROM lease_acquire('arbitrum', 'worker-c', '15 s');
SET pg_lease.clock_offset = :after;
SELECT status FROM lease_acquire('arbitrum', 'worker-c', '15 s');
RESET pg_lease.clock_offset;

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
