-- Bulk statements over 10,000 leases in one transaction: each counts, the memory stays small and is
-- given back.
CREATE TABLE block (chain int, n int);
CREATE TABLE parts (chain int, n int) PARTITION BY HASH (n);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT count(*) FROM lease_guard('block', lease_column => 'chain', prefix => 'chain:');
SELECT count(*) FROM lease_guard('parts', lease_column => 'chain', prefix => 'chain:');
DO $$
BEGIN
    FOR batch IN 0..9 LOOP
        PERFORM lease_acquire_many(array_agg('chain:' || i), 'worker', '1 hour')
        FROM generate_series(batch * 1000 + 1, batch * 1000 + 1000) i;
        COMMIT;
    END LOOP;
END $$;
SELECT string_agg(name || '=' || token, ',') AS tokens, length(string_agg(name || '=' || token, ',')) AS length
FROM lease.status \gset
SELECT :length BETWEEN 250000 AND 300000 AS long;
CREATE FUNCTION kb() RETURNS bigint LANGUAGE sql AS
    $$SELECT substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\s+(\d+)')::bigint$$;
SELECT kb() AS before \gset
\set VERBOSITY sqlstate
BEGIN;
SELECT set_config('pg_lease.token', :'tokens', true) = '' AS is_none;
INSERT INTO block SELECT 1 + i % 10000, i FROM generate_series(1, 100000) i;
INSERT INTO parts SELECT * FROM block;
UPDATE block SET chain = 10001 - chain;
DELETE FROM block WHERE n % 2 = 0;
SELECT kb() - :before < 64000 AS bounded;
SELECT count(*) AS presence_locks FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 19457;
COMMIT;
-- the same again and again takes no more
CREATE PROCEDURE again(tokens text) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..10 LOOP
        PERFORM set_config('pg_lease.token', tokens, true);
        UPDATE block SET n = n + 2;
        COMMIT;
    END LOOP;
END $$;
SELECT kb() AS before \gset
CALL again(:'tokens');
SELECT kb() - :before < 8000 AS flat;
DROP PROCEDURE again;
-- each of them counts, at the statement
BEGIN;
SELECT set_config('pg_lease.token', replace(:'tokens', 'chain:7777=', 'chain:x='), true) = '' AS is_none;
INSERT INTO block SELECT i, i FROM generate_series(1, 7776) i;
INSERT INTO block SELECT i, i FROM generate_series(7776, 7778) i;
ROLLBACK;
-- and at the commit
BEGIN;
SELECT set_config('pg_lease.token', :'tokens', true) = '' AS is_none;
INSERT INTO block SELECT i, -1 FROM generate_series(1, 10000) i;
UPDATE lease.lease SET token = token + 1 WHERE name = 'chain:7777';
COMMIT;
BEGIN;
SELECT set_config('pg_lease.token', :'tokens', true) = '' AS is_none;
INSERT INTO block SELECT i, -1 FROM generate_series(1, 10000) i;
SELECT status FROM lease_takeover('chain:10000', 'other', '1 hour');
SAVEPOINT s;
INSERT INTO block VALUES (10000, -2);
ROLLBACK TO s;
INSERT INTO block VALUES (9999, -2);
COMMIT;
-- prepared
BEGIN;
SELECT set_config('pg_lease.token', :'tokens', true) = '' AS is_none;
DELETE FROM block WHERE chain <> 10000 AND n > 0;
PREPARE TRANSACTION 'rows';
SET lock_timeout = '50ms';
SELECT status FROM lease_takeover('chain:1', 'other', '1 hour');
COMMIT PREPARED 'rows';
SELECT status FROM lease_takeover('chain:1', 'other', '1 hour');
RESET lock_timeout;
-- presented one by one
BEGIN;
SELECT count(lease_fence_check(name, token) IS NULL) FROM lease.status WHERE owner = 'worker';
UPDATE block SET n = -3 WHERE chain NOT IN (1, 10000);
UPDATE block SET n = -3 WHERE chain = 1;
ROLLBACK;
SELECT count(*), count(DISTINCT chain), min(n), max(n) FROM block;
SELECT count(*), count(DISTINCT chain) FROM parts;
DROP TABLE block, parts;
DROP FUNCTION kb;
DELETE FROM lease.lease;
