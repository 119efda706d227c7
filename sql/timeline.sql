-- A lease's handovers as a picture.

CREATE FUNCTION lease.unix_us(at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    AS $$
SELECT GREATEST(-9e18, LEAST(9e18,
    pg_catalog.date_part('epoch', unix_us.at) OPERATOR(pg_catalog.*) 1000000))::pg_catalog.int8
$$;
COMMENT ON FUNCTION lease.unix_us(timestamptz) IS
    'Microseconds since 1970-01-01 UTC, for lease_timeline; of times that are too far away for that, many.';

CREATE FUNCTION lease.timeline_data(name text, since timestamptz) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    AS $$
BEGIN
    RETURN (
WITH earlier AS (
    SELECT pg_catalog.max(h.at) AS at FROM lease.history AS h
    WHERE h.name OPERATOR(pg_catalog.=) timeline_data.name
        AND h.at OPERATOR(pg_catalog.<) timeline_data.since
), kept AS (
    SELECT h.* FROM lease.history AS h
    WHERE h.name OPERATOR(pg_catalog.=) timeline_data.name
        AND (timeline_data.since IS NULL OR h.at OPERATOR(pg_catalog.>=)
             COALESCE((SELECT e.at FROM earlier AS e), timeline_data.since))
    ORDER BY h.at DESC, h.acquisitions DESC, h.new_token DESC
    LIMIT CASE WHEN timeline_data.since IS NULL THEN 20 ELSE 1000 END
)
SELECT pg_catalog.jsonb_build_object(
    'lease', timeline_data.name,
    'now', lease.unix_us(n.now),
    'offset_s', pg_catalog.date_part('timezone', n.now)::pg_catalog.int8,
    'since', CASE WHEN pg_catalog.isfinite(timeline_data.since)
                      AND (SELECT pg_catalog.count(*) FROM kept) OPERATOR(pg_catalog.<) 1000
                  THEN lease.unix_us(LEAST(timeline_data.since, n.now)) END,
    'token', s.token,
    'expires_at', lease.unix_us(s.expires_at),
    'changes', (SELECT COALESCE(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'at', lease.unix_us(k.at), 'why', k.why, 'old_owner', k.old_owner,
            'old_token', k.old_token, 'new_owner', k.new_owner, 'new_token', k.new_token,
            'vacancy_us', (pg_catalog.date_part('epoch', k.vacancy)
                OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8)
            ORDER BY k.at, k.acquisitions, k.new_token), '[]') FROM kept AS k)
    )::pg_catalog.text
FROM (SELECT lease.clock() AS now OFFSET 0) AS n
LEFT JOIN lease.status AS s ON s.name OPERATOR(pg_catalog.=) timeline_data.name
    AND s.owner IS NOT NULL AND s.state OPERATOR(pg_catalog.<>) 'void'
    );
END
$$;
COMMENT ON FUNCTION lease.timeline_data(text, timestamptz) IS
    'What lease_timeline draws, as JSON, of the leases that one may list.';

CREATE FUNCTION lease.draw_timeline(name text, data text, as_svg boolean) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_draw_timeline';
COMMENT ON FUNCTION lease.draw_timeline(text, text, boolean) IS
    'Draws what lease.timeline_data returns. Raises 22023 for a bad name.';

CREATE FUNCTION lease_timeline(name text, since timestamptz DEFAULT NULL) RETURNS SETOF text
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    AS $$
SELECT pg_catalog.string_to_table(lease.draw_timeline(lease_timeline.name,
    lease.timeline_data(lease_timeline.name, lease_timeline.since), false), E'\n')
$$;
COMMENT ON FUNCTION lease_timeline(text, timestamptz) IS
    'The handovers of a lease as lines of at most 80 columns, from lease.history: a row for each owner, '
    'a bar for each time under one token, dots where nobody had it. since: where it begins; NULL: with '
    'the last 20 changes. What one may not list is left out. Raises 22023 and 22004 for a bad name.';

CREATE FUNCTION lease_timeline_svg(name text, since timestamptz DEFAULT NULL) RETURNS text
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    AS $$
SELECT lease.draw_timeline(lease_timeline_svg.name,
    lease.timeline_data(lease_timeline_svg.name, lease_timeline_svg.since), true)
$$;
COMMENT ON FUNCTION lease_timeline_svg(text, timestamptz) IS
    'The same picture as an SVG file, for browsers. Arguments and errors as lease_timeline.';
