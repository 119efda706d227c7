-- Lease names are 1 to 200 characters of A-Z a-z 0-9 . _ : @ / - and nothing else; none is
-- shortened.
SELECT name, status FROM lease_acquire('a', 'w');
SELECT name, status FROM lease_acquire('AZaz09._:@/-', 'w');
SELECT length(name), status FROM lease_acquire(repeat('x', 200), 'w');
-- two names that differ in the last of 200 characters, or in case, are two
SELECT status FROM lease_acquire(repeat('x', 199) || 'y', 'v');
SELECT status FROM lease_acquire('A', 'v');
SELECT length(name), owner FROM lease.lease ORDER BY name COLLATE "C";
\set VERBOSITY sqlstate
SELECT lease_acquire(repeat('x', 201), 'w');
SELECT lease_acquire(repeat('x', 8000), 'w');
SELECT lease_acquire(repeat('x', 1000000), 'w');
SELECT lease_acquire('', 'w');
SELECT lease_acquire(NULL, 'w');
SELECT lease_acquire(' a', 'w');
SELECT lease_acquire('a ', 'w');
SELECT lease_acquire('a b', 'w');
SELECT lease_acquire('a%', 'w');
SELECT lease_acquire('a*', 'w');
SELECT lease_acquire('é', 'w');
SELECT lease_acquire(E'a\n', 'w');
SELECT lease_acquire(E'\n', 'w');
SELECT lease_acquire(E'a\tb', 'w');
SELECT lease_acquire('''; drop table x; --', 'w');
SELECT lease_acquire('a=1', 'w');
SELECT lease_acquire('a,b', 'w');
SELECT lease_acquire('a"b', 'w');
SELECT lease_acquire(E'a\u200bb', 'w');
-- every function has the same rule
SELECT lease_acquire_many('{a,"a b"}', 'w');
SELECT lease_acquire_many('{a,NULL}', 'w');
SELECT lease_renew('a b', 'w', 1, '1 s');
SELECT lease_renew(NULL, 'w', 1, '1 s');
SELECT lease_renew_many('{a b}', 'w', '{1}', '1 s');
SELECT lease_release('a b', 'w', 1);
SELECT lease_release(NULL, 'w', 1);
SELECT lease_takeover('a b', 'w', '1 s');
SELECT lease_takeover(NULL, 'w', '1 s');
SELECT lease_drop('a b');
SELECT lease_drop(NULL);
CREATE TABLE ledger (id int);
SELECT lease_guard('ledger', 'a b');
SELECT lease_guard('ledger', NULL);
SELECT lease_guard('ledger', repeat('x', 201));
SELECT lease_unguard('ledger', 'a b');
-- the longest name guards, too
SELECT guard FROM lease_guard('ledger', repeat('x', 200));
SELECT length(lease), mode FROM lease.guards;
INSERT INTO ledger VALUES (1);
SELECT repeat('x', 200) || '=' || token AS t FROM lease.lease WHERE name = repeat('x', 200) \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
RESET pg_lease.token;
SELECT count(*) AS leases FROM lease.lease;
-- a message shows the beginning of a long name, and all of a short one
\set VERBOSITY default
SELECT lease_acquire(repeat('long', 250000), 'w');
SELECT lease_acquire('''; drop table x; --', 'w');
SELECT lease_acquire('', 'w');
SELECT lease_acquire(NULL, 'w');
DROP TABLE ledger;
DELETE FROM lease.lease;
