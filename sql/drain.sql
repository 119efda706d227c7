-- Handing back all leases of an owner, one by one over a time, so that those who want them do not
-- all come at once.

CREATE FUNCTION lease.held_by(owner text, over interval) RETURNS TABLE (name text, token bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM lease.check_label('owner', held_by.owner);
    IF over IS NULL OR over <> '0' THEN
        PERFORM lease.check_span('over', over);
    END IF;
    PERFORM lease.check_writable('lease_drain');
    RETURN QUERY
        SELECT l.name, l.token FROM lease.lease AS l
        WHERE l.owner = held_by.owner AND l.home = lease.home()
        ORDER BY random();
END
$$;
REVOKE ALL ON FUNCTION lease.held_by(text, interval) FROM PUBLIC;
COMMENT ON FUNCTION lease.held_by(text, interval) IS
    'The leases of an owner and their tokens, in random order, for lease_drain. Raises 22023 and '
    '22004 for a bad owner or over, 25006 on a standby or in a read-only transaction.';

-- A procedure that commits can neither run as the extension's owner nor fix its search_path. So
-- everything in it is qualified, and what reads the tables is a function.
CREATE PROCEDURE lease_drain(owner text, over interval DEFAULT '60 s')
    LANGUAGE plpgsql
    AS $$
DECLARE
    names pg_catalog.text[];
    tokens pg_catalog.int8[];
    number_of pg_catalog.int4;
    started pg_catalog.timestamptz;
    left_over pg_catalog.interval;
BEGIN
    SELECT pg_catalog.array_agg(h.name), pg_catalog.array_agg(h.token)
    INTO names, tokens FROM lease.held_by(owner, over) AS h;
    number_of := COALESCE(pg_catalog.cardinality(names), 0);
    started := pg_catalog.clock_timestamp();
    FOR i IN 1 .. number_of LOOP
        PERFORM @extschema@.lease_release(names[i], owner, tokens[i]);
        COMMIT;
        EXIT WHEN i OPERATOR(pg_catalog.=) number_of;
        -- what is left of the time, shared out among the leases that are left
        left_over := over OPERATOR(pg_catalog.-)
            (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) started);
        PERFORM pg_catalog.pg_sleep(GREATEST(0, LEAST(
            pg_catalog.date_part('epoch', left_over),
            pg_catalog.date_part('epoch', over))) OPERATOR(pg_catalog./)
            (number_of OPERATOR(pg_catalog.-) i)::pg_catalog.float8);
        COMMIT;
    END LOOP;
END
$$;
REVOKE ALL ON PROCEDURE lease_drain(text, interval) FROM PUBLIC;
COMMENT ON PROCEDURE lease_drain(text, interval) IS
    'Hands back the leases that an owner has, in random order, spread over a time (0 to 1 day), each '
    'in a transaction of its own. CALL it outside a transaction, and take no new leases meanwhile. '
    'Raises 55P03 when a commit under a token does not end within lock_timeout (call again: it goes '
    'on with what is left), 22023 and 22004 for a bad owner or over, 25006 on a standby or in a '
    'read-only transaction, 2D000 inside a transaction.';
