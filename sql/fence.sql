-- The fence: what a session presents, and what a resource on another server has obeyed.

CREATE FUNCTION lease_fence_check(
    name text, token bigint, mode text DEFAULT 'current', signature text DEFAULT NULL)
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_fence_check';
COMMENT ON FUNCTION lease_fence_check(text, bigint, text, text) IS
    'Raises unless the token is good; otherwise presents it for the rest of this transaction, whose '
    'commit checks it again if the transaction wrote. mode: current, live (not expired either) or '
    'newest (the newest token this database has obeyed; a higher one raises it, for roles that may '
    'execute lease_fence_raise). signature: from lease_token_sign, for guards that take signed tokens '
    'only; one that is not good is refused in any mode. Open to PUBLIC, as a check only refuses. '
    'Raises 55000 for a stale, ended or never granted token and on a standby, 42501 for a token that '
    'another role took, and for a higher one from roles that may not raise it, 55P03 when mode newest '
    'waits too long for another transaction, 22023 '
    'and 22004 for bad arguments.';

CREATE FUNCTION lease_fence_raise(name text, token bigint, signature text DEFAULT NULL)
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_fence_raise';
REVOKE ALL ON FUNCTION lease_fence_raise(text, bigint, text) FROM PUBLIC;
COMMENT ON FUNCTION lease_fence_raise(text, bigint, text) IS
    'A new holder announces itself to this database, whose guards in mode newest refuse every lower '
    'token from then on. To be called in a short transaction of its own. Raises 55000 for a token '
    'below the newest and for a signature that is not good. Without a signature, and unless the '
    'extension''s owner calls, also for a token that reads as a time over a day ahead, and for every '
    'token where a guard of the lease takes signed tokens only; 55P03 when another transaction is in the way longer than lock_timeout.';
