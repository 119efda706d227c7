-- lease_acquire_many answers each name in the order given, as lease_acquire would, up to 1,000
-- names.
\set VERBOSITY sqlstate
SELECT status FROM lease_acquire('b', 'other', '1 hour');
SELECT status FROM lease_acquire('d', 'me', '1 hour');
SELECT token AS d FROM lease.lease WHERE name = 'd' \gset
SELECT name, acquired, status, owner, token IS NOT NULL AS token, renew_after
FROM lease_acquire_many('{e,b,a,d,c}', 'me', '1 min');
SELECT token = :d AS kept FROM lease.lease WHERE name = 'd';
-- tokens rise in the order of names, whatever order was given: that is the order of the locks
SELECT string_agg(name, ',' ORDER BY token) AS by_token
FROM lease.lease WHERE name IN ('e', 'a', 'c');
-- a name twice: granted, then renewed
SELECT name, status FROM lease_acquire_many('{f,f}', 'me');
SELECT count(DISTINCT token) AS tokens FROM lease_acquire_many('{f,f}', 'me');
SELECT name, status FROM lease_acquire_many('{f,f}', 'me', '1 min', 'never');
-- none
SELECT * FROM lease_acquire_many('{}', 'me');
-- used as a table and as a column
SELECT count(*) FROM (SELECT lease_acquire_many('{f,g}', 'me')) t;
-- a matrix is a list
SELECT name, status FROM lease_acquire_many('{{h,i},{j,k}}', 'me');

SELECT lease_acquire_many(NULL, 'me');
SELECT lease_acquire_many('{a,NULL}', 'me');
SELECT lease_acquire_many('{a,""}', 'me');
SELECT lease_acquire_many('{a}', NULL);
-- a wrong element stops the whole call before it does anything
SELECT lease_acquire_many('{new,"a b"}', 'me');
SELECT count(*) AS new FROM lease.lease WHERE name = 'new';
-- 1,000 at default server settings, and not one more
SHOW max_locks_per_transaction;
SELECT count(*) AS asked, count(DISTINCT token) AS tokens, bool_and(status = 'granted') AS granted
FROM lease_acquire_many((SELECT array_agg('n' || i) FROM generate_series(1, 1000) i), 'me');
SELECT count(*) AS asked, bool_and(status = 'held') AS held
FROM lease_acquire_many((SELECT array_agg('n' || i) FROM generate_series(1, 1000) i), 'you');
SELECT lease_acquire_many((SELECT array_agg('m' || i) FROM generate_series(1, 1001) i), 'me');
SELECT count(*) AS m FROM lease.lease WHERE name ~ '^m';
\set VERBOSITY default
SELECT lease_acquire_many((SELECT array_agg('m' || i) FROM generate_series(1, 1001) i), 'me');
SELECT lease_acquire_many('{a,NULL}', 'me');
DELETE FROM lease.lease;
