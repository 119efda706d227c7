-- Inside a SECURITY DEFINER function its owner's rights count, as everywhere; the lease is taken, and
-- its token presented, by the role that the session works as.
CREATE ROLE regress_lease_worker;
CREATE ROLE regress_lease_other;
CREATE ROLE regress_lease_service;
CREATE SCHEMA api AUTHORIZATION regress_lease_service;
GRANT USAGE ON SCHEMA api TO PUBLIC;
SELECT lease_allow('regress_lease_service', 'job:*');
SET ROLE regress_lease_service;
CREATE FUNCTION api.take(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER
    AS $$ SELECT token FROM public.lease_acquire(name, session_user, '1 hour') $$;
CREATE FUNCTION api.renew(name text, token bigint) RETURNS text LANGUAGE sql SECURITY DEFINER
    AS $$ SELECT status FROM public.lease_renew(name, session_user, token, '1 hour') $$;
CREATE FUNCTION api.release(name text, token bigint) RETURNS text LANGUAGE sql SECURITY DEFINER
    AS $$ SELECT status FROM public.lease_release(name, session_user, token) $$;
CREATE FUNCTION api.take_over(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER
    AS $$ SELECT token FROM public.lease_takeover(name, session_user, '1 hour') $$;
CREATE TABLE api.parent (id int PRIMARY KEY);
CREATE TABLE api.child (id int REFERENCES api.parent ON DELETE CASCADE);
GRANT ALL ON api.parent TO regress_lease_worker, regress_lease_other;
CREATE FUNCTION api.post(id int) RETURNS void LANGUAGE sql SECURITY DEFINER
    AS $$ INSERT INTO api.child VALUES (id) $$;
RESET ROLE;
SELECT guard FROM lease_guard('api.child', 'job:1');

-- rights are lent
SET ROLE regress_lease_worker;
\set VERBOSITY sqlstate
SELECT lease_acquire('job:1', 'w');
SELECT api.take('other');
SELECT api.take_over('job:1');
\set VERBOSITY default
SELECT api.take('job:1') AS t \gset
SELECT api.renew('job:1', :t);
RESET ROLE;
-- the lease is the worker's, not the service's
SELECT name, role FROM lease.status;
SET ROLE regress_lease_other;
\set VERBOSITY sqlstate
SELECT api.renew('job:1', :t);
SELECT api.release('job:1', :t);
SET ROLE regress_lease_service;
SELECT lease_renew('job:1', session_user, :t, '1 hour');
SELECT lease_fence_check('job:1', :t);
\set VERBOSITY default

-- the worker's token is good in the service's functions, and in cascades, which run as the owner of
-- the table; another's presenting it is not
SET ROLE regress_lease_worker;
SELECT set_config('pg_lease.token', 'job:1=' || :t, false) AS presented \gset
INSERT INTO api.parent VALUES (1), (2);
SELECT api.post(1);
SELECT api.post(2);
DELETE FROM api.parent WHERE id = 1;
SET ROLE regress_lease_other;
\set VERBOSITY sqlstate
SELECT api.post(2);
DELETE FROM api.parent;
\set VERBOSITY default
RESET ROLE;
SELECT count(*) FROM api.child;

-- the table's maintenance by a superuser runs the owner's code with the owner's rights and role
CREATE ROLE regress_lease_owner;
SELECT lease_allow('regress_lease_owner', 'job:*');
CREATE SCHEMA trap AUTHORIZATION regress_lease_owner;
SET ROLE regress_lease_owner;
SELECT set_config('trap.token', :'t', false) AS known \gset
CREATE TABLE trap.t (id int);
INSERT INTO trap.t VALUES (1);
CREATE FUNCTION trap.renew(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.lease_renew('job:1', session_user, current_setting('trap.token')::bigint, '1 day');
    RETURN 1;
END $$;
CREATE FUNCTION trap.present(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    PERFORM public.lease_fence_check('job:1', current_setting('trap.token')::bigint);
    RETURN 1;
END $$;
CREATE FUNCTION trap.nothing(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE INDEX i ON trap.t (trap.nothing(id));
CREATE OR REPLACE FUNCTION trap.nothing(int) RETURNS int IMMUTABLE LANGUAGE sql
    AS 'SELECT trap.renew(1)';
RESET ROLE;
REINDEX TABLE trap.t;
SET ROLE regress_lease_owner;
CREATE OR REPLACE FUNCTION trap.nothing(int) RETURNS int IMMUTABLE LANGUAGE sql
    AS 'SELECT trap.present(1)';
RESET ROLE;
REINDEX TABLE trap.t;

SET client_min_messages = warning;
DROP SCHEMA trap, api CASCADE;
RESET client_min_messages;
RESET pg_lease.token;
DELETE FROM lease.lease;
SELECT lease_disallow(role, pattern) FROM lease.access ORDER BY role;
DROP ROLE regress_lease_worker, regress_lease_other, regress_lease_service, regress_lease_owner;
