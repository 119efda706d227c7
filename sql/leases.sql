-- Leases. Each call asks lease.allowed whether the role may do this with that name.

CREATE FUNCTION lease_acquire(
    name text, owner text, ttl interval DEFAULT '15 s', keep_token text DEFAULT 'while_live',
    wait interval DEFAULT '0', stall_after interval DEFAULT NULL, quiet_period interval DEFAULT '0')
    RETURNS lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_acquire';
COMMENT ON FUNCTION lease_acquire(text, text, interval, text, interval, interval, interval) IS
    'Takes a lease that is free, expired or the caller''s own. Status granted (a new token), renewed '
    '(the caller''s own token goes on), held (by another: nothing was changed), busy (another session '
    'is changing it right now), quiet (it has expired, and its quiet period is not over), stalled (it '
    'is the caller''s own and its progress stands still: it was not extended). keep_token: while_live (a lapsed lease gets a new token), while_owner '
    '(the same owner keeps its token even after a lapse), never. A lease is the caller''s own if the '
    'owner and the role are those that took it. wait (0 to 1 day): for so long it waits in a queue, '
    'first come, first served, and raises 55P03 when that is over, 55000 in a transaction that has '
    'written, holds a lease, has presented a token, or keeps a snapshot. stall_after: a renewal is refused when progress has '
    'not moved for that long; null: never. quiet_period: after an expiry nobody gets a new token for '
    'that long. Raises 42501 without the right use on the name, 22023 '
    'for a bad argument, 22004 for NULL, 55P03 when a commit under the old token does not end within '
    'lock_timeout, 25006 on a standby or in a read-only transaction, 2200H at the end of bigint.';

CREATE FUNCTION lease_acquire_many(
    names text[], owner text, ttl interval DEFAULT '15 s', keep_token text DEFAULT 'while_live')
    RETURNS SETOF lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_acquire_many';
COMMENT ON FUNCTION lease_acquire_many(text[], text, interval, text) IS
    'lease_acquire for up to 1,000 names, a row per element of names, in their order. Locks are taken '
    'in one global order, so batches never deadlock. Errors as lease_acquire.';

CREATE FUNCTION lease_renew(
    name text, owner text, token bigint, ttl interval, progress bigint DEFAULT NULL)
    RETURNS lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_renew';
COMMENT ON FUNCTION lease_renew(text, text, bigint, interval, bigint) IS
    'Extends the caller''s own lease to a full ttl from now, also after a lapse that nobody used; the '
    'token stays. Never creates a row, never takes a lease back. progress: any number that changes '
    'while the work goes on, for leases acquired with stall_after. Raises 42501 when '
    'another role took it, or without the right use on the name, 55000 when the lease was lost, or '
    'is stalled (its progress has not moved for stall_after, nor does it now), 55P03 when another session keeps its row locked longer than lock_timeout (5 s where that '
    'is 0), 22023, 22004 and 25006 as lease_acquire.';

CREATE FUNCTION lease_renew_many(
    names text[], owner text, tokens bigint[], ttl interval, progress bigint[] DEFAULT NULL)
    RETURNS SETOF lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_renew_many';
COMMENT ON FUNCTION lease_renew_many(text[], text, bigint[], interval, bigint[]) IS
    'lease_renew for up to 1,000 leases, a row per element of names. One that is lost, stalled or busy '
    '(another session holds its row right now) never holds up or fails the others. progress has an '
    'element per name, null where there is none. Raises 42501 as lease_renew, for the whole call.';

CREATE FUNCTION lease_release(name text, owner text, token bigint)
    RETURNS lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_release';
COMMENT ON FUNCTION lease_release(text, text, bigint) IS
    'Gives the caller''s own lease back at once. Status released, or not_held and nothing changed. '
    'The token ends: guards refuse it from then on. Raises 42501 when another role took it, or '
    'without the right use on the name, 55P03 when a commit under the token does '
    'not end within lock_timeout, 22023, 22004 and 25006 as lease_acquire.';

CREATE FUNCTION lease_takeover(
    name text, owner text, ttl interval, reason text DEFAULT NULL)
    RETURNS lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_takeover';
COMMENT ON FUNCTION lease_takeover(text, text, interval, text) IS
    'Takes a lease whoever holds it, at once, always with a new token: for operators, and where the '
    'last to say hello wins. The reason goes to the server''s log. Raises 42501 without the '
    'right force on the name, 55P03 when another '
    'takeover or a commit under the old token does not end within lock_timeout (5 s where that is '
    '0), others as lease_acquire.';

CREATE FUNCTION lease_drop(name text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_drop';
COMMENT ON FUNCTION lease_drop(text) IS
    'Forgets a lease that is free or expired and guards no table. Its tokens never come again. Raises '
    '42501 without the right force on the name, 42704 for an unknown lease, 55P03 for one that is held, in its quiet period or busy, 55000 for one that guards tables.';

CREATE FUNCTION lease_void_all() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_void_all';
REVOKE ALL ON FUNCTION lease_void_all() FROM PUBLIC;
COMMENT ON FUNCTION lease_void_all() IS
    'Ends all leases, as if each had been released, and returns how many: for the operator, after a '
    'point-in-time recovery or a restore into the same database. Raises 55P03 when open transactions '
    'that use leases do not end within lock_timeout (5 s where that is 0), 25006 on a standby or in a '
    'read-only transaction.';
