-- The resource side of pg_lease alone, in SQL and PL/pgSQL: for servers where no extension can be
-- installed. Run it once in each database, as the role that is to own it, which need not be a
-- superuser:  psql -1 -f remote_fence.sql
--
-- It has the names and the refusals of the extension's mode newest: a database obeys the highest
-- token it has seen, and its guarded tables refuse every writer with a lower one. What it cannot do
-- is in docs/remote-fence.md. It is no part of the extension; have one or the other in a database.

CREATE SCHEMA lease;
GRANT USAGE ON SCHEMA lease TO PUBLIC;

CREATE TABLE lease.fence (
    token     bigint      NOT NULL,
    raised_at timestamptz NOT NULL,
    name      text COLLATE "C" NOT NULL,
    raised_by xid8        NOT NULL,
    CONSTRAINT fence_pkey PRIMARY KEY (name)
) WITH (fillfactor = 50);
REVOKE ALL ON TABLE lease.fence FROM PUBLIC;
COMMENT ON TABLE lease.fence IS
    'The newest token that this database has obeyed for a lease that is granted elsewhere.';

-- What open transactions have written under. A row is gone again when its transaction commits.
CREATE UNLOGGED TABLE lease.answering (
    transaction xid8   NOT NULL,
    token       bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    CONSTRAINT answering_pkey PRIMARY KEY (transaction, name, token)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
REVOKE ALL ON TABLE lease.answering FROM PUBLIC;
COMMENT ON TABLE lease.answering IS
    'The tokens that open transactions answer for: each is checked again at the commit.';

CREATE FUNCTION lease.refuse(code text, message text, detail text, hint text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail, HINT = hint;
END
$$;
COMMENT ON FUNCTION lease.refuse(text, text, text, text) IS 'Raises an error. Not to be called.';

CREATE FUNCTION lease.check_arguments(name text, token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    missing text := CASE WHEN name IS NULL THEN 'name' WHEN token IS NULL THEN 'token' END;
BEGIN
    IF missing IS NOT NULL THEN
        PERFORM lease.refuse('22004', missing || ' must not be null',
            'A call without a value cannot be checked.', format('Give a value for %s.', missing));
    ELSIF name !~ '^[A-Za-z0-9._:@/-]{1,200}$' OR name ~ '\n' THEN
        PERFORM lease.refuse('22023', format('invalid lease name "%s"', left(name, 60)),
            format('A lease name has 1 to 200 characters from A-Z, a-z, 0-9 and . _ : @ / -; this one '
                'has %s.', length(name)),
            'Choose a name that matches ^[A-Za-z0-9._:@/-]{1,200}$.');
    ELSIF token <= 0 THEN
        PERFORM lease.refuse('22023', format('invalid token %s', token),
            'Tokens are positive numbers.', 'Present the token that the grant returned.');
    END IF;
END
$$;
COMMENT ON FUNCTION lease.check_arguments(text, bigint) IS
    'Raises 22004 and 22023 for what is no lease name or token. Not to be called.';

CREATE FUNCTION lease.bad_setting(why text) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$
SELECT lease.refuse('22023', 'invalid value for parameter "pg_lease.token"', why || '.',
    'Write lease=token, several separated by commas, for instance ''arbitrum=41''.')
$$;
COMMENT ON FUNCTION lease.bad_setting(text) IS 'Raises 22023. Not to be called.';

CREATE FUNCTION lease.presented(lease text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    -- what lease_fence_check declared wins over the setting
    declared text := current_setting('pg_lease.declared', true);
    setting  text := COALESCE(current_setting('pg_lease.token', true), '');
    part     text;
    one      text[];
    seen     text[] := ARRAY[]::text[];
    found    bigint;
BEGIN
    IF declared <> '' THEN
        found := (declared::jsonb ->> lease)::bigint;
        IF found IS NOT NULL THEN
            RETURN found;
        END IF;
    END IF;
    IF btrim(setting, E' \t\r\n') = '' THEN
        RETURN NULL;
    ELSIF octet_length(setting) > 77000 THEN
        PERFORM lease.bad_setting(format('It has %s bytes; at most 77000 are taken',
            octet_length(setting)));
    END IF;
    FOREACH part IN ARRAY string_to_array(setting, ',') LOOP
        one := regexp_match(part, '^\s*([^=]*?)\s*=\s*(.*?)\s*$');
        IF one IS NULL THEN
            PERFORM lease.bad_setting('A part of it has no lease name before an equals sign');
        ELSIF one[1] !~ '^[A-Za-z0-9._:@/-]{1,200}$' THEN
            PERFORM lease.bad_setting('A lease name in it is not valid');
        ELSIF one[2] ~ '\.' AND one[2] !~ '\.[A-Za-z0-9_-]{86}$' THEN
            PERFORM lease.bad_setting(format(
                'What follows the token of lease "%s" is not a signature of 86 characters', one[1]));
        END IF;
        -- a signature cannot be verified here, and counts for nothing
        one[2] := split_part(one[2], '.', 1);
        IF one[2] !~ '^[0-9]{1,40}$' OR one[2]::numeric NOT BETWEEN 1 AND 9223372036854775807 THEN
            PERFORM lease.bad_setting(format(
                'The token of lease "%s" is not a whole number from 1 to 9223372036854775807',
                one[1]));
        ELSIF one[1] = ANY (seen) THEN
            PERFORM lease.bad_setting(format('Lease "%s" is in it twice', one[1]));
        END IF;
        seen := seen || one[1];
        IF one[1] = lease THEN
            found := one[2]::bigint;
        END IF;
    END LOOP;
    RETURN found;
END
$$;
COMMENT ON FUNCTION lease.presented(text) IS
    'The token that this transaction presents for the lease, if any. Raises 22023 for a value of '
    'pg_lease.token that cannot be read.';

CREATE FUNCTION lease.refuse_below(name text, token bigint, newest bigint) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$
SELECT lease.refuse('55000', format('token %s of lease "%s" is stale', token, name),
    COALESCE(format('This database has obeyed token %s already.', newest),
        'This database has obeyed a higher token since the transaction began.'),
    'Stop the work, and acquire the lease again before going on.')
$$;
COMMENT ON FUNCTION lease.refuse_below(text, bigint, bigint) IS 'Raises 55000. Not to be called.';

CREATE FUNCTION lease.newest(name text) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
SELECT COALESCE((SELECT f.token FROM lease.fence AS f WHERE f.name = newest.name), 0)
$$;
COMMENT ON FUNCTION lease.newest(text) IS
    'The newest token obeyed, as this statement (under REPEATABLE READ: this transaction) sees it; 0 '
    'where there is none.';

-- Refuses a token that reads as a grant more than a day ahead: tokens of pg_lease count microseconds
-- since 2026. The owner of the fence may go on.
CREATE FUNCTION lease.refuse_future(name text, token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF token > 1000000 * extract(epoch FROM
            clock_timestamp() + interval '24 hours' - timestamptz '2026-01-01 00:00:00 UTC') THEN
        PERFORM lease.refuse('55000', format('token %s was never granted for lease "%s"', token, name),
            format('It reads as a grant at %s, more than a day ahead of this database''s clock.',
                CASE WHEN token < 9200000000000000000 THEN (timestamp '2026-01-01' + make_interval(
                    days => (token / 86400000000)::int, secs => (token % 86400000000) / 1e6))
                    AT TIME ZONE 'UTC' ELSE 'infinity' END),
            'Present the token that the grant returned; the extension''s owner can raise the fence.');
    END IF;
END
$$;
COMMENT ON FUNCTION lease.refuse_future(text, bigint) IS 'Raises 55000. Not to be called.';

-- Who holds up a raise: the transaction that has the row.
CREATE FUNCTION lease.busy(name text, waited interval) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    who text;
BEGIN
    SELECT string_agg(COALESCE('process ' || l.pid, 'a prepared transaction'), ', ') INTO who
    FROM lease.fence AS f JOIN pg_locks AS l ON l.transactionid = f.xmax AND l.granted
    WHERE f.name = busy.name AND l.locktype = 'transactionid';
    PERFORM lease.refuse('55P03', format('lease "%s" is busy', name),
        format('Waited %s ms for %s.', (1000 * extract(epoch FROM waited))::bigint,
            COALESCE(who, 'another session')),
        'Try again, or raise lock_timeout.');
END
$$;
REVOKE ALL ON FUNCTION lease.busy(text, interval) FROM PUBLIC;
COMMENT ON FUNCTION lease.busy(text, interval) IS 'Raises 55P03. Not to be called.';

-- Locks the row, which another transaction has or nobody has made, within lock_timeout.
CREATE FUNCTION lease.wait_for_fence(name text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    patience text := current_setting('lock_timeout');
    waited   text := CASE patience WHEN '0' THEN '5s' ELSE patience END;
    newest   bigint;
BEGIN
    PERFORM set_config('lock_timeout', waited, true);
    INSERT INTO lease.fence AS f (token, raised_at, name, raised_by)
    VALUES (0, clock_timestamp(), wait_for_fence.name, pg_current_xact_id())
    ON CONFLICT ON CONSTRAINT fence_pkey DO UPDATE SET token = f.token
    RETURNING f.token INTO newest;
    PERFORM set_config('lock_timeout', patience, true);
    RETURN newest;
EXCEPTION WHEN lock_not_available THEN
    PERFORM lease.busy(name, waited::interval);
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION lease.wait_for_fence(text) FROM PUBLIC;
COMMENT ON FUNCTION lease.wait_for_fence(text) IS
    'Locks the newest token and returns it. Raises 55P03. Not to be called.';

-- The row stays locked until the end of the transaction: commits under the old token find it so.
CREATE FUNCTION lease.raise_fence(name text, token bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    newest bigint;
BEGIN
    -- at once where that can be: waiting takes a subtransaction, which others could not name
    SELECT f.token INTO newest FROM lease.fence AS f WHERE f.name = raise_fence.name
    FOR NO KEY UPDATE SKIP LOCKED;
    IF newest IS NULL THEN
        newest := lease.wait_for_fence(name);
    END IF;
    IF newest > token THEN
        PERFORM lease.refuse_below(name, token, newest);
    ELSIF newest < token THEN
        UPDATE lease.fence AS f
        SET token = raise_fence.token, raised_at = clock_timestamp(), raised_by = pg_current_xact_id()
        WHERE f.name = raise_fence.name;
    END IF;
END
$$;
REVOKE ALL ON FUNCTION lease.raise_fence(text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease.raise_fence(text, bigint) IS
    'Makes a token the newest, or refuses it. Not to be called.';

-- At the statement. Decides for the writer's sake; what counts is looked at again at the commit.
CREATE FUNCTION lease.obey(name text, token bigint, may_raise boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    newest   bigint := lease.newest(name);
    snapshot boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
BEGIN
    IF pg_is_in_recovery() THEN
        PERFORM lease.refuse('55000', format('lease "%s" cannot be checked on a standby', name),
            'A standby does not know the newest token.',
            'Connect to the primary, for instance with target_session_attrs=read-write.');
    ELSIF token < newest THEN
        PERFORM lease.refuse_below(name, token, newest);
    ELSIF token = newest THEN
        IF snapshot AND lease.raised_here(name) THEN
            PERFORM lease.refuse('55000', format(
                    'token %s of lease "%s" cannot be used in the transaction that got it', token, name),
                'The transaction is REPEATABLE READ or SERIALIZABLE, and its snapshot may miss the '
                    'predecessor''s last write.',
                'Commit first, then write under the token in the next transaction.');
        END IF;
        RETURN;
    END IF;
    PERFORM lease.refuse_future(name, token);
    IF NOT may_raise THEN
        PERFORM lease.refuse('42501',
            format('token %s of lease "%s" is new to this database', token, name),
            'A check is open to everybody, so it raises the newest token only for who may do that.',
            'Grant the role EXECUTE on lease_fence_raise, or let a guarded write raise it.');
    ELSIF snapshot THEN
        PERFORM lease.refuse('55000',
            format('token %s of lease "%s" is new to this database', token, name),
            'The transaction is REPEATABLE READ or SERIALIZABLE, and its snapshot may miss the '
                'predecessor''s last write.',
            format('Call lease_fence_raise(''%s'', %s) in a transaction of its own first.', name, token));
    ELSIF current_setting('transaction_read_only')::boolean THEN
        PERFORM lease.refuse('25006', 'cannot run lease_fence_check() in a read-only transaction',
            'The call writes.', 'Begin a READ WRITE transaction.');
    END IF;
    PERFORM lease.raise_fence(name, token);
END
$$;
COMMENT ON FUNCTION lease.obey(text, bigint, boolean) IS
    'Refuses a token that is not good now; raises the newest to a higher one. Not to be called.';

CREATE FUNCTION lease.raised_here(name text) RETURNS boolean
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
SELECT EXISTS (SELECT FROM lease.fence AS f
    WHERE f.name = raised_here.name AND f.raised_by = pg_current_xact_id_if_assigned())
$$;
COMMENT ON FUNCTION lease.raised_here(text) IS 'Whether this very transaction raised the newest token.';

-- From now on the commit depends on this token.
CREATE FUNCTION lease.answer_for(name text, token bigint) RETURNS void
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
INSERT INTO lease.answering (transaction, token, name)
VALUES (pg_current_xact_id(), answer_for.token, answer_for.name)
ON CONFLICT ON CONSTRAINT answering_pkey DO NOTHING
$$;
REVOKE ALL ON FUNCTION lease.answer_for(text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease.answer_for(text, bigint) IS
    'Makes the commit depend on the token. Not to be called.';

-- At the commit, or before PREPARE TRANSACTION. Whoever raises the fence has its row until the end of
-- the raising transaction, and this shares it until the end of ours: one of the two comes first, and
-- the other knows. It never waits. After SET CONSTRAINTS ... IMMEDIATE it runs in the statement, and
-- the row is shared from there on.
CREATE FUNCTION lease.confirm() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    newest bigint;
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        BEGIN
            SELECT f.token INTO newest FROM lease.fence AS f WHERE f.name = NEW.name
            FOR SHARE SKIP LOCKED;
        EXCEPTION WHEN serialization_failure THEN
            PERFORM lease.refuse_below(NEW.name, NEW.token, NULL);
        END;
    ELSE
        SELECT f.token INTO newest FROM lease.fence AS f WHERE f.name = NEW.name
        FOR SHARE SKIP LOCKED;
    END IF;
    IF newest IS NULL THEN
        PERFORM lease.refuse('55000',
            format('lease "%s" is no longer held with token %s', NEW.name, NEW.token),
            'A takeover of the lease is under way.',
            'Stop the work, and acquire the lease again before going on.');
    ELSIF newest <> NEW.token THEN
        PERFORM lease.refuse_below(NEW.name, NEW.token, newest);
    END IF;
    -- by its place: a look-up would leave predicate locks behind under SERIALIZABLE
    DELETE FROM lease.answering AS a WHERE a.ctid = NEW.ctid;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION lease.confirm() FROM PUBLIC;
COMMENT ON FUNCTION lease.confirm() IS
    'The check at the commit: raises 55000 unless the token is the newest still.';

CREATE CONSTRAINT TRIGGER confirm AFTER INSERT ON lease.answering
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lease.confirm();
ALTER TABLE lease.answering ENABLE ALWAYS TRIGGER confirm;

CREATE FUNCTION lease.guard_writes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    wrong text := CASE
        WHEN TG_WHEN <> 'BEFORE' THEN 'It does not fire BEFORE the statement'
        WHEN TG_LEVEL <> 'STATEMENT' THEN 'It fires for each row'
        WHEN TG_NARGS <> 2 THEN 'Its arguments are not a lease and a mode'
        WHEN TG_ARGV[1] <> 'newest' THEN 'Its second argument is not a mode'
        WHEN TG_ARGV[0] !~ '^[A-Za-z0-9._:@/-]{1,200}$' THEN 'Its first argument is not a lease name'
    END;
    lease text := TG_ARGV[0];
    token bigint;
BEGIN
    IF wrong IS NOT NULL THEN
        PERFORM lease.refuse('39P01', 'a pg_lease guard is attached in a wrong way', wrong || '.',
            'Drop the trigger and attach it with lease_guard().');
    END IF;
    token := lease.presented(lease);
    IF token IS NULL THEN
        PERFORM lease.refuse('55000', format('no token presented for lease "%s"', lease),
            format('Table "%s" takes writes under a token of this lease only.', TG_TABLE_NAME),
            format('Call lease_fence_check(''%s'', token) first in the transaction, or set '
                'pg_lease.token to ''%s=token''.', lease, lease));
    END IF;
    PERFORM lease.obey(lease, token, true), lease.answer_for(lease, token);
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION lease.guard_writes() FROM PUBLIC;
COMMENT ON FUNCTION lease.guard_writes() IS
    'The trigger of a guarded table. Attach it with lease_guard only.';

CREATE FUNCTION public.lease_fence_raise(name text, token bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM lease.check_arguments(name, token);
    IF pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean THEN
        PERFORM lease.refuse('25006', 'cannot run lease_fence_raise() ' || CASE
                WHEN pg_is_in_recovery() THEN 'on a standby' ELSE 'in a read-only transaction' END,
            'The call writes.', CASE WHEN pg_is_in_recovery()
                THEN 'Connect to the primary, for instance with target_session_attrs=read-write.'
                ELSE 'Begin a READ WRITE transaction.' END);
    END IF;
    IF NOT pg_has_role(session_user, current_user, 'USAGE') THEN
        PERFORM lease.refuse_future(name, token);
    END IF;
    PERFORM lease.raise_fence(name, token);
END
$$;
REVOKE ALL ON FUNCTION public.lease_fence_raise(text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION public.lease_fence_raise(text, bigint) IS
    'A new holder announces itself to this database, whose guards refuse every lower token from then '
    'on. To be called in a short transaction of its own. Raises 55000 for a token below the newest, '
    'and for one that reads as a time over a day ahead unless the owner''s session calls; 55P03 when '
    'another transaction is in the way longer than lock_timeout (5 s where that is 0).';

CREATE FUNCTION public.lease_fence_check(name text, token bigint, mode text DEFAULT 'newest')
    RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    declared  text;
    may_raise boolean := has_function_privilege('public.lease_fence_raise(text, bigint)', 'EXECUTE');
BEGIN
    PERFORM lease.check_mode(mode), lease.check_arguments(name, token);
    IF may_raise AND token > lease.newest(name)
        AND current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable')
        AND NOT current_setting('transaction_read_only')::boolean
    THEN
        PERFORM lease.refuse_future(name, token);
        PERFORM public.lease_fence_raise(name, token);
    END IF;
    PERFORM lease.obey(name, token, may_raise);
    declared := COALESCE(NULLIF(current_setting('pg_lease.declared', true), ''), '{}');
    PERFORM set_config('pg_lease.declared',
        (declared::jsonb || jsonb_build_object(name, token))::text, true);
END
$$;
COMMENT ON FUNCTION public.lease_fence_check(text, bigint, text) IS
    'Raises unless the token is the newest that this database has obeyed; a higher one raises it, for '
    'roles that may execute lease_fence_raise. Otherwise presents it for the rest of this transaction. '
    'The commit checks it again if a guarded table was written. mode: newest, as there is no other '
    'here. Open to PUBLIC.';

CREATE FUNCTION lease.check_mode(mode text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF mode IS NULL THEN
        PERFORM lease.refuse('22004', 'mode must not be null',
            'A call without a value cannot be checked.', 'Give a value for mode.');
    ELSIF mode <> 'newest' THEN
        PERFORM lease.refuse('22023', format('invalid mode "%s"', left(mode, 60)),
            'The values of mode are newest.', 'Use one of the values of mode.');
    END IF;
END
$$;
COMMENT ON FUNCTION lease.check_mode(text) IS 'Raises 22023 and 22004. Not to be called.';

-- A table and all below it, parents before children.
CREATE FUNCTION lease.tree(root regclass) RETURNS SETOF oid
    LANGUAGE sql SET search_path = pg_catalog, pg_temp
    AS $$
WITH RECURSIVE member AS (
    SELECT root::oid AS relation, 0 AS depth
    UNION ALL
    SELECT i.inhrelid, m.depth + 1 FROM pg_inherits AS i JOIN member AS m ON i.inhparent = m.relation
)
SELECT relation FROM member GROUP BY relation ORDER BY max(depth), relation
$$;
COMMENT ON FUNCTION lease.tree(regclass) IS 'A table and all below it. Not to be called.';

CREATE FUNCTION lease.check_guardable(relation oid, root regclass, lease text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    open_parent name;
    c           pg_class;
    why         text;
BEGIN
    SELECT * INTO c FROM pg_class AS t WHERE t.oid = relation;
    IF NOT pg_has_role(c.relowner, 'USAGE') THEN
        PERFORM lease.refuse('42501', format('must be owner of table "%s"', c.relname),
            'A guard decides who may write the table, so only its owner may set or remove it.',
            'Call as the table''s owner.');
    END IF;
    why := CASE
        WHEN relation IN ('lease.fence'::regclass, 'lease.answering'::regclass)
            THEN 'It is one of pg_lease''s own'
        WHEN c.relkind = 'f'
            THEN 'It is a foreign table, whose far side commits before the guard can refuse'
        WHEN c.relkind NOT IN ('r', 'p') THEN 'It is not a table'
        WHEN EXISTS (SELECT FROM pg_rewrite AS r WHERE r.ev_class = relation AND r.is_instead)
            THEN 'It has an INSTEAD rule, which turns writes away before a guard sees them'
        WHEN EXISTS (SELECT FROM pg_subscription_rel AS s WHERE s.srrelid = relation)
            THEN 'A subscription writes it, and its worker does not fire statement triggers'
    END;
    IF why IS NOT NULL THEN
        PERFORM lease.refuse('42809', format('"%s" cannot be guarded', c.relname), why || '.',
            'Guard an ordinary or partitioned table whose whole tree can be checked.');
    END IF;
    SELECT p.relname INTO open_parent
    FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
    WHERE i.inhrelid = check_guardable.relation AND p.oid NOT IN (SELECT lease.tree(root))
        AND NOT EXISTS (SELECT FROM lease.guards AS g
            WHERE g.relation = p.oid AND g.lease = check_guardable.lease);
    IF FOUND THEN
        PERFORM lease.refuse('42809', format('"%s" cannot be guarded alone', c.relname),
            format('Its parent "%s" has no guard of lease "%s", and a statement that names the parent '
                'would write it unseen.', open_parent, lease),
            'Guard the topmost parent; the guard covers everything below it.');
    END IF;
END
$$;
COMMENT ON FUNCTION lease.check_guardable(oid, regclass, text) IS
    'Raises 42501 and 42809. Not to be called.';

CREATE VIEW lease.guards AS
SELECT t.tgrelid::pg_catalog.regclass AS relation,
       pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 1) AS lease,
       pg_catalog.split_part(pg_catalog.encode(t.tgargs, 'escape'), '\000', 2) AS mode,
       false AS signed,
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
WHERE t.tgfoid OPERATOR(pg_catalog.=) 'lease.guard_writes()'::pg_catalog.regprocedure::pg_catalog.oid;
GRANT SELECT ON TABLE lease.guards TO PUBLIC;
COMMENT ON VIEW lease.guards IS 'Every guard, read from the triggers themselves.';

CREATE FUNCTION public.lease_guard(
    relation regclass, lease text, mode text DEFAULT 'newest', always boolean DEFAULT true,
    OUT guarded regclass, OUT guard text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    -- the extension's name for it: FNV-1a of the lease's name would do as well
    trigger_name text := 'pg_lease_guard_' || left(md5(lease), 16);
    member       oid;
    there        record;
    wanted       text := CASE WHEN always THEN 'always' ELSE 'origin' END;
BEGIN
    PERFORM lease.check_mode(mode), lease.check_arguments(COALESCE(lease, ''), 1);
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        PERFORM lease.refuse('0A000', 'cannot run lease_guard() under an old snapshot',
            'The transaction is REPEATABLE READ or SERIALIZABLE, and may not see all partitions.',
            'Call it in a READ COMMITTED transaction.');
    END IF;
    -- keeps new members out; the next statement sees those that were made meanwhile
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', relation);
    FOR member IN SELECT lease.tree(relation) LOOP
        PERFORM lease.check_guardable(member, relation, lease);
    END LOOP;
    FOR member IN SELECT lease.tree(relation) LOOP
        guarded := member;
        SELECT g.enabled, g.trigger INTO there FROM lease.guards AS g
        WHERE g.relation = member AND g.lease = lease_guard.lease AND g.enabled <> 'partial';
        IF NOT FOUND THEN
            guard := 'created';
            EXECUTE format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
                'FOR EACH STATEMENT EXECUTE FUNCTION lease.guard_writes(%L, %L)',
                trigger_name, guarded, lease, mode);
            IF wanted = 'always' THEN
                EXECUTE format('ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER %I', guarded, trigger_name);
            END IF;
        ELSIF there.enabled <> wanted THEN
            PERFORM lease.refuse('42710', format('table "%s" is already guarded by lease "%s"',
                    (SELECT c.relname FROM pg_class AS c WHERE c.oid = member), lease),
                format('The guard there is mode newest, %s; asked for was mode newest, %s.',
                    there.enabled, wanted),
                'Call lease_unguard first, in the same transaction.');
        ELSE
            guard := 'kept';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION public.lease_guard(regclass, text, text, boolean) FROM PUBLIC;
COMMENT ON FUNCTION public.lease_guard(regclass, text, text, boolean) IS
    'From now on the table, its partitions and its inheritance children, as they are now, refuse '
    'every writer that does not present the newest token of the lease. Call it again after a '
    'partition or a child was added. Returns a row per table: created, or kept because it was there. '
    'Raises 42501 unless the caller owns every table of the tree, 42809 for what cannot be guarded, '
    '42710 for a guard that fires otherwise. A role needs EXECUTE on lease.guard_writes too.';

CREATE FUNCTION public.lease_unguard(relation regclass, lease text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    guard   record;
    dropped bigint := 0;
BEGIN
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', relation);
    FOR guard IN SELECT g.* FROM lease.guards AS g
        WHERE g.relation IN (SELECT lease.tree(lease_unguard.relation))
            AND (lease_unguard.lease IS NULL OR g.lease = lease_unguard.lease)
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', guard.trigger, guard.relation);
        dropped := dropped + 1;
    END LOOP;
    IF dropped = 0 THEN
        PERFORM lease.refuse('42704', format('table "%s" is not guarded',
                (SELECT c.relname FROM pg_class AS c WHERE c.oid = relation))
                || COALESCE(format(' by lease "%s"', lease), ''),
            'There is no guard to remove.', 'Look at lease.guards for the guards there are.');
    END IF;
    RETURN dropped;
END
$$;
REVOKE ALL ON FUNCTION public.lease_unguard(regclass, text) FROM PUBLIC;
COMMENT ON FUNCTION public.lease_unguard(regclass, text) IS
    'Takes the guards of a lease, or all guards, off a table and its tree; returns how many triggers '
    'went. Raises 42704 where there is none. The caller must own the tables.';
