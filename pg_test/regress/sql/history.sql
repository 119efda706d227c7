-- Each change of ownership is a row of lease.history, and nothing else is.
\set VERBOSITY sqlstate
CREATE ROLE regress_lease_plain;
CREATE VIEW told AS
SELECT name, why, old_owner, old_token IS NOT NULL AS had, new_owner, new_token IS NOT NULL AS has,
       date_trunc('hour', vacancy + '30 min') AS vacancy, role, reason, acquisitions AS n
FROM lease.history ORDER BY at, acquisitions, new_token NULLS LAST, name;
TRUNCATE lease.change;
-- a new lease; renewals and refused candidates are no changes
SELECT token FROM lease_acquire('job', 'a', '1 hour') \gset
SELECT status FROM lease_acquire('job', 'a', '1 hour');
SELECT status FROM lease_renew('job', 'a', :token, '1 hour');
SELECT status FROM lease_acquire('job', 'b', '1 hour');
-- the same owner under a new token; forced, with and without a reason, also by the holder
SELECT token FROM lease_acquire('job', 'a', '1 hour', keep_token => 'never') \gset
SELECT status FROM lease_takeover('job', 'b', '1 hour', 'maintenance');
SELECT token FROM lease_takeover('job', 'b', '1 hour') \gset
-- released, and not a second time
SELECT status FROM lease_release('job', 'b', :token);
SELECT status FROM lease_release('job', 'b', :token);
TABLE told;
SELECT count(*) AS of_the_lease FROM lease.history h JOIN lease.status s USING (name)
WHERE h.old_token = s.token AND h.new_token IS NULL AND h.at = s.since;
-- how long nobody held it: from the release, or from the expiry; never less than nothing
TRUNCATE lease.change;
UPDATE lease.lease SET since = since - interval '7 hours' WHERE name = 'job';
SELECT token FROM lease_acquire('job', 'c', '1 hour') \gset
UPDATE lease.lease SET expires_at = clock_timestamp() - interval '3 hours' WHERE name = 'job';
SELECT status FROM lease_acquire('job', 'd', '1 hour');
UPDATE lease.lease SET expires_at = clock_timestamp() - interval '3 hours' WHERE name = 'job';
SELECT token FROM lease_acquire('job', 'd', '1 hour') \gset
SELECT status FROM lease_release('job', 'd', :token);
UPDATE lease.lease SET since = clock_timestamp() + interval '3 hours' WHERE name = 'job';
SELECT status FROM lease_acquire('job', 'e', '1 hour');
-- held in another copy of the database
UPDATE lease.lease SET home = home + 1;
SELECT status FROM lease_acquire('job', 'f', '1 hour');
TABLE told;
-- in a batch one each, and one each when all are ended; not those that nobody has
TRUNCATE lease.change;
SELECT count(*) FROM lease_acquire_many('{x,y}', 'g', '1 hour');
SELECT lease_void_all();
SELECT lease_void_all();
-- a dropped lease leaves its history
SELECT lease_drop('job');
UPDATE lease.lease SET owner = 'g', expires_at = '2020-01-01' WHERE name = 'y';
SELECT lease_drop('y');
TABLE told;
-- nothing of what is rolled back
BEGIN;
SELECT status FROM lease_acquire('job', 'h');
SAVEPOINT s;
SELECT status FROM lease_takeover('job', 'i', '1 hour');
ROLLBACK TO s;
SELECT count(*) FROM lease.history WHERE name = 'job' AND new_owner IS NOT NULL;
ROLLBACK;
SELECT count(*) FROM lease.history WHERE name = 'job' AND new_owner IS NOT NULL;
-- a reason of any length
SELECT status FROM lease_takeover('long', 'a', '1 hour', repeat('é', 1000000));
SELECT reason = repeat('é', 1000) || '...' AS cut FROM lease.history WHERE name = 'long';
-- nobody writes it by hand, and one sees what one may list
SET ROLE regress_lease_plain;
SELECT count(*) FROM lease.history;
SELECT count(*) FROM lease.change;
RESET ROLE;
SELECT lease_allow('regress_lease_plain', 'x', '{list}');
SET ROLE regress_lease_plain;
SELECT DISTINCT name FROM lease.history;
RESET ROLE;
SELECT lease_disallow('regress_lease_plain', 'x');
DROP ROLE regress_lease_plain;
DROP VIEW told;
DELETE FROM lease.lease;
