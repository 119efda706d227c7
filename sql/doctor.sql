-- lease_doctor: what is wrong, one function for each part of the whole. They are plain queries that
-- write nothing; each finding has a word that stays the same, for those who count them.

CREATE TYPE lease.finding AS (
    severity text,
    finding  text,
    subject  text,
    problem  text,
    advice   text
);
COMMENT ON TYPE lease.finding IS
    'severity: critical (a guard does not guard, or nobody can get on), warning (will become so, or '
    'is somewhere else), info. finding: a word for the kind. subject: what it is about. problem: what '
    'is wrong. advice: what to do.';

-- What lease_guard has made, so that the doctor knows what is missing. It decides nothing: the
-- triggers do. Names are those at the time, by which a table is found again that has taken another's
-- place, and by which the rows count in a copy, where OIDs stand for others.
CREATE TABLE lease.guarded (
    home        bigint  NOT NULL,
    relation    oid     NOT NULL,
    always      boolean NOT NULL,
    schema_name text COLLATE "C" NOT NULL,
    table_name  text COLLATE "C" NOT NULL,
    trigger     text COLLATE "C" NOT NULL,
    guard       text COLLATE "C" NOT NULL,
    CONSTRAINT guarded_pkey PRIMARY KEY (home, relation, trigger)
);
REVOKE ALL ON TABLE lease.guarded FROM PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('lease.guarded', '');

COMMENT ON TABLE lease.guarded IS
    'Every guard that was made and not taken off with lease_unguard, for lease_doctor alone.';
COMMENT ON COLUMN lease.guarded.home IS
    'Hash of the database in which the table has this OID: in any other database its name counts.';
COMMENT ON COLUMN lease.guarded.relation IS 'The table, where home is this database''s.';
COMMENT ON COLUMN lease.guarded.always IS 'Whether it was ENABLE ALWAYS.';
COMMENT ON COLUMN lease.guarded.schema_name IS 'The table''s schema when it was guarded.';
COMMENT ON COLUMN lease.guarded.table_name IS 'The table''s name when it was guarded.';
COMMENT ON COLUMN lease.guarded.trigger IS 'The name of the guard''s trigger.';
COMMENT ON COLUMN lease.guarded.guard IS 'Of what, in words: a lease.';

CREATE VIEW lease.guards_known AS
SELECT g.relation::pg_catalog.oid AS relation, g.trigger::pg_catalog.text AS trigger,
       g.enabled, COALESCE(g.lease, g.trigger::pg_catalog.text) AS guard
FROM lease.guards AS g;
REVOKE ALL ON TABLE lease.guards_known FROM PUBLIC;
COMMENT ON VIEW lease.guards_known IS 'lease.guards, in the words of lease.guarded.';

-- Tables that were dropped, and whose names nobody has taken, are forgotten on the way: where that
-- waits for nobody, and cannot fail against others who do the same.
CREATE FUNCTION lease.note_guards(relations oid[]) RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    INSERT INTO lease.guarded (home, relation, always, schema_name, table_name, trigger, guard)
    SELECT lease.home(), k.relation, k.enabled = 'always', n.nspname, c.relname, k.trigger, k.guard
    FROM lease.guards_known AS k
    JOIN pg_class AS c ON c.oid = k.relation
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE k.relation = ANY (relations) AND k.enabled <> 'partial'
    ON CONFLICT DO NOTHING;
    DELETE FROM lease.guarded AS g
    WHERE g.ctid = ANY (ARRAY(
        SELECT g.ctid FROM lease.guarded AS g
        WHERE current_setting('transaction_isolation') = 'read committed'
          AND g.home = lease.home()
          AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = g.relation)
          AND to_regclass(format('%I.%I', g.schema_name, g.table_name)) IS NULL
        FOR UPDATE SKIP LOCKED))
$$;
REVOKE ALL ON FUNCTION lease.note_guards(oid[]) FROM PUBLIC;
COMMENT ON FUNCTION lease.note_guards(oid[]) IS 'Takes the guards of these tables into lease.guarded.';

CREATE FUNCTION lease.forget_guards(relations oid[]) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    WITH gone AS (
        DELETE FROM lease.guarded AS g
        USING unnest(relations) AS r (oid)
        JOIN pg_class AS c ON c.oid = r.oid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE (g.home = lease.home() AND g.relation = r.oid
               OR g.schema_name = n.nspname AND g.table_name = c.relname)
          AND NOT EXISTS (SELECT FROM lease.guards_known AS k
                          WHERE k.relation = r.oid AND k.trigger = g.trigger)
        RETURNING g.trigger)
    SELECT count(*) FROM gone
