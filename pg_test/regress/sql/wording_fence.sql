-- Each refusal of the fence names the lease and the token, gives both facts, and says what to do
-- next.
\pset format unaligned
\pset tuples_only
-- an error with its times taken out, as they differ from run to run
CREATE FUNCTION pg_temp.said(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    code text; message text; detail text; hint text;
BEGIN
    EXECUTE statement;
    RETURN NEXT 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN NEXT code || ' ' || message;
    RETURN NEXT '  ' || regexp_replace(detail, '\d{4}-\d\d-\d\d [\d:]+(\.\d+)?[+-]\d+', '(time)');
    RETURN NEXT '  ' || hint;
END $$;
SELECT last_value AS before FROM lease.token \gset
SELECT status FROM lease_acquire('warm-up', 'w');
SELECT setval('lease.token', 40);
SELECT token FROM lease_acquire('arbitrum', 'worker-a', '1 hour');
CREATE TABLE ledger (id int);
CREATE TABLE live_ledger (id int);
CREATE TABLE shard (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT guard FROM lease_guard('live_ledger', 'arbitrum', 'live');
SELECT guard FROM lease_guard('shard', 'site:7', 'newest');

-- nothing presented
SELECT pg_temp.said('INSERT INTO ledger VALUES (1)');
SELECT pg_temp.said('INSERT INTO shard VALUES (1)');
-- never granted: too high, an unknown lease
SELECT pg_temp.said('SELECT lease_fence_check(''arbitrum'', 42)');
SELECT pg_temp.said('SELECT lease_fence_check(''nobody'', 41)');
-- expired, where a live lease is asked for
UPDATE lease.lease SET expires_at = '2020-01-01';
SET pg_lease.token TO 'arbitrum=41';
SELECT pg_temp.said('INSERT INTO ledger VALUES (1)');
SELECT pg_temp.said('INSERT INTO live_ledger VALUES (1)');
-- released
SELECT status FROM lease_release('arbitrum', 'worker-a', 41);
SELECT pg_temp.said('INSERT INTO ledger VALUES (1)');
-- taken over
SELECT token FROM lease_acquire('arbitrum', 'worker-b', '1 hour');
SELECT pg_temp.said('INSERT INTO ledger VALUES (1)');
SELECT pg_temp.said('TRUNCATE ledger');
SELECT pg_temp.said('SELECT lease_fence_check(''arbitrum'', 41)');
-- taken over, and expired since
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT pg_temp.said('INSERT INTO ledger VALUES (1)');
-- void
SET pg_lease.token TO 'arbitrum=42';
UPDATE lease.lease SET home = home + 1;
SELECT pg_temp.said('INSERT INTO ledger VALUES (1)');
-- newest
SELECT lease_fence_raise('site:7', 17);
SELECT pg_temp.said('SELECT lease_fence_check(''site:7'', 16, ''newest'')');
SELECT pg_temp.said('SELECT lease_fence_raise(''site:7'', 16)');
-- arguments
SELECT pg_temp.said('SELECT lease_fence_check(''arbitrum'', 0)');
SELECT pg_temp.said('SELECT lease_fence_check(''arbitrum'', NULL)');
SELECT pg_temp.said('SELECT lease_fence_check(''arbitrum'', 42, ''best'')');
SELECT pg_temp.said('SELECT lease_fence_check(''a b'', 42)');

-- at the commit it is the same error, without a cause to look for in the statement
UPDATE lease.lease SET home = home - 1;
\set VERBOSITY terse
BEGIN;
INSERT INTO ledger VALUES (1);
UPDATE lease.lease SET token = 43 WHERE name = 'arbitrum';
COMMIT;
BEGIN;
INSERT INTO ledger VALUES (1);
DELETE FROM lease.lease WHERE name = 'arbitrum';
COMMIT;
SELECT setval('lease.token', :before) IS NOT NULL AS set_back;
RESET pg_lease.token;
DROP TABLE ledger, live_ledger, shard;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
