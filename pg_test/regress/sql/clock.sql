-- The clock is the database's, read at the call: it moves within a transaction.
SELECT pg_typeof(compute_now());
BEGIN;
SELECT compute_now() AS first \gset
-- nothing but a wait shows that time passes
SELECT pg_sleep(0.02) AS waited \gset
SELECT compute_now() > :'first'::timestamptz + interval '20 ms' AS moves,
       now() < :'first' AS now_stands;
COMMIT;
SELECT compute_now() BETWEEN before AND clock_timestamp() AS servers_own
FROM (SELECT clock_timestamp() AS before OFFSET 0) s;
-- twice in one statement
SELECT bool_and(later >= earlier) AS in_order
FROM (SELECT compute_now() AS earlier, compute_now() AS later FROM generate_series(1, 100)) t;
-- a grant samples it
SELECT now BETWEEN :'first' AND clock_timestamp() AS samples, expires_at - now AS ttl
FROM lease_acquire('arbitrum', 'worker-a', '3 s');
-- and not the transaction's beginning: the full ttl is left, however old the transaction is
BEGIN;
SELECT now() IS NOT NULL AS begun, pg_sleep(0.02) AS waited \gset
SELECT now >= now() + interval '20 ms' AS later_than_begin, expires_at - now AS ttl
FROM lease_takeover('arbitrum', 'worker-b', '3 s');
COMMIT;
DELETE FROM lease.lease;
