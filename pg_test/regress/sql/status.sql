-- lease.status shows every lease as it stands now: held, expired, quiet, free or void.
TABLE lease.status;
SELECT count(*) AS granted FROM lease_acquire_many('{held,expired,free,void,far}', 'a', '1 hour');
SELECT status FROM lease.lease l, lease_release('free', 'a', l.token) WHERE l.name = 'free';
UPDATE lease.lease SET expires_at = '2020-01-01' WHERE name = 'expired';
-- as it comes out of a dump that was restored elsewhere
UPDATE lease.lease SET home = home + 1 WHERE name = 'void';
SELECT name, state, owner, acquisitions, expires_at > now() AS ahead,
       remaining BETWEEN '59 min' AND '1 hour' AS left,
       remaining IS NULL AS none_left
FROM lease.status ORDER BY name;
SELECT s.token = l.token AS token, s.since = l.since AS since,
       s.expires_at = l.expires_at AS expires_at
FROM lease.status s JOIN lease.lease l USING (name) GROUP BY 1, 2, 3;
-- it follows the clock that leases are judged by, and a change of ownership
SET pg_lease.clock_offset = '2h';
SELECT name, state, remaining FROM lease.status ORDER BY name;
SELECT status FROM lease_acquire('held', 'b');
SELECT status FROM lease_acquire('void', 'b');
SELECT name, state, owner, acquisitions FROM lease.status ORDER BY name;
RESET pg_lease.clock_offset;
-- a void lease that was released is free
UPDATE lease.lease SET home = home + 1 WHERE name = 'free';
SELECT state FROM lease.status WHERE name = 'free';
DELETE FROM lease.lease;
