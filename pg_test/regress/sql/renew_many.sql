-- lease_renew_many answers each pair in the order given; one that is lost never fails the others.
\set VERBOSITY sqlstate
SELECT array_agg(token ORDER BY name) AS tokens
FROM lease_acquire_many('{a,b,c}', 'me', '1 hour') \gset
SELECT name, acquired, status, owner, token = ANY (:'tokens'::bigint[]) AS same,
       expires_at - now AS left,
       renew_after
FROM lease_renew_many('{a,b,c}', 'me', :'tokens', '30 s');
-- lost ones, in the middle and for each reason
SELECT status FROM lease_takeover('b', 'other', '1 hour');
SELECT name, acquired, status, owner, token IS NOT NULL AS token, renew_after
FROM lease_renew_many('{unknown,c,b,a}', 'me',
    ARRAY[1, (:'tokens'::bigint[])[3], (:'tokens'::bigint[])[2], (:'tokens'::bigint[])[1]], '30 s');
SELECT name, status
FROM lease_renew_many('{a,c}', 'you', ARRAY[(:'tokens'::bigint[])[1], 0], '30 s');
SELECT count(*) AS leases FROM lease.lease;
-- a lapsed one goes on, a name twice is renewed twice
UPDATE lease.lease SET expires_at = '2020-01-01' WHERE name = 'a';
SELECT name, status, expires_at - now AS left
FROM lease_renew_many('{a,a}', 'me', array_fill((:'tokens'::bigint[])[1], '{2}'), '40 s');
SELECT * FROM lease_renew_many('{}', 'me', '{}', '30 s');

SELECT lease_renew_many('{a,b}', 'me', '{1}', '30 s');
SELECT lease_renew_many('{a}', 'me', '{1,2}', '30 s');
SELECT lease_renew_many('{}', 'me', '{1}', '30 s');
SELECT lease_renew_many(NULL, 'me', '{1}', '30 s');
SELECT lease_renew_many('{a}', 'me', NULL, '30 s');
SELECT lease_renew_many('{NULL}', 'me', '{1}', '30 s');
SELECT lease_renew_many('{a}', 'me', '{NULL}', '30 s');
SELECT lease_renew_many('{a}', NULL, '{1}', '30 s');
SELECT lease_renew_many('{a}', 'me', '{1}', NULL);
-- 1,000 and not one more
SELECT count(*) AS asked, bool_and(status = 'lost') AS lost
FROM lease_renew_many((SELECT array_agg('n' || i) FROM generate_series(1, 1000) i), 'me',
    (SELECT array_agg(i) FROM generate_series(1, 1000) i), '30 s');
SELECT lease_renew_many((SELECT array_agg('n' || i) FROM generate_series(1, 1001) i), 'me',
    (SELECT array_agg(i) FROM generate_series(1, 1001) i), '30 s');
\set VERBOSITY default
SELECT lease_renew_many('{a,b}', 'me', '{1}', '30 s');
SELECT lease_renew_many('{a}', 'me', '{NULL}', '30 s');
DELETE FROM lease.lease;
