-- A ttl is a whole number of milliseconds from 1 ms to 1 day; a day has 86,400 s in every time
-- zone.
CREATE FUNCTION pg_temp.left_after(ttl interval) RETURNS interval LANGUAGE sql AS
    'SELECT expires_at - now FROM lease_takeover(''l'', ''w'', ttl)';
SELECT expires_at - now AS by_default FROM lease_acquire('l', 'w');
SELECT pg_temp.left_after('1 ms');
SELECT pg_temp.left_after('1.5 s');
SELECT pg_temp.left_after('1 day');
SELECT pg_temp.left_after('24:00:00');
SELECT pg_temp.left_after('-1 day +25 hours');
SELECT pg_temp.left_after('0.001 s');
SELECT pg_temp.left_after(make_interval(secs => 86400));
-- a day is 86,400 s across a change to summer time, and where there is none
SET TIME ZONE 'America/New_York';
SELECT extract(epoch FROM timestamptz '2026-03-08 12:00' - timestamptz '2026-03-07 12:00')
    AS their_day;
SELECT extract(epoch FROM '2026-03-07 12:00'::timestamptz - clock_timestamp()) * 1000 AS ms \gset
SET pg_lease.clock_offset = :ms;
SELECT expires_at, extract(epoch FROM expires_at - now) AS seconds
FROM (SELECT date_trunc('hour', expires_at) AS expires_at, date_trunc('hour', now) AS now
      FROM lease_takeover('l', 'w', '1 day')) t;
SET TIME ZONE 'Asia/Tokyo';
SELECT extract(epoch FROM expires_at - now) AS seconds FROM lease_takeover('l', 'w', '1 day');
RESET pg_lease.clock_offset;
RESET TIME ZONE;
-- kept with the lease, in milliseconds
SELECT ttl_ms FROM lease.lease;

\set VERBOSITY sqlstate
SELECT pg_temp.left_after('0');
SELECT pg_temp.left_after('-1 s');
SELECT pg_temp.left_after('0.5 ms');
SELECT pg_temp.left_after('0.0000004 s');
SELECT pg_temp.left_after('1.0005 s');
SELECT pg_temp.left_after('1 day 1 ms');
SELECT pg_temp.left_after('1 day 0.000001 s');
SELECT pg_temp.left_after('2 days');
SELECT pg_temp.left_after('1 month');
SELECT pg_temp.left_after('1 month -30 days');
SELECT pg_temp.left_after('-1 month +31 days');
SELECT pg_temp.left_after('1 year');
SELECT pg_temp.left_after('-1 day');
SELECT pg_temp.left_after(make_interval(days => 2147483647));
SELECT pg_temp.left_after('178000000 years');
SELECT pg_temp.left_after(NULL);
-- every function that takes a ttl
SELECT lease_acquire('l', 'w', '0');
SELECT lease_acquire('l', 'w', NULL);
SELECT lease_acquire_many('{l}', 'w', '2 days');
SELECT lease_acquire_many('{l}', 'w', NULL);
SELECT lease_renew('l', 'w', 1, '1 month');
SELECT lease_renew('l', 'w', 1, NULL);
SELECT lease_renew_many('{l}', 'w', '{1}', '-1 s');
SELECT lease_renew_many('{l}', 'w', '{1}', NULL);
\set VERBOSITY default
SELECT lease_acquire('l', 'w', '0');
SELECT lease_acquire('l', 'w', '1 month');
SELECT lease_acquire('l', 'w', '1 day 1 ms');
SELECT lease_acquire('l', 'w', '1.0005 s');
SELECT lease_acquire('l', 'w', NULL);
DELETE FROM lease.lease;
