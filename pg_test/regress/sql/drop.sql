-- lease_drop forgets a lease that is idle and guards nothing; its tokens never come again.
\set VERBOSITY sqlstate
SELECT lease_drop('unknown');
SELECT token AS first FROM lease_acquire('l', 'a', '1 hour') \gset
-- held
SELECT lease_drop('l');
-- expired
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT lease_drop('l');
SELECT count(*) AS leases FROM lease.lease;
SELECT lease_drop('l');
SELECT lease_fence_check('l', :first);
SELECT lease_renew('l', 'a', :first, '1 hour');
-- released, and again under the same name: higher, and counted from one
SELECT token AS second FROM lease_acquire('l', 'a', '1 hour') \gset
SELECT :second > :first AS higher;
SELECT acquisitions FROM lease.lease;
SELECT status FROM lease_release('l', 'a', :second);
SELECT lease_drop('l');
-- void
SELECT token AS third FROM lease_acquire('l', 'a', '1 hour') \gset
UPDATE lease.lease SET home = home + 1;
SELECT lease_drop('l');
SELECT token > :third AND :third > :second AS higher FROM lease_acquire('l', 'a', '1 hour');

-- it guards a table
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT lease_drop('l');
\set VERBOSITY default
SELECT lease_drop('l');
SELECT lease_drop('unknown');
\set VERBOSITY sqlstate
SELECT lease_unguard('ledger');
-- a guard in mode newest needs no lease here
SELECT guard FROM lease_guard('ledger', 'l', 'newest');
SELECT lease_drop('l');

-- what was written under the lease in the same transaction is settled first
SELECT lease_unguard('ledger');
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t FROM lease_acquire('l', 'a', '1 ms') \gset
UPDATE lease.lease SET expires_at = '2020-01-01';
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (1);
SELECT lease_unguard('ledger');
SELECT lease_drop('l');
COMMIT;
TABLE ledger;
-- rolled back, it is as it was
SELECT 'l=' || token AS t FROM lease_acquire('l', 'a', '1 ms') \gset
UPDATE lease.lease SET expires_at = '2020-01-01';
BEGIN;
SELECT lease_drop('l');
ROLLBACK;
SELECT name, owner FROM lease.lease;

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
