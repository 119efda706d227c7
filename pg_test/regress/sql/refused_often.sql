-- Thousands of refused writes leave nothing behind: no lock, nothing to answer for, no name in
-- memory that the next holder would stumble over.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS stale, token FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 hour') \gset
SET pg_lease.token TO :'stale';
BEGIN;
DO $$
DECLARE refused int := 0;
BEGIN
    FOR i IN 1..5000 LOOP
        BEGIN
            INSERT INTO ledger VALUES (i);
        EXCEPTION WHEN object_not_in_prerequisite_state THEN refused := refused + 1;
        END;
    END LOOP;
    RAISE NOTICE '% refused', refused;
END $$;
SELECT count(*) AS locks FROM pg_locks
WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid > 2;
SET LOCAL pg_lease.token TO :'good';
INSERT INTO ledger VALUES (0);
COMMIT;
-- more names than a backend remembers
SELECT count(*) AS never_granted FROM generate_series(1, 10000) i,
LATERAL (SELECT lease_release('name:' || i, 'w', 1) AS r) t WHERE (r).status = 'not_held';
SET pg_lease.token TO :'good';
INSERT INTO ledger VALUES (1);
TABLE ledger;
RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
