-- A made-up huge token must not lock every later holder out: one that reads as a time more than a
-- day ahead is refused, and only the extension's owner raises the fence that far.
CREATE TABLE reading (id int);
GRANT INSERT ON reading TO PUBLIC;
SELECT guard FROM lease_guard('reading', 'site:7', 'newest');
CREATE ROLE regress_lease_mover;
GRANT EXECUTE ON FUNCTION lease_fence_raise TO regress_lease_mover;
-- tokens count microseconds from the beginning of 2026
SELECT (extract(epoch FROM clock_timestamp() - '2026-01-01 UTC'::timestamptz) * 1e6)::bigint
    AS now \gset
SELECT :now + 23 * 3600 * 1000000::bigint AS soon,
       :now + 25 * 3600 * 1000000::bigint AS tomorrow \gset
\set VERBOSITY sqlstate

SET ROLE regress_lease_mover;
SELECT lease_fence_raise('site:7', :tomorrow);
SELECT lease_fence_raise('site:7', 9223372036854775807);
SELECT lease_fence_check('site:7', :tomorrow, 'newest');
SELECT lease_fence_check('site:7', 9223372036854775807, 'newest');
SET pg_lease.token TO 'site:7=9223372036854775807';
INSERT INTO reading VALUES (1);
RESET pg_lease.token;
SELECT lease_fence_raise('site:7', :soon);
RESET ROLE;
SELECT count(*) AS raised FROM lease.fence WHERE token = :soon;
-- a write under such a token is refused for the extension's owner too: only the raise is theirs
SET pg_lease.token TO 'site:7=9223372036854775807';
INSERT INTO reading VALUES (1);
SELECT lease_fence_check('site:7', :tomorrow, 'newest');
SELECT lease_fence_raise('site:7', :tomorrow);
SELECT count(*) AS raised FROM lease.fence WHERE token = :tomorrow;
-- raised by hand, it is the one to obey
SELECT set_config('pg_lease.token', 'site:7=' || :tomorrow, false) AS presented \gset
SET ROLE regress_lease_mover;
INSERT INTO reading VALUES (2);
RESET ROLE;
TABLE reading;
-- how it reads
\set VERBOSITY default
SET TIME ZONE 'UTC';
SET pg_lease.token TO 'site:7=63072000000000000';
INSERT INTO reading VALUES (3);
RESET TIME ZONE;
-- pg_lease.clock_offset moves leases, not the mint's clock
SET pg_lease.clock_offset = '20000d';
\set VERBOSITY sqlstate
INSERT INTO reading VALUES (3);
RESET pg_lease.clock_offset;

RESET pg_lease.token;
DROP TABLE reading;
REVOKE EXECUTE ON FUNCTION lease_fence_raise FROM regress_lease_mover;
DROP ROLE regress_lease_mover;
DELETE FROM lease.fence;
