-- The fence: what a session presents, and what a resource on another server has obeyed.

CREATE FUNCTION lease_fence_check(name text, token bigint, mode text DEFAULT 'current')
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_fence_check';
COMMENT ON FUNCTION lease_fence_check(text, bigint, text) IS
    'Raises unless the token is good; otherwise presents it for the rest of this transaction, whose '
    'commit checks it again if the transaction wrote. mode: current, live (not expired either) or '
    'newest (the newest token this database has obeyed; a higher one raises it, for roles that may '
    'execute lease_fence_raise). Open to PUBLIC, as a check only refuses. '
    'Raises 55000 for a stale, ended or never granted token and on a standby, 42501 for a higher '
    'token from other roles, 55P03 when mode newest waits too long for another transaction, 22023 '
    'and 22004 for bad arguments.';

CREATE FUNCTION lease_fence_raise(name text, token bigint) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_fence_raise';
REVOKE ALL ON FUNCTION lease_fence_raise(text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease_fence_raise(text, bigint) IS
    'A new holder announces itself to this database, whose guards in mode newest refuse every lower '
    'token from then on. To be called in a short transaction of its own. Raises 55000 for a token '
    'below the newest, and for one that reads as a time over a day ahead unless the extension''s '
    'owner calls; 55P03 when another transaction is in the way longer than lock_timeout.';
