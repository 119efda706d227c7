-- Guards: triggers that ask the fence before a table is written.

CREATE FUNCTION lease.guard_writes() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_guard_writes';
REVOKE ALL ON FUNCTION lease.guard_writes() FROM PUBLIC;
COMMENT ON FUNCTION lease.guard_writes() IS
    'The trigger of a guarded table. Attach it with lease_guard only. Raises 55000 for a writer whose '
    'token is missing, stale or ended, 39P01 when it was attached by hand in a wrong way.';

CREATE FUNCTION lease_guard(
    relation regclass, lease text DEFAULT NULL, mode text DEFAULT 'current',
    always boolean DEFAULT true, signed boolean DEFAULT false, lease_column text DEFAULT NULL,
    prefix text DEFAULT '', OUT guarded regclass, OUT guard text)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_guard';
REVOKE ALL ON FUNCTION lease_guard(regclass, text, text, boolean, boolean, text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease_guard(regclass, text, text, boolean, boolean, text, text) IS
    'From now on the table, its partitions and its inheritance children, present and later, refuse '
    'every writer that does not present a good token of the lease; or, with lease_column instead of '
    'lease, of the leases of the rows that it writes: prefix || what the column says, before and '
    'after. mode: current, live or newest. '
    'always: fires under session_replication_role = replica too. signed: takes a token only with a '
    'good signature. Returns a row per table of the tree: '
    'guard created, or kept because it was there. Raises 42501 unless the caller owns every table of '
    'the tree, 42809 for what cannot be guarded (foreign tables, views, tables with INSTEAD rules, '
    'targets of a subscription, a table whose parent has no such guard, columns of types that cannot '
    'name leases), 42710 for a guard of the same lease in another mode and for another row guard, '
    '42P01 for an unknown table, 42703 for an unknown column, 22023 and 22004 for bad arguments.';

CREATE FUNCTION lease_unguard(relation regclass, lease text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_unguard';
REVOKE ALL ON FUNCTION lease_unguard(regclass, text) FROM PUBLIC;
COMMENT ON FUNCTION lease_unguard(regclass, text) IS
    'Takes the guards of a lease, or all guards, off a table and its tree; returns how many triggers '
    'went. Raises 42704 where there is none, 55000 for a table that is guarded through its parent, '
    '42501 unless the caller owns the table.';

CREATE FUNCTION lease.cover(relation oid, command pg_catalog.pg_ddl_command) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_cover';
REVOKE ALL ON FUNCTION lease.cover(oid, pg_catalog.pg_ddl_command) FROM PUBLIC;
COMMENT ON FUNCTION lease.cover(oid, pg_catalog.pg_ddl_command) IS
    'Gives a table the guards of its parents, and its children its own, unless the command that has '
    'changed it cannot have added a table. Raises 42809 for a foreign '
    'table under a guarded parent and for a guarded table under a parent without its guard, 42710 '
    'where their modes differ. Called by the event trigger pg_lease_cover.';

-- The functions tell the other sessions of each change of ownership themselves, and fire no triggers.
CREATE FUNCTION lease.changed_by_hand() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_changed_by_hand';
REVOKE ALL ON FUNCTION lease.changed_by_hand() FROM PUBLIC;
COMMENT ON FUNCTION lease.changed_by_hand() IS
    'Tells all sessions to forget which tokens are good, when a statement changes lease.lease or '
    'lease.fence past the functions.';
CREATE TRIGGER changed_by_hand AFTER UPDATE OR DELETE OR TRUNCATE ON lease.lease
    FOR EACH STATEMENT EXECUTE FUNCTION lease.changed_by_hand();
CREATE TRIGGER changed_by_hand AFTER UPDATE OR DELETE OR TRUNCATE ON lease.fence
    FOR EACH STATEMENT EXECUTE FUNCTION lease.changed_by_hand();
ALTER TABLE lease.lease ENABLE ALWAYS TRIGGER changed_by_hand;
ALTER TABLE lease.fence ENABLE ALWAYS TRIGGER changed_by_hand;

CREATE FUNCTION lease.home() RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'pg_lease_home';
COMMENT ON FUNCTION lease.home() IS
    'Hash of this database: leases granted under another one are void here.';

CREATE FUNCTION lease.cover_changed_tables() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    changed pg_catalog.record;
BEGIN
    FOR changed IN
        SELECT c.objid, c.command
        FROM pg_catalog.pg_event_trigger_ddl_commands() AS c
        WHERE c.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
          AND c.object_type OPERATOR(pg_catalog.=) ANY ('{table,foreign table}'::pg_catalog.text[])
    LOOP
        PERFORM lease.cover(changed.objid, changed.command);
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION lease.cover_changed_tables() FROM PUBLIC;
COMMENT ON FUNCTION lease.cover_changed_tables() IS
    'Covers partitions and inheritance children that are created or attached after their parent '
    'was guarded.';
