-- Tables, guards and what concerns all leases are closed to everybody but the extension's owner; the
-- lease functions are open, and refuse every name until lease_allow has opened it; checks are open, as
-- they only refuse.
CREATE ROLE regress_lease_plain;
CREATE ROLE regress_lease_worker;
CREATE ROLE regress_lease_watcher IN ROLE pg_monitor;
CREATE TABLE ledger (id int);
CREATE TABLE own (id int);
ALTER TABLE own OWNER TO regress_lease_plain;
GRANT INSERT ON ledger TO PUBLIC;
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'a', '1 hour') \gset
-- what PUBLIC may call
SELECT p.oid::regprocedure AS open_to_public
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
WHERE e.extname = 'pg_lease' AND has_function_privilege('regress_lease_plain', p.oid, 'EXECUTE')
ORDER BY p.proname;
-- and read
SELECT c.oid::regclass AS readable
FROM pg_class c WHERE c.relnamespace = 'lease'::regnamespace AND c.relkind IN ('r', 'v', 'S')
AND has_table_privilege('regress_lease_plain', c.oid, 'SELECT') ORDER BY 1;
\set VERBOSITY sqlstate
SET ROLE regress_lease_plain;
SELECT lease_acquire('l', 'a');
SELECT lease_acquire_many('{l}', 'a');
SELECT lease_renew('l', 'a', :token, '1 s');
SELECT lease_renew_many('{l}', 'a', ARRAY[:token], '1 s');
SELECT lease_release('l', 'a', :token);
SELECT lease_takeover('l', 'b', '1 s');
SELECT lease_drop('l');
SELECT lease_void_all();
SELECT lease_allow('regress_lease_plain', '*');
SELECT lease_disallow('regress_lease_plain', '*');
SELECT lease_fence_raise('l', 1);
SELECT lease_guard('own', 'l');
SELECT lease_unguard('own');
SELECT lease.cover('own'::regclass, NULL);
SELECT lease.cover_changed_tables();
TABLE lease.lease;
TABLE lease.fence;
TABLE lease.allowed;
TABLE lease.access;
TABLE lease.status;
SELECT last_value FROM lease.token;
SELECT nextval('lease.token');
SELECT setval('lease.token', 1);
SELECT nextval('lease.incarnations');
SELECT setval('lease.seal', 1);
UPDATE lease.lease SET token = 1;
INSERT INTO lease.lease VALUES (1);
DELETE FROM lease.fence;
INSERT INTO lease.allowed VALUES (lease.home(), 'regress_lease_plain'::regrole, '', '*', 'force');
CREATE TABLE lease.mine (id int);
-- the clock, the guards and a check need no right on any of this
SELECT compute_now() IS NOT NULL AS now, lease_clock_skew(compute_now()) < '1 min' AS skew;
SELECT relation, lease FROM lease.guards;
SELECT lease_fence_check('l', :token - 1);
INSERT INTO ledger VALUES (2);
-- but not somebody else's token
SELECT lease_fence_check('l', :token);
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
RESET pg_lease.token;
RESET ROLE;

-- lease_allow is all that a worker needs, and EXECUTE what a mover or an operator needs
SELECT lease_allow('regress_lease_worker', '*', '{use,force}');
GRANT EXECUTE ON FUNCTION lease_void_all, lease_fence_raise TO regress_lease_worker;
SET ROLE regress_lease_worker;
SELECT status FROM lease_acquire('m', 'w', '1 hour');
SELECT status FROM lease_acquire('m', 'w', '1 hour', 'never');
SELECT status FROM lease_acquire_many('{m,n}', 'w');
SELECT token AS m FROM lease_takeover('m', 'w2', '1 hour') \gset
SELECT status FROM lease_renew('m', 'w2', :m, '1 hour');
SELECT status FROM lease_renew_many('{m}', 'w2', ARRAY[:m], '1 hour');
SELECT status FROM lease_release('m', 'w2', :m);
SELECT lease_drop('m');
SELECT lease_fence_raise('site:7', 17);
SELECT lease_fence_check('site:7', 18, 'newest');
SELECT lease_void_all();
TABLE lease.lease;
RESET ROLE;
SET ROLE regress_lease_watcher;
SELECT name, state FROM lease.status ORDER BY name;
TABLE lease.lease;
RESET ROLE;

DROP TABLE ledger, own;
REVOKE EXECUTE ON FUNCTION lease_void_all, lease_fence_raise FROM regress_lease_worker;
SELECT lease_disallow('regress_lease_worker', '*');
DROP ROLE regress_lease_plain, regress_lease_worker, regress_lease_watcher;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
