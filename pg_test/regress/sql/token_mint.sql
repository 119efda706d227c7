-- The mint counts on from above everything granted, and at the end of bigint it stops.
CREATE DATABASE regress_lease_mint;
\c regress_lease_mint
CREATE EXTENSION pg_lease;
-- the first incarnation starts at the present microsecond, counted from the beginning of 2026
SELECT last_value AS incarnations, is_called FROM lease.incarnations;
SELECT (extract(epoch FROM clock_timestamp() - '2026-01-01 UTC'::timestamptz) * 1e6)::bigint
    AS before \gset
SELECT token AS first FROM lease_acquire('a', 'w') \gset
SELECT (extract(epoch FROM clock_timestamp() - '2026-01-01 UTC'::timestamptz) * 1e6)::bigint
    AS after \gset
SELECT :first BETWEEN :before AND :after AS present_microsecond;
SELECT last_value AS incarnations, is_called FROM lease.incarnations;
SELECT token - :first AS step FROM lease_acquire('b', 'w');
SELECT last_value AS incarnations FROM lease.incarnations;
-- a new session goes on counting
\c regress_lease_mint
SELECT token - :first AS step FROM lease_acquire('c', 'w');
SELECT last_value AS incarnations FROM lease.incarnations;
-- set back by hand: the next grant of a known lease is above its row, and a new incarnation
SELECT setval('lease.token', 41) AS back;
SELECT token AS c FROM lease.lease WHERE name = 'c' \gset
SELECT token > :c AS higher FROM lease_takeover('c', 'w', '1 s');
SELECT last_value AS incarnations FROM lease.incarnations;
-- another server, another timeline, another start: the seal differs, and the mint starts above all
-- rows
SELECT last_value AS before FROM lease.token \gset
UPDATE lease.lease SET token = token + 1000000000000000 WHERE name = 'a'
RETURNING token AS far \gset
SELECT setval('lease.seal', 1) AS broken;
\c regress_lease_mint
SELECT token > :far AS above_every_row FROM lease_acquire('d', 'w');
SELECT last_value AS incarnations FROM lease.incarnations;
-- nor below the last number given out, when the clock is behind it
SELECT last_value AS before FROM lease.token \gset
DELETE FROM lease.lease;
SELECT setval('lease.seal', 1) AS broken;
\c regress_lease_mint
SELECT token > :before AS above_the_last FROM lease_acquire('d', 'w');
SELECT last_value AS incarnations FROM lease.incarnations;

-- the end of bigint
SELECT setval('lease.token', 9223372036854775806) AS nearly;
SELECT token FROM lease_acquire('e', 'w');
\set VERBOSITY sqlstate
SELECT lease_acquire('f', 'w');
SELECT lease_takeover('e', 'v', '1 s');
SELECT lease_acquire_many('{f,g}', 'w');
SELECT token, owner FROM lease.lease WHERE name = 'e';
SELECT count(*) AS f FROM lease.lease WHERE name = 'f';
-- what needs no new token goes on
SELECT status FROM lease_renew('e', 'w', 9223372036854775807, '1 hour');
SELECT lease_fence_check('e', 9223372036854775807);
SELECT status FROM lease_release('e', 'w', 9223372036854775807);
-- a row at the end stops the next incarnation as well
SELECT setval('lease.seal', 1) AS broken;
\c regress_lease_mint
\set VERBOSITY default
SELECT lease_acquire('f', 'w');
\c regression
DROP DATABASE regress_lease_mint;
