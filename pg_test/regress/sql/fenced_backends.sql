-- lease.fenced_backends shows who is in the middle of work under which token, by the newest state of
-- things, to those who may list the lease; and lease_evict asks for its right, and ends nobody who is
-- good.
CREATE TABLE ledger (id int);
CREATE TABLE shard (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT guard FROM lease_guard('shard', 'site:7', 'newest');
CREATE VIEW mine AS
SELECT f.lease, f.token = s.token AS current, f.stale, f.state, f.role = current_user AS my_role,
       f.application, f.gid
FROM lease.fenced_backends AS f LEFT JOIN lease.status AS s ON s.name = f.lease
WHERE f.pid = pg_backend_pid()
ORDER BY f.lease;

TABLE mine;
SELECT 'arbitrum=' || token || ',site:7=17' AS t, token
FROM lease_acquire('arbitrum', 'worker-a', '1 hour') \gset
SELECT lease_fence_raise('site:7', 17);
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (1);
TABLE mine;
INSERT INTO shard VALUES (1);
SELECT lease, token = CASE lease WHEN 'site:7' THEN 17 ELSE :token END AS as_presented, stale
FROM lease.fenced_backends ORDER BY lease;
SELECT since = transaction_timestamp() AS since_begin FROM lease.fenced_backends WHERE lease = 'arbitrum';
-- one's own session is never ended, a good one neither
SELECT * FROM lease_evict('arbitrum');
SELECT * FROM lease_evict('site:7');
COMMIT;
TABLE mine;

-- in the transaction that gets a token, nobody else can see it yet, and it is good
BEGIN;
SELECT 'fresh=' || token AS t FROM lease_acquire('fresh', 'worker-a', '1 hour') \gset
SET LOCAL pg_lease.token TO :'t';
SELECT lease_fence_check('fresh', substr(:'t', 7)::bigint);
TABLE mine;
ROLLBACK;
BEGIN;
SELECT token AS taken FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SELECT lease_fence_check('arbitrum', :taken);
TABLE mine;
SELECT token = :taken AS the_new_one FROM lease.fenced_backends;
ROLLBACK;
-- so is the fence that is being raised
BEGIN;
SET LOCAL pg_lease.token = 'site:7=18';
INSERT INTO shard VALUES (2);
SELECT lease, token, stale FROM lease.fenced_backends;
ROLLBACK;
-- what has ended its own token was decided by that, and will commit
BEGIN;
INSERT INTO ledger VALUES (2);
SELECT status FROM lease_release('arbitrum', 'worker-a', :token);
SELECT lease, token = :token AS its_own, stale FROM lease.fenced_backends;
ROLLBACK;
-- more than 64: the first ones
BEGIN;
SELECT count(*) AS granted FROM lease_acquire_many(
    ARRAY(SELECT 'many:' || n FROM generate_series(1, 70) AS n), 'worker-a', '1 hour');
SELECT count(lease_fence_check(name, token)) AS checked FROM lease.lease WHERE name LIKE 'many:%';
SELECT count(*) FROM lease.fenced_backends;
ROLLBACK;

-- a lease that is not there has no sessions; a bad name is no name
SELECT * FROM lease_evict('nobody');
\set VERBOSITY sqlstate
SELECT * FROM lease_evict(NULL);
SELECT * FROM lease_evict('a b');
SELECT lease.is_stale(NULL, false, 1);
\set VERBOSITY default
SELECT lease.is_stale('arbitrum', false, :token & 4294967295) AS good,
       lease.is_stale('arbitrum', false, (:token + 1) & 4294967295) AS other,
       lease.is_stale('nobody', false, 1) AS none,
       lease.is_stale('site:7', true, 17) AS newest, lease.is_stale('site:7', true, 16) AS older;

-- rights: to see, list; to end, evict
CREATE ROLE regress_lease_watcher;
CREATE ROLE regress_lease_bouncer;
CREATE ROLE regress_lease_chief;
CREATE ROLE regress_lease_monitor IN ROLE pg_monitor;
SELECT lease_allow('regress_lease_watcher', 'arbi*', '{list}');
SELECT lease_allow('regress_lease_bouncer', 'arbi*', '{evict}');
SELECT lease_allow('regress_lease_chief', '*', '{use,force}');
GRANT INSERT ON ledger TO regress_lease_watcher;
GRANT SELECT ON mine TO PUBLIC;
BEGIN;
INSERT INTO ledger VALUES (3);
INSERT INTO shard VALUES (3);
SET LOCAL ROLE regress_lease_watcher;
SELECT lease, stale, state IS NULL AS not_told FROM lease.fenced_backends;
SET LOCAL ROLE regress_lease_bouncer;
SELECT lease FROM lease.fenced_backends;
SELECT * FROM lease_evict('arbitrum');
SET LOCAL ROLE regress_lease_monitor;
SELECT lease, stale, state IS NULL AS not_told FROM lease.fenced_backends ORDER BY lease;
ROLLBACK;
SET ROLE regress_lease_watcher;
SELECT * FROM lease_evict('arbitrum');
SET ROLE regress_lease_chief;
SELECT * FROM lease_evict('arbitrum');
SET ROLE regress_lease_bouncer;
SELECT * FROM lease_evict('site:7');
SELECT status FROM lease_takeover('arbitrum', 'b', '1 hour');
SELECT lease.evict('arbitrum');
TABLE lease.fenced;
RESET ROLE;
SELECT lease_disallow('regress_lease_watcher', 'arbi*');
SELECT lease_disallow('regress_lease_bouncer', 'arbi*');
SELECT lease_disallow('regress_lease_chief', '*');
RESET pg_lease.token;
DROP VIEW mine;
DROP TABLE ledger, shard;
DROP ROLE regress_lease_watcher, regress_lease_bouncer, regress_lease_chief, regress_lease_monitor;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
