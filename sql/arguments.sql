-- For the functions that are written in SQL: what they ask of their arguments, and how they refuse.
-- What lease_drain calls is open to PUBLIC, as it only refuses; the rest is for functions that run as
-- the extension's owner.

CREATE FUNCTION lease.check_writable(function text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_writable';
COMMENT ON FUNCTION lease.check_writable(text) IS
    'Raises 25006 in the name of the function on a standby and in a read-only transaction.';

CREATE FUNCTION lease.check_name(argument text, given text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_name';
REVOKE ALL ON FUNCTION lease.check_name(text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease.check_name(text, text) IS
    'Raises 22023 unless given is a name as leases have, 22004 for NULL.';

CREATE FUNCTION lease.check_label(argument text, given text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_label';
COMMENT ON FUNCTION lease.check_label(text, text) IS
    'Raises 22023 unless given has 1 to 200 characters and no control characters, 22004 for NULL.';

CREATE FUNCTION lease.check_span(argument text, given interval) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_span';
COMMENT ON FUNCTION lease.check_span(text, interval) IS
    'Raises 22023 unless given is a whole number of milliseconds from 1 ms to 1 day, 22004 for NULL.';

CREATE FUNCTION lease.check_number(argument text, given bigint, lowest bigint, highest bigint)
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_number';
REVOKE ALL ON FUNCTION lease.check_number(text, bigint, bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease.check_number(text, bigint, bigint, bigint) IS
    'Raises 22023 unless given is from lowest to highest, 22004 for NULL.';

CREATE FUNCTION lease.check_time(argument text, given timestamptz) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_time';
REVOKE ALL ON FUNCTION lease.check_time(text, timestamptz) FROM PUBLIC;
COMMENT ON FUNCTION lease.check_time(text, timestamptz) IS
    'Raises 22023 for an infinite time, 22004 for NULL.';

CREATE FUNCTION lease.check_pairs(
    first text, first_length bigint, second text, second_length bigint) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_check_pairs';
REVOKE ALL ON FUNCTION lease.check_pairs(text, bigint, text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease.check_pairs(text, bigint, text, bigint) IS
    'Raises 22023 unless two arguments that are arrays have one length.';

CREATE FUNCTION lease.next_generation(queue text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_next_generation';
REVOKE ALL ON FUNCTION lease.next_generation(text) FROM PUBLIC;
COMMENT ON FUNCTION lease.next_generation(text) IS
    'A number from the mint, which no key of a queue has had and no token of a lease. Raises 2200H '
    'at the end of bigint.';

CREATE FUNCTION lease.begun(job text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_begun';
REVOKE ALL ON FUNCTION lease.begun(text) FROM PUBLIC;
COMMENT ON FUNCTION lease.begun(text) IS
    'This transaction began a run: it is forced to disk at its commit, whatever synchronous_commit '
    'says, and cannot be prepared (0A000).';

CREATE FUNCTION lease.refuse_run(job text, run text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_refuse_run';
REVOKE ALL ON FUNCTION lease.refuse_run(text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease.refuse_run(text, text) IS 'Raises 42704: nobody began the run.';

CREATE FUNCTION lease.refuse_claim(queue text, key text, generation bigint, worker text)
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_refuse_claim';
REVOKE ALL ON FUNCTION lease.refuse_claim(text, text, bigint, text) FROM PUBLIC;
COMMENT ON FUNCTION lease.refuse_claim(text, text, bigint, text) IS
    'Raises 55000: the claim is over. worker: who has the key now, if anybody.';

-- By names that are always the same, as functions cannot name the schema that the extension is in.

CREATE FUNCTION lease.check_fence(name text, token bigint, mode text, signature text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_fence_check';
REVOKE ALL ON FUNCTION lease.check_fence(text, bigint, text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease.check_fence(text, bigint, text, text) IS
    'lease_fence_check, for lease_work_claim.';

CREATE FUNCTION lease.shard_of(key text, shards integer) RETURNS integer
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_shard_of';
REVOKE ALL ON FUNCTION lease.shard_of(text, integer) FROM PUBLIC;
COMMENT ON FUNCTION lease.shard_of(text, integer) IS 'lease_shard_of, for lease_work_add.';