$$;
REVOKE ALL ON FUNCTION lease.forget_guards(oid[]) FROM PUBLIC;
COMMENT ON FUNCTION lease.forget_guards(oid[]) IS
    'Forgets the guards of these tables that are not there any more; returns how many.';

CREATE FUNCTION lease.doctor_guards() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    -- they do not fire, or not always
    SELECT CASE WHEN k.enabled IN ('disabled', 'replica') THEN 'critical' ELSE 'warning' END,
           CASE k.enabled WHEN 'origin' THEN 'guard_weak' WHEN 'partial' THEN 'guard_partial'
                ELSE 'guard_off' END,
           format('table %s', k.relation::regclass),
           format(CASE k.enabled
               WHEN 'origin' THEN 'Its guard %s does not fire under session_replication_role = replica.'
               WHEN 'partial' THEN 'Its guard %s does not fire for all writes: it was made by hand, or part of it is gone.'
               WHEN 'replica' THEN 'Its guard %s fires only under session_replication_role = replica.'
               ELSE 'Its guard %s is disabled: anybody with rights on the table writes it.' END,
               k.guard),
           CASE WHEN k.enabled = 'partial'
                THEN format('Call lease_unguard(%L) and lease_guard, in one transaction.',
                            k.relation::regclass)
                ELSE format('ALTER TABLE %s %s', k.relation::regclass, (
                    -- a row guard has several triggers, whose names begin alike
                    SELECT string_agg(format('ENABLE ALWAYS TRIGGER %I', t.tgname), ', '
                                      ORDER BY t.tgname)
                    FROM pg_trigger AS t
                    WHERE t.tgrelid = k.relation AND t.tgenabled <> 'A' AND NOT t.tgisinternal
                      AND starts_with(t.tgname, k.trigger))) END
    FROM lease.guards_known AS k
    LEFT JOIN lease.guarded AS g
        ON g.home = lease.home() AND g.relation = k.relation AND g.trigger = k.trigger
    WHERE k.enabled <> 'always' AND (k.enabled <> 'origin' OR g.always IS NOT FALSE)
    UNION ALL
    -- a parent has one that its child has not
    SELECT 'critical', 'guard_missing', format('table %s', i.inhrelid::regclass),
           format('Its parent %s has a guard %s, and it has none: who writes it by its own name is not '
                  'asked.', i.inhparent::regclass, p.guard),
           format('Call lease_guard for %s with the same arguments as before; look whether event '
                  'trigger pg_lease_cover is on.', i.inhparent::regclass)
    FROM lease.guards_known AS p
    JOIN pg_inherits AS i ON i.inhparent = p.relation
    WHERE p.enabled <> 'partial'
      AND NOT EXISTS (SELECT FROM lease.guards_known AS k
                      WHERE k.relation = i.inhrelid AND k.guard = p.guard AND k.enabled <> 'partial')
    UNION ALL
    -- made once, and gone from the table
    SELECT 'critical', 'guard_dropped', format('table %s', c.oid::regclass),
           format('Its guard %s was dropped: anybody with rights on the table writes it.', g.guard),
           format('Call lease_guard again; or lease_unguard(%L), if it is to have none.',
                  c.oid::regclass)
    FROM lease.guarded AS g
    JOIN pg_class AS c ON CASE WHEN g.home = lease.home() THEN c.oid = g.relation
        ELSE c.oid = to_regclass(format('%I.%I', g.schema_name, g.table_name)) END
    WHERE NOT EXISTS (SELECT FROM lease.guards_known AS k
                      WHERE k.relation = c.oid AND k.guard = g.guard)
    UNION ALL
    -- another table has the name
    SELECT 'critical', 'table_swapped', format('table %s', w.other::regclass),
           format('It has the name of a table that guard %s was made for, and no such guard. That table %s.',
                  w.guard, coalesce('is now ' || w.relation::regclass::text, 'was dropped')),
           format('Call lease_guard for it; or lease_unguard(%L), if it is to have none.',
                  w.other::regclass)
    FROM (SELECT DISTINCT ON (c.oid, g.guard) c.oid AS other, g.guard, o.oid AS relation
          FROM lease.guarded AS g
          JOIN pg_namespace AS n ON n.nspname = g.schema_name
          JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = g.table_name
              AND c.oid <> g.relation AND c.relkind IN ('r', 'p', 'f')
          LEFT JOIN pg_class AS o ON o.oid = g.relation
          WHERE g.home = lease.home()
            AND NOT EXISTS (SELECT FROM lease.guards_known AS k
                            WHERE k.relation = c.oid AND k.guard = g.guard)
          ORDER BY c.oid, g.guard, o.oid) AS w
    UNION ALL
    -- writes that no guard sees
    SELECT 'critical', 'guard_bypassed', format('table %s', r.ev_class::regclass),
           format('Rule %I turns writes away before the guard sees them.', r.rulename),
           format('DROP RULE %I ON %s', r.rulename, r.ev_class::regclass)
    FROM pg_rewrite AS r
    WHERE r.is_instead AND r.ev_type <> '1'
      AND r.ev_class IN (SELECT k.relation FROM lease.guards_known AS k)
    UNION ALL
    SELECT DISTINCT 'critical', 'guard_bypassed', format('table %s', k.relation::regclass),
           format('Subscription %I writes it, and its worker does not fire guards.', s.subname),
           'Guard the table where it is published, and take it out of the subscription here.'
    FROM lease.guards_known AS k
    CROSS JOIN LATERAL (
        SELECT k.relation UNION SELECT a.relid FROM pg_partition_ancestors(k.relation) AS a) AS t (oid)
    JOIN pg_subscription_rel AS w ON w.srrelid = t.oid
    JOIN pg_subscription AS s ON s.oid = w.srsubid
    UNION ALL
    SELECT 'critical', 'cover_off', 'event trigger pg_lease_cover',
           'It is not ENABLE ALWAYS: partitions and children that are made or attached from now on may '
           'be without a guard.',
           'ALTER EVENT TRIGGER pg_lease_cover ENABLE ALWAYS'
    WHERE NOT EXISTS (SELECT FROM pg_event_trigger AS e
                      WHERE e.evtfoid = 'lease.cover_changed_tables()'::regprocedure
                        AND e.evtenabled = 'A')
