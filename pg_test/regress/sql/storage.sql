-- Wherever a lease's row lies, and whatever was done to its table, the fence finds it as it is now.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT count(*) AS granted
FROM lease_acquire_many((SELECT array_agg('n' || i) FROM generate_series(1, 300) i), 'w', '1 hour');
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'w', '1 hour') \gset
SET pg_lease.token TO :'t';
\set VERBOSITY sqlstate
INSERT INTO ledger VALUES (1);
-- many versions of the row, in one transaction and in many
SELECT count(*) AS renewed, count(DISTINCT status) AS statuses
FROM generate_series(1, 500) i,
LATERAL (SELECT status FROM lease_renew('l', 'w', :token + 0 * i, '1 hour')) r;
INSERT INTO ledger VALUES (2);
DO $$
BEGIN
    FOR i IN 1..200 LOOP
        PERFORM lease_renew(name, owner, token, '1 hour') FROM lease.lease WHERE name = 'l';
        COMMIT;
    END LOOP;
END $$;
INSERT INTO ledger VALUES (3);
-- the place where it was belongs to another row
DELETE FROM lease.lease WHERE name <> 'l';
VACUUM lease.lease;
SELECT count(*) AS granted
FROM lease_acquire_many((SELECT array_agg('m' || i) FROM generate_series(1, 300) i), 'w', '1 hour');
INSERT INTO ledger VALUES (4);
DELETE FROM lease.lease WHERE name = 'l';
INSERT INTO ledger VALUES (0);
VACUUM lease.lease;
SELECT count(*) AS granted
FROM lease_acquire_many((SELECT array_agg('o' || i) FROM generate_series(1, 300) i), 'w', '1 hour');
INSERT INTO ledger VALUES (0);
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'w', '1 hour') \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (5);
-- rewritten, ordered, indexed anew, emptied
VACUUM FULL lease.lease;
INSERT INTO ledger VALUES (6);
CLUSTER lease.lease USING lease_pkey;
INSERT INTO ledger VALUES (7);
REINDEX TABLE lease.lease;
INSERT INTO ledger VALUES (8);
REINDEX INDEX CONCURRENTLY lease.lease_pkey;
INSERT INTO ledger VALUES (9);
ANALYZE lease.lease;
ALTER TABLE lease.lease SET (fillfactor = 90);
INSERT INTO ledger VALUES (10);
ALTER TABLE lease.lease SET (fillfactor = 50);
SELECT status FROM lease_renew('l', 'w', :token, '1 hour');
INSERT INTO ledger VALUES (11);
BEGIN;
TRUNCATE lease.lease;
SAVEPOINT s;
INSERT INTO ledger VALUES (0);
ROLLBACK TO s;
SELECT status FROM lease_acquire('l', 'v');
ROLLBACK;
INSERT INTO ledger VALUES (12);
TRUNCATE lease.lease;
INSERT INTO ledger VALUES (0);
SELECT array_agg(id ORDER BY id) AS ledger FROM ledger;
RESET pg_lease.token;

-- names and owners of every length lie in the row as they should: a refused candidate reads them
SELECT count(*) AS granted
FROM unnest('{1,2,3,4,5,6,7,8,125,126,127,128,199,200}'::int[]) n,
     unnest('{1,2,3,4,5,125,126,127,128,199,200}'::int[]) o,
LATERAL lease_takeover(repeat('n', n), repeat('o', o), '1 hour') t,
LATERAL (SELECT owner, status FROM lease_acquire(t.name, 'p')) r
WHERE r.owner = repeat('o', o) AND r.status = 'held';
SELECT count(*) AS wide
FROM unnest('{1,2,3,4,31,32,50,63,64,200}'::int[]) o,
LATERAL lease_takeover('wide', repeat('🂡', o), '1 hour') t,
LATERAL (SELECT owner FROM lease_acquire(t.name, 'p')) r
WHERE r.owner = repeat('🂡', o);
DROP TABLE ledger;
DELETE FROM lease.lease;
