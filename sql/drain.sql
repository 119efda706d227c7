-- Handing back all leases of an owner, one by one over a time, so that those who want them do not
-- all come at once.
--
-- A procedure that commits can neither run as the extension's owner nor fix its search_path. So
-- everything in it is qualified, it sees what its caller may list, and each release asks whether the
-- caller may.

CREATE FUNCTION lease.release(name text, owner text, token bigint) RETURNS lease.answer
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_drain';
COMMENT ON FUNCTION lease.release(text, text, bigint) IS
    'lease_release by a name that is always the same, for lease_drain, and so in lease.history.';

CREATE PROCEDURE lease_drain(owner text, over interval DEFAULT '60 s')
    LANGUAGE plpgsql
    AS $$
DECLARE
    names pg_catalog.text[];
    tokens pg_catalog.int8[];
    count_of pg_catalog.int4;
    started pg_catalog.timestamptz;
    time_left pg_catalog.float8;
BEGIN
    PERFORM lease.check_writable('lease_drain');
    PERFORM lease.check_label('owner', owner);
    IF over IS NULL OR over OPERATOR(pg_catalog.<>) '0'::pg_catalog.interval THEN
        PERFORM lease.check_span('over', over);
    END IF;
    SELECT pg_catalog.array_agg(s.name ORDER BY s.place), pg_catalog.array_agg(s.token ORDER BY s.place)
    INTO names, tokens
    FROM (SELECT l.name, l.token, pg_catalog.random() AS place FROM lease.status AS l
          WHERE l.owner OPERATOR(pg_catalog.=) lease_drain.owner
            AND l.state OPERATOR(pg_catalog.<>) 'void') AS s;
    count_of := COALESCE(pg_catalog.cardinality(names), 0);
    started := pg_catalog.clock_timestamp();
    FOR i IN 1 .. count_of LOOP
        PERFORM lease.release(names[i], owner, tokens[i]);
        COMMIT;
        -- what is left of the time, shared out among the leases that are left
        time_left := pg_catalog.date_part('epoch', over OPERATOR(pg_catalog.-)
            (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) started));
        time_left := LEAST(time_left, pg_catalog.date_part('epoch', over));
        PERFORM pg_catalog.pg_sleep(time_left OPERATOR(pg_catalog./)
            GREATEST(count_of OPERATOR(pg_catalog.-) i, 1)::pg_catalog.float8)
        WHERE i OPERATOR(pg_catalog.<) count_of;
        COMMIT;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE lease_drain(text, interval) IS
    'Hands back the leases that an owner has, in random order, spread over a time (0 to 1 day), each '
    'in a transaction of its own. CALL it outside a transaction, and take no new leases meanwhile. '
    'Raises 55P03 when a commit under a token does not end within lock_timeout (call again: it goes '
    'on with what is left), 42501 as lease_release, 22023 and 22004 for a bad owner or over, 25006 '
    'on a standby or in a read-only transaction, 2D000 inside a transaction.';
