-- A role may do what lease_allow has opened to it, on the names that a pattern covers: acquiring,
-- renewing and releasing with use, taking over and dropping with force; it sees what it has any right on.
CREATE ROLE regress_lease_worker;
CREATE ROLE regress_lease_fleet;
CREATE ROLE "Regress lease's chief";
CREATE ROLE regress_lease_operator;
SELECT lease_allow('regress_lease_worker', 'shard:*');
SELECT lease_allow('regress_lease_worker', 'leader', '{list}');
SELECT lease_allow('regress_lease_operator', '*', '{force}');
SELECT role, pattern, rights, role_exists FROM lease.access ORDER BY 1, 2;
SELECT status FROM lease_acquire('leader', 'a', '1 hour');
SELECT status FROM lease_acquire('secret', 'a', '1 hour');
SELECT token AS secret FROM lease.status WHERE name = 'secret' \gset
SET ROLE regress_lease_worker;
SELECT status, token AS t FROM lease_acquire('shard:7', 'w') \gset
SELECT status FROM lease_acquire('shard:', 'w');
SELECT status FROM lease_renew('shard:7', 'w', :t, '1 hour');
SELECT status FROM lease_renew_many('{shard:7}', 'w', ARRAY[:t], '1 hour');
SELECT status FROM lease_acquire_many('{shard:8,shard:9}', 'w', '1 hour');
SELECT status FROM lease_release('shard:', 'w', 1);
-- all other names are refused, before anything is locked or written
SELECT lease_acquire('shard', 'w');
SELECT lease_acquire('leader', 'w');
\set VERBOSITY sqlstate
SELECT lease_acquire('Shard:7', 'w');
SELECT lease_acquire_many('{shard:10,other}', 'w');
SELECT lease_renew('secret', 'a', :secret, '1 hour');
SELECT lease_renew_many('{shard:7,secret}', 'w', ARRAY[:t, :secret], '1 hour');
SELECT lease_release('secret', 'a', :secret);
SELECT lease_takeover('shard:7', 'w', '1 hour');
SELECT lease_drop('shard:');
SELECT lease_drop('nothing');
\set VERBOSITY default
-- shown is what one may list, and no condition of one's own looks behind that
SELECT name, owner, role FROM lease.status ORDER BY name;
CREATE FUNCTION pg_temp.peek(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001
    AS 'BEGIN RAISE NOTICE ''%'', $1; RETURN true; END';
SELECT count(*) AS seen FROM lease.status WHERE pg_temp.peek(name);
DROP FUNCTION pg_temp.peek;
SELECT count(*) AS secret FROM lease.status WHERE name = 'secret';
-- nor do refusals tell
SELECT lease_fence_check('secret', 1);
DO $$
DECLARE
    told text;
BEGIN
    PERFORM lease_fence_check('leader', 1);
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    GET STACKED DIAGNOSTICS told = PG_EXCEPTION_DETAIL;
    RAISE NOTICE '%', substring(told FOR 17);
END $$;
RESET ROLE;
SELECT count(*) AS shard_10 FROM lease.lease WHERE name = 'shard:10';
-- force is a right of its own
SET ROLE regress_lease_operator;
SELECT status FROM lease_takeover('shard:7', 'ops', '1 hour', 'drill');
\set VERBOSITY sqlstate
SELECT lease_acquire('shard:7', 'ops');
SELECT lease_drop('shard:7');
\set VERBOSITY default
SELECT count(*) AS all_of_them FROM lease.status;
RESET ROLE;
UPDATE lease.lease SET expires_at = '2020-01-01' WHERE name IN ('shard:', 'shard:7');
SET ROLE regress_lease_operator;
SELECT lease_drop('shard:');
RESET ROLE;
-- members have their role's rights, from the next call on, until they are taken away
SELECT lease_allow('regress_lease_fleet', 'fleet:*', '{use,force}');
SET ROLE regress_lease_worker;
SELECT status FROM lease_acquire('fleet:1', 'w');
RESET ROLE;
GRANT regress_lease_fleet TO regress_lease_worker;
SET ROLE regress_lease_worker;
SELECT status FROM lease_acquire('fleet:1', 'w');
RESET ROLE;
SELECT lease_disallow('regress_lease_fleet', 'fleet:*', '{use}');
SET ROLE regress_lease_worker;
SELECT lease_acquire('fleet:2', 'w');
SELECT status FROM lease_takeover('fleet:2', 'w', '1 hour');
RESET ROLE;
REVOKE regress_lease_fleet FROM regress_lease_worker;
SET ROLE regress_lease_worker;
SELECT lease_takeover('fleet:2', 'w', '1 hour');
RESET ROLE;
-- what is rolled back was never allowed
BEGIN;
SELECT lease_allow('regress_lease_worker', 'later');
SET LOCAL ROLE regress_lease_worker;
SELECT status FROM lease_acquire('later', 'w');
ROLLBACK;
SET ROLE regress_lease_worker;
SELECT lease_acquire('later', 'w');
RESET ROLE;
-- allowing adds, and names are taken as they are
SELECT lease_allow('Regress lease''s chief', 'a', '{list,list}');
SELECT lease_allow('Regress lease''s chief', 'a', '{force}');
SELECT lease_allow('Regress lease''s chief', 'a', '{force}');
SELECT pattern, rights FROM lease.access WHERE role ~ '^Reg';
SELECT lease_disallow('Regress lease''s chief', 'a');
SELECT count(*) FROM lease.access WHERE role ~ '^Reg';
-- bad arguments
SELECT lease_disallow('Regress lease''s chief', 'a');
SELECT lease_allow('regress_lease_nobody', '*');
SELECT lease_allow('REGRESS_LEASE_WORKER', '*');
SELECT lease_allow('public', '*');
SELECT lease_allow('regress_lease_worker', 'shard:?');
SELECT lease_allow('regress_lease_worker', '*', '{steal}');
\set VERBOSITY sqlstate
SELECT lease_allow('regress_lease_worker', '');
SELECT lease_allow('regress_lease_worker', 'a*b');
SELECT lease_allow('regress_lease_worker', repeat('x', 201) || '*');
SELECT lease_allow('regress_lease_worker', '*', '{}');
SELECT lease_allow('regress_lease_worker', '*', '{use,NULL}');
SELECT lease_allow(NULL, '*');
SELECT lease_allow('regress_lease_worker', NULL);
SELECT lease_allow('regress_lease_worker', '*', NULL);
SELECT lease_disallow('regress_lease_worker', 'shard:*', '{}');
SELECT lease_disallow(NULL, '*');
SELECT lease.may_list(NULL);
SELECT lease.may_list('a b');
BEGIN READ ONLY;
SELECT lease_allow('regress_lease_worker', '*');
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_disallow('regress_lease_worker', 'shard:*');
ROLLBACK;
\set VERBOSITY default
DELETE FROM lease.lease;
DROP ROLE regress_lease_worker, regress_lease_fleet, "Regress lease's chief", regress_lease_operator;
-- a role that is dropped leaves nothing behind for the next one of its name
SELECT role, pattern, role_exists FROM lease.access ORDER BY 1, 2;
CREATE ROLE regress_lease_worker;
SELECT role, pattern, role_exists FROM lease.access ORDER BY 1, 2;
SET ROLE regress_lease_worker;
SELECT lease_acquire('shard:7', 'w');
RESET ROLE;
SELECT lease_allow('regress_lease_worker', 'x');
SELECT role, pattern, role_exists FROM lease.access ORDER BY 1, 2;
-- one that is renamed keeps what it was allowed
ALTER ROLE regress_lease_worker RENAME TO regress_lease_renamed;
SET ROLE regress_lease_renamed;
SELECT status FROM lease_acquire('x', 'w');
RESET ROLE;
CREATE ROLE regress_lease_worker;
SET ROLE regress_lease_worker;
SELECT lease_acquire('x', 'w');
RESET ROLE;
SELECT role, pattern, role_exists FROM lease.access ORDER BY 1, 2;
SELECT lease_disallow('regress_lease_worker', 'x');
SELECT lease_disallow('regress_lease_renamed', 'x');
DELETE FROM lease.lease;
DROP ROLE regress_lease_worker, regress_lease_renamed;
-- what is left of dropped roles goes with the next change; the superuser can take it away
DELETE FROM lease.allowed;
