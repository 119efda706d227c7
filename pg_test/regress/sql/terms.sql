-- What a lease was acquired with is read back as it was written, whatever the names beside it, and
-- whichever of it there is.
TRUNCATE lease.lease;
CREATE VIEW asked AS
SELECT n, repeat('n', 1 + n * 7 % 200) AS name, repeat('o', n) AS owner,
       CASE WHEN n % 2 = 0 THEN n * interval '1 s' END AS stall,
       CASE WHEN n % 4 < 2 THEN n * interval '1 min' ELSE '0' END AS quiet,
       CASE WHEN n % 8 < 4 THEN n * -10000000000 END AS progress
FROM generate_series(1, 200) AS n;
SELECT count(*) FROM asked AS a,
    lease_acquire(a.name, a.owner, '1 hour', stall_after => a.stall, quiet_period => a.quiet);
-- twice: the second renewal writes what it has read of the first
CREATE VIEW renewed AS
SELECT a.n, r.status FROM asked AS a JOIN lease.lease AS l USING (name),
    lease_renew(l.name, l.owner, l.token, '1 hour', a.progress) AS r;
SELECT status, count(*) FROM renewed GROUP BY 1;
SELECT status, count(*) FROM renewed GROUP BY 1;
SELECT count(*) FILTER (WHERE l.owner = a.owner) AS owner,
       count(*) FILTER (WHERE l.stall_ms IS NOT DISTINCT FROM extract(epoch FROM stall) * 1000) AS stall,
       count(*) FILTER (WHERE coalesce(l.quiet_ms, 0) = extract(epoch FROM quiet) * 1000) AS quiet,
       count(*) FILTER (WHERE l.progress IS NOT DISTINCT FROM a.progress) AS progress,
       count(*) FILTER (WHERE (l.moved_at > l.since) IS NOT DISTINCT FROM
           CASE WHEN a.progress IS NOT NULL THEN true WHEN stall IS NOT NULL THEN false END) AS moved_at
FROM asked AS a JOIN lease.lease AS l USING (name);
DROP VIEW renewed, asked;
DELETE FROM lease.lease;
