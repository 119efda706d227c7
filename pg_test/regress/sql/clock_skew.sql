-- lease_clock_skew says how far a client's clock is off, and warns above pg_lease.max_clock_skew.
SELECT compute_now() IS NOT NULL AS library_is_loaded;
SHOW pg_lease.max_clock_skew;
CREATE FUNCTION pg_temp.rounded(interval) RETURNS text LANGUAGE sql AS
    $$ SELECT round(extract(epoch FROM $1)) || ' s' $$;
\set VERBOSITY sqlstate
-- ahead and behind, and the sign says which
SELECT pg_temp.rounded(lease_clock_skew(compute_now() + interval '1 hour'));
SELECT pg_temp.rounded(lease_clock_skew(compute_now() - interval '1 hour'));
SELECT lease_clock_skew(compute_now()) BETWEEN '-500 ms' AND '0' AS in_time;
-- less than the setting does not warn
SET pg_lease.max_clock_skew = '2h';
SELECT pg_temp.rounded(lease_clock_skew(compute_now() + interval '1 hour'));
SET pg_lease.max_clock_skew = 0;
SELECT pg_temp.rounded(lease_clock_skew(compute_now() + interval '1 hour'));
RESET pg_lease.max_clock_skew;
-- it is the database's clock that counts, with its offset
SET pg_lease.clock_offset = '1h';
SELECT pg_temp.rounded(lease_clock_skew(clock_timestamp()));
RESET pg_lease.clock_offset;
-- the ends of the calendar
SELECT lease_clock_skew('294276-12-31 23:00:00 UTC') > '290000 years' AS far_ahead;
SELECT lease_clock_skew('4713-01-02 00:00:00 UTC BC') < '-6000 years' AS far_behind;

SELECT lease_clock_skew(NULL);
SELECT lease_clock_skew('infinity');
SELECT lease_clock_skew('-infinity');
SET pg_lease.max_clock_skew = -1;
SET pg_lease.max_clock_skew = '2 weeks';
\set VERBOSITY default
SELECT lease_clock_skew(NULL);
SELECT lease_clock_skew('infinity');
