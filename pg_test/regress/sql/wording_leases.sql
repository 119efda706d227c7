-- Each refusal of a lease function names the lease, gives both facts, and says what to do next.
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

-- a renewal of what is not one's own
SELECT pg_temp.said('SELECT lease_renew(''arbitrum'', ''worker-b'', 41, ''1 s'')');
SELECT pg_temp.said('SELECT lease_renew(''arbitrum'', ''worker-a'', 40, ''1 s'')');
SELECT pg_temp.said('SELECT lease_renew(''nobody'', ''worker-a'', 41, ''1 s'')');
SELECT token FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
SELECT pg_temp.said('SELECT lease_renew(''arbitrum'', ''worker-a'', 41, ''1 s'')');
SELECT status FROM lease_release('arbitrum', 'worker-b', 42);
SELECT pg_temp.said('SELECT lease_renew(''arbitrum'', ''worker-b'', 42, ''1 s'')');
SELECT token FROM lease_takeover('arbitrum', 'worker-b', '1 hour');
UPDATE lease.lease SET home = home + 1;
SELECT pg_temp.said('SELECT lease_renew(''arbitrum'', ''worker-b'', 43, ''1 s'')');
UPDATE lease.lease SET home = home - 1;
-- of work that stands still
SELECT token AS stuck FROM lease_acquire('stuck', 'worker-a', '1 hour', stall_after => '1500 ms') \gset
SET pg_lease.clock_offset = '2s';
SELECT pg_temp.said($$SELECT lease_renew('stuck', 'worker-a', $$ || :stuck || $$, '1 s')$$);
-- a drop
SELECT lease_release('stuck', 'worker-a', :stuck) IS NOT NULL AS released;
SELECT status FROM lease_acquire('stuck', 'worker-a', '1 ms', quiet_period => '1 hour');
SET pg_lease.clock_offset = '3s';
SELECT pg_temp.said('SELECT lease_drop(''stuck'')');
RESET pg_lease.clock_offset;
DELETE FROM lease.lease WHERE name = 'stuck';
SELECT pg_temp.said('SELECT lease_drop(''arbitrum'')');
SELECT pg_temp.said('SELECT lease_drop(''nobody'')');
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT pg_temp.said('SELECT lease_drop(''arbitrum'')');
-- held by what is prepared
SET pg_lease.token TO 'arbitrum=43';
BEGIN;
INSERT INTO ledger VALUES (1);
PREPARE TRANSACTION 'regress_wording';
SET lock_timeout = '20ms';
SELECT pg_temp.said('SELECT lease_takeover(''arbitrum'', ''worker-c'', ''1 s'')');
SELECT pg_temp.said('SELECT lease_acquire(''arbitrum'', ''worker-c'')');
SELECT pg_temp.said('SELECT lease_release(''arbitrum'', ''worker-b'', 43)');
ROLLBACK PREPARED 'regress_wording';
RESET lock_timeout;
-- arguments
SELECT pg_temp.said('SELECT lease_acquire(''a b'', ''w'')');
SELECT pg_temp.said('SELECT lease_acquire(''a'', E''w\n'')');
SELECT pg_temp.said('SELECT lease_acquire(''a'', ''w'', ''0'')');
SELECT pg_temp.said('SELECT lease_acquire(''a'', ''w'', quiet_period => ''-1 s'')');
SELECT pg_temp.said('SELECT lease_acquire(''a'', ''w'', ''1 s'', ''now and then'')');
SELECT pg_temp.said('SELECT lease_acquire(''a'', NULL)');
SELECT pg_temp.said('SELECT lease_renew(''a'', ''w'', NULL, ''1 s'')');
SELECT pg_temp.said('SELECT lease_acquire_many(NULL, ''w'')');
SELECT setval('lease.token', :before) IS NOT NULL AS set_back;
RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
