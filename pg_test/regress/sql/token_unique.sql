-- No number is ever given out twice: not to two leases, not after a rollback, not after a
-- savepoint.
CREATE TABLE seen (token bigint PRIMARY KEY, n serial);
INSERT INTO seen SELECT token FROM lease_acquire('a', 'w');
INSERT INTO seen SELECT token FROM lease_acquire('b', 'w');
-- a grant that is rolled back keeps its number
BEGIN;
SELECT token AS lost FROM lease_acquire('c', 'w') \gset
ROLLBACK;
INSERT INTO seen VALUES (:lost);
INSERT INTO seen SELECT token FROM lease_acquire('c', 'w');
BEGIN;
SAVEPOINT s;
SELECT token AS lost FROM lease_acquire('d', 'w') \gset
ROLLBACK TO s;
INSERT INTO seen VALUES (:lost);
INSERT INTO seen SELECT token FROM lease_acquire('d', 'w');
COMMIT;
-- a takeover that fails in the middle
DO $$
BEGIN
    INSERT INTO seen SELECT token FROM lease_takeover('a', 'x', '1 s');
    RAISE 'no';
EXCEPTION WHEN raise_exception THEN NULL;
END $$;
INSERT INTO seen SELECT token FROM lease_takeover('a', 'x', '1 s');
-- dropped and taken again
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT lease_drop('b');
INSERT INTO seen SELECT token FROM lease_acquire('b', 'w');
INSERT INTO seen SELECT token FROM lease_acquire_many('{a,b,c,d,e,f}', 'v', '1 s', 'never')
WHERE token IS NOT NULL;
SELECT count(*) > 8 AS grants, count(*) = count(DISTINCT token) AS distinct_tokens,
       bool_and(higher) AS always_higher
FROM (SELECT token, token > lag(token, 1, 0) OVER (ORDER BY n) AS higher FROM seen) t;
-- one sequence for all: no gaps between leases
SELECT token AS one FROM lease_takeover('a', 'w', '1 s') \gset
SELECT token - :one AS step FROM lease_takeover('b', 'w', '1 s');

-- what is refused burns no number
SELECT last_value AS before FROM lease.token \gset
\set VERBOSITY sqlstate
SELECT status FROM lease_acquire('a', 'other');
SELECT status FROM lease_acquire_many('{a,b}', 'other');
SELECT lease_acquire('a b', 'w');
SELECT lease_acquire('a', 'w', '0');
SELECT lease_renew('a', 'w', 1, '1 s');
SELECT status FROM lease_release('a', 'w', 1);
SELECT status FROM lease_acquire('b', 'w');
SELECT last_value - :before AS burnt FROM lease.token;
DROP TABLE seen;
DELETE FROM lease.lease;