$$;
REVOKE ALL ON FUNCTION lease.doctor_guards() FROM PUBLIC;
COMMENT ON FUNCTION lease.doctor_guards() IS 'lease_doctor, of guards.';

CREATE FUNCTION lease.doctor_leases() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT 'warning', 'expired', format('lease %s', l.name),
           format('It expired at %s under %s, and nobody has taken it.', l.expires_at, l.owner),
           'Look whether its workers run and may acquire it; if the job is over, call lease_drop.'
    FROM lease.lease AS l
    JOIN lease.status AS s ON s.name = l.name AND s.state = 'expired'
    WHERE l.expires_at + make_interval(secs => l.ttl_ms / 1000.0) < lease.clock()
    UNION ALL
    SELECT 'warning', 'renewed_late', format('lease %s', l.name),
           format('The last %s renewals by %s came when more than half of the ttl of %s was over.', l.late,
                  l.owner, make_interval(secs => l.ttl_ms / 1000.0)),
           'Renew when renew_after says so, or acquire with a longer ttl: the first hiccup costs the '
           'lease.'
    FROM lease.lease AS l
    WHERE l.late >= 3 AND l.owner IS NOT NULL AND l.home = lease.home()
    UNION ALL
    SELECT 'warning', 'clock_jumped', format('lease %s', l.name),
           format('It expires in %s, later than its ttl of %s allows: the clock was set back.',
                  l.expires_at - lease.clock(), make_interval(secs => l.ttl_ms / 1000.0)),
           'Look at the time service of the server. The next to ask for the lease puts it right.'
    FROM lease.lease AS l
    WHERE l.owner IS NOT NULL AND l.home = lease.home()
      AND l.expires_at > lease.clock() + make_interval(secs => l.ttl_ms / 1000.0)
    UNION ALL
    SELECT 'info', 'void', format('lease %s', l.name),
           'It was granted in another copy of this database: its token is refused here.',
           'Let a worker of this database acquire it, or call lease_drop.'
    FROM lease.lease AS l
    WHERE l.owner IS NOT NULL AND l.home <> lease.home()
    UNION ALL
    SELECT DISTINCT 'info', 'role_missing', format('role %s', a.role_name),
           format('lease_allow has opened %s to it, and there is no such role: the line opens nothing.',
                  a.pattern),
           CASE WHEN a.home = lease.home() THEN 'None: the line goes with the next call of lease_allow.'
                ELSE format('Create the role, or call lease_disallow(%L, %L).', a.role_name, a.pattern)
                END
    FROM lease.allowed AS a
    WHERE NOT EXISTS (
        SELECT FROM pg_roles AS r
        WHERE CASE WHEN a.home = lease.home() THEN r.oid = a.role ELSE r.rolname = a.role_name END)
