-- What has happened since the server started, counted where the library is preloaded.

CREATE FUNCTION lease.count_events(
    OUT name text, OUT grants bigint, OUT takeovers bigint, OUT renewals bigint,
    OUT releases bigint, OUT held bigint, OUT busy bigint, OUT quiet bigint, OUT stalled bigint,
    OUT lost bigint, OUT refused_at_statement bigint, OUT refused_at_commit bigint,
    OUT waits bigint, OUT since timestamptz, OUT note text)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_count_events';
REVOKE ALL ON FUNCTION lease.count_events() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lease.count_events() TO pg_monitor;
COMMENT ON FUNCTION lease.count_events() IS
    'The rows of lease.counters. Open to members of pg_monitor.';

CREATE VIEW lease.counters AS SELECT * FROM lease.count_events();
REVOKE ALL ON TABLE lease.counters FROM PUBLIC;
GRANT SELECT ON TABLE lease.counters TO pg_monitor;
COMMENT ON VIEW lease.counters IS
    'What was counted in this database since the server started (since): a row with a null name for '
    'all leases, and one for each of those that were busy last, at most 1,024 in the server. Events '
    'count when they happen, whether or not their transaction commits. Without pg_lease in '
    'shared_preload_libraries there is one row of nulls, and note says why.';
