-- Row guards: triggers whose conditions ask the fence for each row that is written.

CREATE FUNCTION lease.guard_row(value text, prefix text, mode text, signed boolean) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_guard_row';
COMMENT ON FUNCTION lease.guard_row(text, text, text, boolean) IS
    'The condition of a row guard''s triggers: true if the transaction presents a good token of the '
    'lease prefix || value, which its commit then depends on. Open to PUBLIC, as a check only '
    'refuses. Raises 55000 for a token that is missing, stale or ended, 22004 for a row that names no '
    'lease, 22023 for one whose lease has no valid name.';

CREATE FUNCTION lease.guard_rows() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_guard_rows';
REVOKE ALL ON FUNCTION lease.guard_rows() FROM PUBLIC;
COMMENT ON FUNCTION lease.guard_rows() IS
    'The triggers of a row guard. Attach it with lease_guard only. Raises 55000 for a TRUNCATE, 39P01 '
    'when it was attached by hand in a wrong way.';

CREATE FUNCTION lease.row_guards(
    OUT relation regclass, OUT lease_column text, OUT prefix text, OUT mode text, OUT signed boolean,
    OUT enabled text, OUT trigger text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'pg_lease_row_guards';
COMMENT ON FUNCTION lease.row_guards() IS
    'Every row guard, read from its triggers as the catalog has them now: enabled as in lease.guards, '
    'partial where a trigger is missing or judges otherwise than the others.';
