-- Every call that writes is refused in a read-only transaction, before it does anything.
CREATE TABLE ledger (id int);
CREATE TABLE guarded (id int);
SELECT guard FROM lease_guard('guarded', 'arbitrum');
SELECT token FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SELECT xmin AS written_by FROM lease.lease \gset
\set VERBOSITY sqlstate
SET default_transaction_read_only = on;
SELECT lease_acquire('arbitrum', 'worker-a');
SELECT lease_acquire('new', 'worker-a');
SELECT lease_acquire_many('{arbitrum,new}', 'worker-a');
SELECT lease_acquire_many('{}', 'worker-a');
SELECT lease_renew('arbitrum', 'worker-a', :token, '15 s');
SELECT lease_renew_many('{arbitrum}', 'worker-a', ARRAY[:token], '15 s');
SELECT lease_release('arbitrum', 'worker-a', :token);
SELECT lease_takeover('arbitrum', 'worker-b', '15 s');
SELECT lease_drop('arbitrum');
SELECT lease_void_all();
SELECT lease_fence_raise('site:7', 17);
SELECT lease_guard('ledger', 'arbitrum');
SELECT lease_unguard('guarded');
-- what only reads works
SELECT lease_fence_check('arbitrum', :token);
SELECT lease_clock_skew(compute_now()) < '1 min' AS close;
SELECT name, state FROM lease.status;
SELECT relation FROM lease.guards;
RESET default_transaction_read_only;
SELECT xmin = :'written_by' AS untouched FROM lease.lease;
\set VERBOSITY default
BEGIN READ ONLY;
SELECT lease_acquire('arbitrum', 'worker-a');
ROLLBACK;
DROP TABLE ledger, guarded;
DELETE FROM lease.lease;
