-- Who may do what. The lease functions are open to PUBLIC: each call asks lease.allowed.

CREATE FUNCTION lease_allow(role text, pattern text, rights text[] DEFAULT '{use}')
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_allow';
REVOKE ALL ON FUNCTION lease_allow(text, text, text[]) FROM PUBLIC;
COMMENT ON FUNCTION lease_allow(text, text, text[]) IS
    'Allows a role, and its members, these rights on the leases whose names the pattern covers: a name, '
    'the beginning of names followed by *, or *. rights: use (acquire, renew, release), force '
    '(takeover, drop), evict (end sessions under an old token), list (see in lease.status; comes with '
    'every other right). Adds to what was allowed before. Raises 42704 for an unknown role, 22023 and 22004 for bad arguments, 25006 on a '
    'standby or in a read-only transaction.';

CREATE FUNCTION lease_disallow(role text, pattern text, rights text[] DEFAULT NULL)
    RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_disallow';
REVOKE ALL ON FUNCTION lease_disallow(text, text, text[]) FROM PUBLIC;
COMMENT ON FUNCTION lease_disallow(text, text, text[]) IS
    'Takes back what lease_allow has allowed the role on this very pattern: these rights, or all. '
    'Leases that the role has stay its own until they expire. Raises 42704 if there is nothing to '
    'take back, others as lease_allow.';

CREATE FUNCTION lease.may_list(name text) RETURNS boolean
    LANGUAGE c STABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_may_list';
COMMENT ON FUNCTION lease.may_list(text) IS
    'Whether the current role may see this lease in lease.status. Raises 22023 for a bad name, 22004 '
    'for NULL.';
