-- Under SERIALIZABLE the fence leaves no predicate locks on the tables of leases, so that a renewal
-- never makes a guarded transaction fail.
CREATE TABLE ledger (id int);
CREATE TABLE shard (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT guard FROM lease_guard('shard', 'site:7', 'newest');
SELECT 'arbitrum=' || token || ',site:7=17' AS t, token
FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SELECT lease_fence_raise('site:7', 17);
SET pg_lease.token TO :'t';
CREATE VIEW predicate_locks AS
SELECT DISTINCT l.relation::regclass FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
WHERE l.mode = 'SIReadLock';

BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT lease_fence_check('arbitrum', :token);
SELECT lease_fence_check('arbitrum', :token, 'live');
SELECT lease_fence_check('site:7', 17, 'newest');
SELECT count(*) FROM ledger;
INSERT INTO ledger VALUES (1);
INSERT INTO shard VALUES (1);
SELECT status FROM lease_renew('arbitrum', 'worker-a', :token, '1 hour');
SELECT status FROM lease_acquire('arbitrum', 'worker-b');
SELECT status FROM lease_acquire('new', 'worker-b');
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
-- what the transaction itself has read is there, so the view would show the others
TABLE predicate_locks;
COMMIT;
-- an ordinary reader of the lease table leaves one: not what a guard does
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM lease.lease;
TABLE predicate_locks;
COMMIT;

RESET pg_lease.token;
DROP VIEW predicate_locks;
DROP TABLE ledger, shard;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
