-- Who is in the middle of work under a token is seen in pg_locks, until the transaction or the
-- savepoint ends; nobody waits for that.
CREATE TABLE ledger (id int);
CREATE TABLE shard (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT guard FROM lease_guard('shard', 'site:7', 'newest');
SELECT 'arbitrum=' || token || ',site:7=17' AS t, token
FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SELECT lease_fence_raise('site:7', 17);
SET pg_lease.token TO :'t';
CREATE VIEW presence AS
SELECT objsubid, mode, granted FROM pg_locks
WHERE locktype = 'advisory' AND objsubid > 2 AND pid = pg_backend_pid();

BEGIN;
TABLE presence;
INSERT INTO ledger VALUES (1);
INSERT INTO ledger VALUES (2);
TABLE presence;
SAVEPOINT s;
INSERT INTO shard VALUES (1);
SELECT * FROM presence ORDER BY objsubid;
ROLLBACK TO s;
TABLE presence;
COMMIT;
TABLE presence;
-- a check shows it too
BEGIN;
SELECT lease_fence_check('arbitrum', :token);
TABLE presence;
ROLLBACK;
TABLE presence;
-- the tag is made of the token: the next one's is another
BEGIN;
INSERT INTO ledger VALUES (3);
SELECT objid AS old FROM pg_locks WHERE objsubid = 19457 \gset
COMMIT;
SELECT 'arbitrum=' || token AS t FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (4);
SELECT objid <> :old AS another FROM pg_locks WHERE objsubid = 19457;
COMMIT;

RESET pg_lease.token;
DROP VIEW presence;
DROP TABLE ledger, shard;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
