-- Who is in the middle of work under which token, and ending those who can do nothing with it any more.

CREATE FUNCTION lease.lock_tag(name text) RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_lock_tag';
COMMENT ON FUNCTION lease.lock_tag(text) IS
    'The classid that pg_locks shows of locks under this lease: 32 bits of a hash of its name. Raises '
    '22023 for a bad name, 22004 for NULL.';

CREATE FUNCTION lease.is_stale(name text, newest boolean, low bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_is_stale';
COMMENT ON FUNCTION lease.is_stale(text, boolean, bigint) IS
    'Whether the token with these low 32 bits is not the one that is good now (newest: not the newest '
    'that this database has obeyed), whatever this transaction''s snapshot shows. Raises 22023 for a '
    'bad name, 22004 for NULL.';

-- Locks first, then the state of things: a token that was granted before its lock was seen is known
-- by the time that is_stale looks. A transaction that is changing who has the lease works under a
-- token that nobody else can see yet.
CREATE VIEW lease.fenced AS
WITH locks AS MATERIALIZED (
    SELECT l.pid, l.virtualtransaction, l.locktype, l.mode, l.transactionid,
           l.classid::pg_catalog.int8 AS high,
           l.objid::pg_catalog.int8 AS low,
           l.objsubid::pg_catalog.int8 AS class
    FROM pg_catalog.pg_locks AS l
    WHERE l.granted
      AND CASE l.locktype
          WHEN 'transactionid' THEN l.pid IS NULL
          WHEN 'advisory' THEN l.database OPERATOR(pg_catalog.=) (
              SELECT d.oid FROM pg_catalog.pg_database AS d
              WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
          ELSE false END
), names AS MATERIALIZED (
    SELECT l.name, l.token, 19457::pg_catalog.int8 AS class, lease.lock_tag(l.name) AS high
    FROM lease.lease AS l
    UNION ALL
    SELECT f.name, f.token, 19458, lease.lock_tag(f.name) FROM lease.fence AS f
), present AS (
    SELECT l.pid, l.virtualtransaction, l.high, l.low, l.class,
           EXISTS (
               SELECT FROM locks AS c
               WHERE c.virtualtransaction OPERATOR(pg_catalog.=) l.virtualtransaction
                 AND c.locktype OPERATOR(pg_catalog.=) 'advisory'
                 AND c.mode OPERATOR(pg_catalog.=) 'ExclusiveLock'
                 AND CASE c.class
                     WHEN 19459 THEN l.class OPERATOR(pg_catalog.=) 19457
                     ELSE c.class OPERATOR(pg_catalog.=) l.class
                          AND c.high OPERATOR(pg_catalog.=) l.high END) AS changes
    FROM locks AS l
    WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory'
      AND l.class OPERATOR(pg_catalog.=) ANY ('{19457,19458}'::pg_catalog.int8[])
      AND l.mode OPERATOR(pg_catalog.=) 'AccessShareLock'
), named AS (
    SELECT p.*, n.name, n.token AS near,
           CASE WHEN p.changes THEN false
                WHEN n.name IS NOT NULL
                THEN lease.is_stale(n.name, p.class OPERATOR(pg_catalog.=) 19458, p.low)
                END AS stale
    FROM present AS p
    LEFT JOIN names AS n ON n.class OPERATOR(pg_catalog.=) p.class
        AND n.high OPERATOR(pg_catalog.=) p.high
), told AS (
    -- of two names with one hash, the one whose token it is
    SELECT n.*, pg_catalog.bool_and(n.stale) OVER (
               PARTITION BY n.virtualtransaction, n.class, n.high, n.low) AS all_stale
    FROM named AS n
)
SELECT t.pid,
       t.name AS lease,
       CASE WHEN t.stale
            THEN t.near OPERATOR(pg_catalog.-)
                 ((t.near OPERATOR(pg_catalog.-) t.low) OPERATOR(pg_catalog.&) 4294967295)
            ELSE t.near OPERATOR(pg_catalog.+)
                 ((t.low OPERATOR(pg_catalog.-) t.near) OPERATOR(pg_catalog.&) 4294967295)
            END AS token,
       t.stale,
       COALESCE(a.xact_start, x.prepared) AS since,
       CASE WHEN t.pid IS NULL THEN 'prepared' ELSE a.state END AS state,
       a.wait_event,
       COALESCE(a.usename, x.owner)::pg_catalog.text AS role,
       a.application_name AS application,
       x.gid,
       t.virtualtransaction AS transaction, t.class, t.high, t.low
FROM told AS t
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid OPERATOR(pg_catalog.=) t.pid
LEFT JOIN locks AS m ON t.pid IS NULL AND m.locktype OPERATOR(pg_catalog.=) 'transactionid'
    AND m.virtualtransaction OPERATOR(pg_catalog.=) t.virtualtransaction
LEFT JOIN pg_catalog.pg_prepared_xacts AS x
    ON x.transaction OPERATOR(pg_catalog.=) m.transactionid
WHERE (t.pid IS NOT NULL OR x.gid IS NOT NULL)
  AND (t.stale IS NOT TRUE OR t.all_stale);
REVOKE ALL ON TABLE lease.fenced FROM PUBLIC;
COMMENT ON VIEW lease.fenced IS
    'lease.fenced_backends without the question who may list the lease, and with the tag of the lock.';

CREATE VIEW lease.fenced_backends WITH (security_barrier = true) AS
SELECT f.pid, f.lease, f.token, f.stale, f.since, f.state, f.wait_event, f.role, f.application, f.gid
FROM lease.fenced AS f
WHERE CASE WHEN f.lease IS NULL THEN pg_catalog.pg_has_role('pg_monitor', 'USAGE')
           ELSE lease.may_list(f.lease) END;
REVOKE ALL ON TABLE lease.fenced_backends FROM PUBLIC;
GRANT SELECT ON TABLE lease.fenced_backends TO PUBLIC;
COMMENT ON VIEW lease.fenced_backends IS
    'Each transaction that has written, or checked, under a token of a lease that one may list (one '
    'under more than 64: its first 64). stale: the token is not good any more, so that the commit '
    'will be refused. lease: null if it was dropped, or is being acquired for the first time; stale '
    'is then null. token: its low 32 bits are known, the rest is taken from the lease''s newest '
    'token, so after a restart that of a stale one may be too high. since: start of the transaction. '
    'state: the session''s, or prepared; then gid is its name and since when it was prepared. Null '
    'in since, state and wait_event: for roles that may not see that of the session.';

CREATE FUNCTION lease.is_present(
    pid integer, transaction text, class bigint, high bigint, low bigint) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks AS l
        WHERE l.pid = is_present.pid AND l.virtualtransaction = is_present.transaction
          AND l.locktype = 'advisory' AND l.objsubid = is_present.class
          AND l.classid::int8 = is_present.high AND l.objid::int8 = is_present.low)
$$;
REVOKE ALL ON FUNCTION lease.is_present(integer, text, bigint, bigint, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease.is_present(integer, text, bigint, bigint, bigint) IS
    'Whether this very transaction still shows that it works under this token.';

CREATE FUNCTION lease.evict(
    name text, OUT pid integer, OUT token bigint, OUT ended boolean, OUT role text,
    OUT application text, OUT state text, OUT since timestamptz, OUT gid text, OUT advice text)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    deadline CONSTANT timestamptz := clock_timestamp() + '5 s';
    pause double precision := 0.005;
    found lease.fenced[];
    one lease.fenced;
    forbidden integer[] := ARRAY[]::integer[];
    sent integer[] := ARRAY[]::integer[];
BEGIN
    found := ARRAY(
        SELECT f FROM lease.fenced AS f
        WHERE (f.lease = evict.name OR f.lease IS NULL AND f.high = lease.lock_tag(evict.name))
          AND f.pid IS DISTINCT FROM pg_backend_pid()
        ORDER BY f.since);
    FOREACH one IN ARRAY found LOOP
        -- the last look: it may have ended by itself, and its process have gone on to other work
        CONTINUE WHEN one.pid IS NULL OR one.stale IS FALSE
            OR NOT lease.is_present(one.pid, one.transaction, one.class, one.high, one.low)
            OR NOT lease.is_stale(evict.name, one.class = 19458, one.low);
        BEGIN
            PERFORM pg_terminate_backend(one.pid);
            sent := sent || one.pid;
        EXCEPTION WHEN insufficient_privilege THEN
            forbidden := forbidden || one.pid;
        END;
    END LOOP;
    WHILE clock_timestamp() < deadline
        AND EXISTS (SELECT FROM unnest(found) AS f WHERE f.pid = ANY (sent)
                    AND lease.is_present(f.pid, f.transaction, f.class, f.high, f.low))
    LOOP
        PERFORM pg_sleep(pause);
        pause := least(pause * 2, 0.1);
    END LOOP;
    FOREACH one IN ARRAY found LOOP
        CONTINUE WHEN one.pid IS NOT NULL AND one.pid <> ALL (sent) AND one.pid <> ALL (forbidden);
        pid := one.pid;
        token := one.token;
        role := one.role;
        application := one.application;
        state := one.state;
        since := one.since;
        gid := one.gid;
        ended := one.pid IS NOT NULL
            AND NOT lease.is_present(one.pid, one.transaction, one.class, one.high, one.low);
        advice := CASE
            WHEN ended THEN NULL
            WHEN one.pid IS NULL THEN format(
                'No process has it. Decide it: COMMIT PREPARED %1$L or ROLLBACK PREPARED %1$L.', one.gid)
            WHEN one.pid = ANY (forbidden) THEN format(
                'The extension''s owner may not end it. Let a superuser call '
                'pg_terminate_backend(%s).', one.pid)
            ELSE format(
                'It was told to end and has not within 5 s: its process is stopped, or hangs. Its '
                'commit is refused; what it has locked stays locked until process %s goes on or is '
                'gone.', one.pid) END;
        RETURN NEXT;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION lease.evict(text) FROM PUBLIC;
COMMENT ON FUNCTION lease.evict(text) IS 'lease_evict, once the right has been asked for.';

CREATE FUNCTION lease_evict(
    name text, OUT pid integer, OUT token bigint, OUT ended boolean, OUT role text,
    OUT application text, OUT state text, OUT since timestamptz, OUT gid text, OUT advice text)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_evict';
COMMENT ON FUNCTION lease_evict(text) IS
    'Ends the sessions whose transactions are under a token of this lease that is not good any more, '
    'with the rights of the extension''s owner; never the caller''s own, never one under the good '
    'token. Waits up to 5 s in all for them to end. A row per session: what it was, and whether it '
    'has ended; advice says what to do with one that has not. Prepared transactions under the lease '
    'are listed, and not touched. Raises 42501 without the right evict on the name, 22023 and 22004 '
    'for a bad name.';
