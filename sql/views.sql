-- What people look at.

-- A barrier, so that no condition of the caller's sees a lease before may_list has been asked.
CREATE VIEW lease.status WITH (security_barrier = true) AS
SELECT l.name,
       CASE WHEN l.owner IS NULL THEN 'free'
            WHEN l.home OPERATOR(pg_catalog.<>) h.home THEN 'void'
            WHEN l.expires_at OPERATOR(pg_catalog.>) n.now THEN 'held'
            WHEN q.until OPERATOR(pg_catalog.>) n.now THEN 'quiet'
            ELSE 'expired' END AS state,
       l.owner,
       l.token,
       l.acquisitions,
       l.expires_at,
       CASE WHEN l.expires_at OPERATOR(pg_catalog.>) n.now
            THEN l.expires_at OPERATOR(pg_catalog.-) n.now END AS remaining,
       l.since,
       CASE WHEN l.owner IS NOT NULL AND l.home OPERATOR(pg_catalog.=) h.home
            THEN pg_catalog.pg_get_userbyid(l.role) END AS role,
       q.until AS quiet_until,
       l.progress,
       l.moved_at,
       l.moved_at OPERATOR(pg_catalog.+) pg_catalog.make_interval(
           secs => l.stall_ms OPERATOR(pg_catalog./) 1000.0) AS stalls_at
FROM lease.lease AS l
CROSS JOIN (SELECT lease.clock() AS now OFFSET 0) AS n
CROSS JOIN (SELECT lease.home() AS home OFFSET 0) AS h
CROSS JOIN LATERAL (
    SELECT l.expires_at OPERATOR(pg_catalog.+) pg_catalog.make_interval(
        secs => l.quiet_ms OPERATOR(pg_catalog./) 1000.0) AS until) AS q
WHERE lease.may_list(l.name);
REVOKE ALL ON TABLE lease.status FROM PUBLIC;
GRANT SELECT ON TABLE lease.status TO PUBLIC;
COMMENT ON VIEW lease.status IS
    'Every lease that one may list (members of pg_monitor: all): state is held, expired (nobody took it yet: its holder''s writes still pass), quiet '
    '(the same, and nobody gets it before quiet_until), free (released) or void (granted in another copy '
    'of this database). remaining: time to the expiry. since: when ownership last changed. role: the '
    'role that took it. quiet_until: the end of its quiet period, if it expires as it stands. progress, '
    'moved_at: what its holder said last of its work, and when that last changed. stalls_at: from then '
    'on only a renewal that moves progress is granted.';

CREATE VIEW lease.guards AS
SELECT t.tgrelid::pg_catalog.regclass AS relation,
       pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 1) AS lease,
       NULL::pg_catalog.text AS lease_column,
       NULL::pg_catalog.text AS prefix,
       pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 2) AS mode,
       t.tgnargs OPERATOR(pg_catalog.>) 2::pg_catalog.int2 AS signed,
       CASE WHEN t.tgtype OPERATOR(pg_catalog.<>) 62::pg_catalog.int2
                OR t.tgqual IS NOT NULL
                OR COALESCE(pg_catalog.array_length(t.tgattr::pg_catalog.int2[], 1), 0)
                    OPERATOR(pg_catalog.>) 0
            THEN 'partial'
            WHEN t.tgenabled OPERATOR(pg_catalog.=) 'A'::pg_catalog."char" THEN 'always'
            WHEN t.tgenabled OPERATOR(pg_catalog.=) 'O'::pg_catalog."char" THEN 'origin'
            WHEN t.tgenabled OPERATOR(pg_catalog.=) 'R'::pg_catalog."char" THEN 'replica'
            ELSE 'disabled' END AS enabled,
       t.tgname AS trigger
FROM pg_catalog.pg_trigger AS t
WHERE t.tgfoid OPERATOR(pg_catalog.=) 'lease.guard_writes()'::pg_catalog.regprocedure::pg_catalog.oid
UNION ALL
SELECT r.relation, NULL, r.lease_column, r.prefix, r.mode, r.signed, r.enabled, r.trigger::pg_catalog.name
FROM lease.row_guards() AS r;
REVOKE ALL ON TABLE lease.guards FROM PUBLIC;
GRANT SELECT ON TABLE lease.guards TO PUBLIC;
COMMENT ON VIEW lease.guards IS
    'Every guard, read from the triggers themselves: enabled is always, origin (off under '
    'session_replication_role = replica), replica, disabled, or partial (made by hand, and does '
    'not fire before every statement that writes; or a row guard with a trigger that is missing or '
    'another). A row guard has a lease_column and a prefix instead of a lease.';

CREATE VIEW lease.keys AS
SELECT k.public_key,
       CASE WHEN k.home OPERATOR(pg_catalog.<>) lease.home() THEN 'void'
            WHEN EXISTS (
                SELECT FROM lease.key AS older
                WHERE older.home OPERATOR(pg_catalog.=) k.home
                    AND ROW(older.made_at, older.public_key)
                        OPERATOR(pg_catalog.<) ROW(k.made_at, k.public_key)) THEN 'waits'
            ELSE 'signs' END AS state,
       NULL::pg_catalog.text AS pattern,
       k.made_at AS since
FROM lease.key AS k
UNION ALL
SELECT t.public_key, 'trusted', t.pattern, t.since FROM lease.trusted_key AS t;
REVOKE ALL ON TABLE lease.keys FROM PUBLIC;
GRANT SELECT ON TABLE lease.keys TO pg_monitor;
COMMENT ON VIEW lease.keys IS
    'The public halves of keys: state is signs (tokens granted here are signed with it), waits (made '
    'here, until lease_key_use), void (made in another copy of this database) or trusted (signatures '
    'of leases that match the pattern are good here). since: when it was made, or first trusted.';

CREATE VIEW lease.access AS
SELECT COALESCE(r.rolname::pg_catalog.text, a.role_name) AS role,
       a.pattern,
       pg_catalog.array_agg(DISTINCT a."right") AS rights,
       pg_catalog.bool_or(r.oid IS NOT NULL) AS role_exists
FROM lease.allowed AS a
CROSS JOIN (SELECT lease.home() AS home OFFSET 0) AS h
LEFT JOIN pg_catalog.pg_roles AS r ON
    CASE WHEN a.home OPERATOR(pg_catalog.=) h.home
         THEN r.oid OPERATOR(pg_catalog.=) a.role
         ELSE r.rolname::pg_catalog.text OPERATOR(pg_catalog.=) a.role_name END
GROUP BY 1, 2;
REVOKE ALL ON TABLE lease.access FROM PUBLIC;
GRANT SELECT ON TABLE lease.access TO PUBLIC;
COMMENT ON VIEW lease.access IS
    'What lease_allow has opened: role, pattern, rights. role_exists: false for a role that was '
    'dropped, or that is missing in this copy of the database, and for which the line opens nothing.';

-- Last of all, so that it does not fire for the statements of this script.
CREATE EVENT TRIGGER pg_lease_cover ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE',
                 'IMPORT FOREIGN SCHEMA', 'CREATE SCHEMA')
    EXECUTE FUNCTION lease.cover_changed_tables();
ALTER EVENT TRIGGER pg_lease_cover ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER pg_lease_cover IS
    'Guards what is created under, or attached to, a guarded table. Dropping or detaching is the '
    'table owner''s and is not fenced.';
