-- One clock, the database's.

CREATE FUNCTION compute_now() RETURNS timestamptz
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_now';
COMMENT ON FUNCTION compute_now() IS
    'The clock that leases are judged by: the server''s, read at the call, plus pg_lease.clock_offset.';

CREATE FUNCTION lease_clock_skew(client_now timestamptz) RETURNS interval
    LANGUAGE c VOLATILE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_clock_skew';
COMMENT ON FUNCTION lease_clock_skew(timestamptz) IS
    'How far client_now is ahead of the database''s clock (negative: behind). More than '
    'pg_lease.max_clock_skew also raises a WARNING. Raises 22004 for NULL, 22023 for infinity.';

-- For views and functions of ours, which cannot name the schema that the extension is in: the script's
-- word for it is refused by the server where the name has a quote in it.
CREATE FUNCTION lease.clock() RETURNS timestamptz
    LANGUAGE c VOLATILE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_now';
COMMENT ON FUNCTION lease.clock() IS 'compute_now() by a name that is always the same.';