$$;
REVOKE ALL ON FUNCTION lease.doctor_leases() FROM PUBLIC;
COMMENT ON FUNCTION lease.doctor_leases() IS 'lease_doctor, of leases and who may take them.';

CREATE FUNCTION lease.doctor_transactions() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    WITH open AS (
        SELECT f.*, coalesce(l.since, n.raised_at) AS changed_at,
               coalesce(make_interval(secs => l.ttl_ms / 1000.0), '1 min') AS patience
        FROM lease.fenced AS f
        LEFT JOIN lease.lease AS l ON l.name = f.lease AND f.class = 19457
        LEFT JOIN lease.fence AS n ON n.name = f.lease AND f.class = 19458)
    SELECT 'warning', 'transaction_stale', format('process %s', o.pid),
           format('Role %s works under an old token of lease %s since %s: its commit will be refused, and '
                  'what it has locked stays locked.', o.role, o.lease, o.since),
           format('Call lease_evict(%L).', o.lease)
    FROM open AS o
    WHERE o.stale AND o.pid IS NOT NULL AND o.changed_at + o.patience < lease.clock()
    UNION ALL
    SELECT 'critical', 'transaction_prepared', format('transaction %L', o.gid),
           format('Prepared at %s under lease %s: nobody can take the lease before it is decided.',
                  o.since, o.lease),
           format('COMMIT PREPARED %1$L or ROLLBACK PREPARED %1$L', o.gid)
    FROM open AS o
    WHERE o.gid IS NOT NULL AND o.since + o.patience < clock_timestamp()
$$;
REVOKE ALL ON FUNCTION lease.doctor_transactions() FROM PUBLIC;
COMMENT ON FUNCTION lease.doctor_transactions() IS 'lease_doctor, of transactions under leases.';

CREATE FUNCTION lease.fleet(
    fleet text, OUT worker text, OUT incarnation text, OUT state text, OUT silent_for interval,
    OUT shards bigint, OUT due bigint, OUT orphaned bigint, OUT singletons bigint,
    OUT skew interval, OUT heartbeat_at timestamptz, OUT clock_jump interval,
    OUT clock_jumped_at timestamptz)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50
    AS 'MODULE_PATHNAME', 'pg_lease_fleet';
REVOKE ALL ON FUNCTION lease.fleet(text) FROM PUBLIC;
COMMENT ON FUNCTION lease.fleet(text) IS 'lease_fleet by a name that is always the same, for lease_doctor.';

CREATE FUNCTION lease.doctor_fleets() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    WITH workers AS MATERIALIZED (
        SELECT w.fleet, f.*
        FROM (SELECT DISTINCT fleet FROM lease.worker) AS w
        CROSS JOIN LATERAL lease.fleet(w.fleet) AS f
        WHERE f.state <> 'fenced')
    SELECT 'warning', 'worker_silent', format('worker %s of fleet %s', w.worker, w.fleet),
           format('It has not passed for %s, and is %s; %s of its shards are orphaned.', w.silent_for,
                  w.state, w.orphaned),
           'Look whether it runs and reaches the database; if it is gone for good, call '
           'lease_worker_leave.'
    FROM workers AS w
    WHERE w.state IN ('silent', 'gone')
    UNION ALL
    SELECT 'warning', 'worker_skewed', format('worker %s of fleet %s', w.worker, w.fleet),
           format('Its clock is off by %s.', w.skew),
           'Look at the time service of its machine. Leases do not depend on it; its own times do.'
    FROM workers AS w
    WHERE w.skew IS NOT NULL
    UNION ALL
    SELECT 'warning', 'clock_jumped', format('fleet %s', w.fleet),
           format('The database''s clock jumped by %s between two passes, at %s.', max(w.clock_jump),
                  max(w.clock_jumped_at)),
           'Look at the time service of the server. Fleets count silence by another clock; leases may '
           'have expired early, and were fenced.'
    FROM workers AS w
    WHERE w.clock_jumped_at > lease.clock() - interval '1 day'
    GROUP BY w.fleet
    UNION ALL
    SELECT 'warning', 'work_overdue', format('queue %s', o.queue),
           format('%s keys have been due for more than 5 minutes, one of them for %s.', count(*),
                  max(o.overdue)),
           'Look whether the queue has workers, and enough; lease.work_overdue shows the keys.'
    FROM lease.work_overdue AS o
    GROUP BY o.queue
