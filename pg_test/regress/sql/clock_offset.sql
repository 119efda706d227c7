-- pg_lease.clock_offset moves the clock that leases are judged by; only a superuser may set it.
CREATE ROLE regress_lease_plain LOGIN;
SELECT compute_now() IS NOT NULL AS library_is_loaded;
SHOW pg_lease.clock_offset;
SET pg_lease.clock_offset = '1h';
SELECT compute_now() - clock_timestamp() BETWEEN '59 min' AND '60 min' AS ahead;
SET pg_lease.clock_offset = '-1d';
SELECT clock_timestamp() - compute_now() BETWEEN '86399 s' AND '86400 s' AS behind;
SET pg_lease.clock_offset = 1500;
SHOW pg_lease.clock_offset;
RESET pg_lease.clock_offset;
SELECT clock_timestamp() - compute_now() < '1 s' AS back;
-- far away, it neither wraps nor fails
SET pg_lease.clock_offset = '10000d';
SELECT compute_now() > now() + interval '9999 days' AS far_ahead;
SET pg_lease.clock_offset = '-365000d';
SELECT compute_now() < now() - interval '990 years' AS far_behind;
\set VERBOSITY sqlstate
SET pg_lease.clock_offset = '1000000d';
SET pg_lease.clock_offset = 'soon';
RESET pg_lease.clock_offset;

SET ROLE regress_lease_plain;
SET pg_lease.clock_offset = '1h';
SELECT set_config('pg_lease.clock_offset', '1h', true);
RESET ROLE;
SHOW pg_lease.clock_offset;
-- also in a session that has not loaded the library yet: what a plain role says there is dropped
\c - regress_lease_plain
SET pg_lease.clock_offset = '1h';
SET client_min_messages = error;
SELECT clock_timestamp() - compute_now() < '1 s' AS unmoved;
SHOW pg_lease.clock_offset;
\c - postgres
DROP ROLE regress_lease_plain;
