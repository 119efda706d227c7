-- lease_timeline draws what lease.history says: bars for owners, dots where nobody has the lease.
\set VERBOSITY sqlstate
\pset tuples_only on
\pset format unaligned
TRUNCATE lease.change;
CREATE ROLE regress_lease_plain;
SET TIME ZONE 'Asia/Kolkata';
-- a history of its own time, long past, as it comes out of lease.change
INSERT INTO lease.change
    (at, name, why, old_owner, old_token, new_owner, new_token, vacancy, role, acquisitions) VALUES
('2026-11-29 12:00:00Z', 'job', 'acquired', NULL, NULL, 'host-a:1', 28685000000001, NULL, 'me', 1),
('2026-11-29 12:20:00Z', 'job', 'released', 'host-a:1', 28685000000001, NULL, NULL, NULL, 'me', 1),
('2026-11-29 12:30:00Z', 'job', 'acquired', NULL, NULL, 'host-b:1', 28685000000002, '10 min', 'me', 2),
('2026-11-29 13:00:00Z', 'job', 'expired', 'host-b:1', 28685000000002, 'host-c:1', 28685000000003, '10 min', 'me', 3),
('2026-11-29 13:00:00Z', 'job', 'dropped', 'host-c:1', 28685000000003, NULL, NULL, NULL, 'me', 3),
('2026-11-29 13:00:00Z', 'other', 'acquired', NULL, NULL, 'x', 28685000000004, NULL, 'me', 1);
CREATE FUNCTION drawn(name text, since timestamptz, as_svg boolean) RETURNS text LANGUAGE sql AS $$
    SELECT lease.draw_timeline(name, jsonb_set(lease.timeline_data(name, since)::jsonb, '{now}',
        to_jsonb(lease.unix_us('2026-11-29 13:40:00Z')))::text, as_svg)
$$;
SELECT drawn('job', NULL, false);
SELECT drawn('job', '2026-11-29 12:25:00Z', false);
SELECT drawn('job', NULL, true);
DROP FUNCTION drawn;
-- a time that never comes, or was always past, is none
SELECT count(*) FROM lease_timeline('job', '-infinity') line WHERE line ~ '^job: 3 tenures';
SELECT count(*) FROM lease_timeline('job', 'infinity') line WHERE line ~ '^job: 1 tenure';
SELECT max(length(line)) <= 80 AS fits FROM lease_timeline('job') line;
-- a tenure that goes on; one that has run out
SELECT token FROM lease_acquire('live', 'a', '1 hour') \gset
SELECT count(*) FROM lease_timeline('live') line WHERE line LIKE '%holds it' AND line LIKE '%' || :token || '%';
SET pg_lease.clock_offset = '2 h';
SELECT count(*) FROM lease_timeline('live') line WHERE line LIKE '%lapsed';
SELECT count(*) FROM lease_timeline('live') line WHERE line ~ '^\(nobody\).*\.$';
RESET pg_lease.clock_offset;
-- nothing to draw, for those who may not list it too
SELECT line ~ '^unknown: 0 tenures from' FROM lease_timeline('unknown') line;
SET ROLE regress_lease_plain;
SELECT line ~ '^job: 0 tenures from' FROM lease_timeline('job') line;
RESET ROLE;
SELECT lease_timeline('');
SELECT lease_timeline(NULL);
SELECT lease_timeline_svg('no good');
DROP ROLE regress_lease_plain;
TRUNCATE lease.change;
DELETE FROM lease.lease;