$$;
REVOKE ALL ON FUNCTION lease.doctor_fleets() FROM PUBLIC;
COMMENT ON FUNCTION lease.doctor_fleets() IS 'lease_doctor, of workers and queues.';

CREATE FUNCTION lease.incarnation() RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_incarnation';
REVOKE ALL ON FUNCTION lease.incarnation() FROM PUBLIC;
COMMENT ON FUNCTION lease.incarnation() IS
    'Hash of this incarnation of the database, as lease.seal has it once a token was granted in it; '
    '0 on a standby.';

CREATE FUNCTION lease.doctor_server() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    WITH standbys AS MATERIALIZED (
        SELECT count(*) FILTER (WHERE r.sync_state = 'async') AS behind,
               count(*) FILTER (WHERE r.sync_state <> 'async') AS in_step,
               string_agg(r.application_name, ', ' ORDER BY r.application_name) AS names
        FROM pg_stat_replication AS r
        WHERE r.state IN ('streaming', 'catchup')
          AND NOT EXISTS (SELECT FROM pg_replication_slots AS s
                          WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
    ), mint AS MATERIALIZED (
        SELECT pg_sequence_last_value('lease.token') AS token,
               pg_sequence_last_value('lease.seal') AS seal,
               pg_sequence_last_value('lease.incarnations') AS incarnations,
               date_part('epoch', clock_timestamp() - timestamptz '2026-01-01 00:00:00+00') * 1e6
                   AS present)
    SELECT 'critical', 'fsync_off', 'setting fsync',
           'A crash of the machine can lose or damage what was committed: grants, writes and fences '
           'that clients were told of.',
           'Set fsync = on and restart the server.'
    WHERE current_setting('fsync') = 'off'
    UNION ALL
    SELECT 'warning', 'standby_asynchronous', format('standby %s', s.names),
           'No standby is synchronous: if one takes over, the newest grants and writes may be lost. No '
           'token is granted twice; but what a lost holder did elsewhere is not known here.',
           'Set synchronous_standby_names, if a failover must not lose grants.'
    FROM standbys AS s
    WHERE s.behind > 0 AND s.in_step = 0 AND current_setting('synchronous_standby_names') = ''
    UNION ALL
    SELECT 'critical', 'standby_missing', 'setting synchronous_standby_names',
           'No synchronous standby is connected: every change of ownership waits for one.',
           'Bring the standby back, or change synchronous_standby_names.'
    FROM standbys AS s
    WHERE s.in_step = 0 AND current_setting('synchronous_standby_names') <> ''
    UNION ALL
    SELECT 'warning', 'autovacuum_off', 'setting ' || g.name,
           'Autovacuum does not run: the tables of leases grow, and calls become slower.',
           format('Set %s = on.', g.name)
    FROM pg_settings AS g
    WHERE g.name IN ('autovacuum', 'track_counts') AND g.setting = 'off'
    UNION ALL
    SELECT 'warning', 'autovacuum_off', format('table %s', c.oid::regclass),
           'Autovacuum is turned off for it: it grows, and calls become slower.',
           format('ALTER TABLE %s RESET (autovacuum_enabled)', c.oid::regclass)
    FROM pg_class AS c
    CROSS JOIN LATERAL pg_options_to_table(c.reloptions) AS o
    WHERE c.relnamespace = 'lease'::regnamespace
      AND o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean
    UNION ALL
    SELECT 'warning', 'autovacuum_behind', format('table %s', t.relid::regclass),
           format('It has %s dead rows for %s live ones: vacuum does not come, or an old transaction '
                  'keeps it from cleaning up.', t.n_dead_tup, t.n_live_tup),
           format('End old transactions (pg_stat_activity, pg_prepared_xacts, pg_replication_slots), '
                  'then VACUUM %s.', t.relid::regclass)
    FROM pg_stat_all_tables AS t
    WHERE t.schemaname = 'lease'
      AND t.n_dead_tup > 20000 + 2 * t.n_live_tup
    UNION ALL
    SELECT 'critical', 'tokens_used_up', 'sequence lease.token',
           format('It is at %s: no lease can be granted at 9223372036854775807.', m.token),
           'Find out who has set it; call for help before it is set back: guards have obeyed high tokens.'
    FROM mint AS m
    WHERE m.token > 9223372036854775807 - 1000000000
    UNION ALL
    SELECT 'warning', 'tokens_ahead', 'sequence lease.token',
           format('Its tokens read as a time %s ahead: the clock was that far ahead when they began, or '
                  'somebody has set it. Guards in mode newest refuse such tokens.',
                  make_interval(secs => (m.token - m.present) / 1e6)),
           'Look at the time service; sign tokens, or raise the fences of other servers by hand.'
    FROM mint AS m
    WHERE m.token > m.present + 86400e6 AND m.token <= 9223372036854775807 - 1000000000
    UNION ALL
    SELECT 'info', 'new_incarnation', 'this database',
           'It was restarted, promoted, restored or copied since the last grant. The next token will be '
           'above all earlier ones.',
           'Nothing, after a restart or a failover. After a recovery to a point in time, call '
           'lease_void_all before workers connect.'
    FROM mint AS m
    WHERE NOT pg_is_in_recovery() AND m.incarnations IS NOT NULL AND m.seal <> lease.incarnation()
$$;
REVOKE ALL ON FUNCTION lease.doctor_server() FROM PUBLIC;
COMMENT ON FUNCTION lease.doctor_server() IS 'lease_doctor, of the server.';

CREATE FUNCTION lease.doctor_tokens() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT 'warning', 'token_in_settings',
           coalesce('role ' || r.rolname, 'every role') || coalesce(' in database ' || d.datname, ''),
           'pg_lease.token is set for it: each of its sessions presents the same token, whoever it is.',
           format('ALTER %s RESET pg_lease.token', CASE
               WHEN r.oid IS NULL THEN 'DATABASE ' || quote_ident(d.datname)
               ELSE 'ROLE ' || quote_ident(r.rolname)
                    || coalesce(' IN DATABASE ' || quote_ident(d.datname), '') END)
    FROM pg_db_role_setting AS s
    LEFT JOIN pg_roles AS r ON r.oid = s.setrole
    LEFT JOIN pg_database AS d ON d.oid = s.setdatabase
    WHERE (s.setdatabase = 0 OR d.datname = current_database())
      AND EXISTS (SELECT FROM unnest(s.setconfig) AS c
                  WHERE c LIKE 'pg\_lease.token=_%')
    UNION ALL
    SELECT 'warning', 'token_behind_pooler', format('application %s', a.application_name),
           format('%s sessions come through a pooler, and pg_lease.token_scope is session: a token set '
                  'there by one client may be presented by the next.', count(*)),
           format('ALTER DATABASE %I SET pg_lease.token_scope = transaction; or let the pool be of '
                  'mode session.', current_database())
    FROM pg_stat_activity AS a
    WHERE a.datname = current_database()
      AND a.application_name ~* 'bouncer|pgcat|odyssey|supavisor|pgpool|pgdog'
      AND coalesce((SELECT g.setting FROM pg_settings AS g WHERE g.name = 'pg_lease.token_scope'),
                   'session') = 'session'
    GROUP BY a.application_name
$$;
REVOKE ALL ON FUNCTION lease.doctor_tokens() FROM PUBLIC;
COMMENT ON FUNCTION lease.doctor_tokens() IS 'lease_doctor, of how tokens are presented.';

CREATE FUNCTION lease_doctor() RETURNS SETOF lease.finding
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT f.* FROM (
        SELECT * FROM lease.doctor_guards()
        UNION ALL SELECT * FROM lease.doctor_leases()
        UNION ALL SELECT * FROM lease.doctor_transactions()
        UNION ALL SELECT * FROM lease.doctor_fleets()
        UNION ALL SELECT * FROM lease.doctor_server()
        UNION ALL SELECT * FROM lease.doctor_tokens()) AS f
    ORDER BY array_position('{critical,warning,info}'::text[], f.severity), f.finding, f.subject
$$;
REVOKE ALL ON FUNCTION lease_doctor() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION lease_doctor() TO pg_monitor;
COMMENT ON FUNCTION lease_doctor() IS
    'What is wrong, and what to do: no rows where all is well. Reads only. For the extension''s owner '
    'and members of pg_monitor.';
