-- lease_drain hands back all leases of an owner and no other's, in random order, over a time.
SELECT count(*) FROM lease_acquire_many(
    ARRAY(SELECT 'node:' || n FROM generate_series(1, 40) AS n), 'gw_1', '1 hour');
SELECT count(*) FROM lease_acquire_many(
    ARRAY(SELECT 'node:' || n FROM generate_series(41, 50) AS n), 'gw_2', '1 hour');
CREATE VIEW holders AS
SELECT owner, state, count(*) FROM lease.status GROUP BY 1, 2 ORDER BY 1;
SELECT clock_timestamp() AS started \gset
CALL lease_drain('gw_1', '1 s');
SELECT clock_timestamp() - :'started' BETWEEN '0.9 s' AND '10 s' AS over_a_second;
TABLE holders;
-- one by one, spread over the time, and not in the order of the names
SELECT max(since) - min(since) > '0.8 s' AS spread,
       array_agg(name ORDER BY since) <> array_agg(name ORDER BY length(name), name) AS shuffled
FROM lease.status WHERE owner IS NULL;
-- nothing left: nothing to do
CALL lease_drain('gw_1', '1 day');
-- at once
CALL lease_drain('gw_2', '0');
TABLE holders;
-- an expired lease is handed back too
SELECT status FROM lease_acquire('node:1', 'gw_1');
UPDATE lease.lease SET expires_at = compute_now() - interval '1 s' WHERE name = 'node:1';
CALL lease_drain('gw_1', '0');
SELECT state, owner FROM lease.status WHERE name = 'node:1';
-- bad input
CALL lease_drain('', '1 s');
CALL lease_drain('gw_1', '-1 s');
CALL lease_drain('gw_1', '2 days');
\set VERBOSITY sqlstate
CALL lease_drain(NULL, '1 s');
CALL lease_drain('gw_1', NULL);
SELECT status FROM lease_acquire('node:1', 'gw_1');
BEGIN;
CALL lease_drain('gw_1', '0');
ROLLBACK;
SET default_transaction_read_only = on;
CALL lease_drain('gw_1', '0');
RESET default_transaction_read_only;
TABLE holders;
-- another role sees none of these leases, and hands none back
CREATE ROLE regress_lease_plain;
SET ROLE regress_lease_plain;
CALL lease_drain('gw_1', '0');
RESET ROLE;
TABLE holders;
-- whatever the search_path is
CREATE SCHEMA trap;
CREATE FUNCTION trap.lease_release(name text, owner text, token bigint) RETURNS lease.answer
    LANGUAGE sql AS 'SELECT NULL::lease.answer';
CREATE FUNCTION trap.never(text, text) RETURNS bool LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.never);
CREATE FUNCTION trap.random() RETURNS float8 LANGUAGE sql AS 'SELECT 1 / 0.0';
SET search_path = trap, public, pg_catalog;
CALL public.lease_drain('gw_1', '0');
RESET search_path;
TABLE holders;
DROP SCHEMA trap CASCADE;
DROP ROLE regress_lease_plain;
DROP VIEW holders;
DELETE FROM lease.lease;
