-- A row guard: each row is under the lease that it names, as it was and as it becomes.
CREATE TABLE cursor_of (chain text, height bigint);
SELECT name, status FROM lease_acquire_many('{chain:a,chain:b,chain:c}', 'worker', '1 hour') ORDER BY 1;
SELECT token AS a FROM lease.status WHERE name = 'chain:a' \gset
SELECT token AS b FROM lease.status WHERE name = 'chain:b' \gset
SELECT token AS c FROM lease.status WHERE name = 'chain:c' \gset
INSERT INTO cursor_of VALUES ('a', 1), ('b', 1), ('c', 1), (NULL, 1);
SELECT * FROM lease_guard('cursor_of', lease_column => 'chain', prefix => 'chain:');
SELECT relation, lease, lease_column, prefix, mode, signed, enabled, trigger FROM lease.guards;

-- without a token, and with that of another lease
INSERT INTO cursor_of VALUES ('a', 2);
SET pg_lease.token = 'chain:b=1';
UPDATE cursor_of SET height = 2 WHERE chain = 'a';
DELETE FROM cursor_of WHERE chain = 'a';
\set VERBOSITY sqlstate
-- with a stale one, with that of its own
INSERT INTO cursor_of VALUES ('b', 2);
SELECT set_config('pg_lease.token', 'chain:a=' || :a, false) = '' AS is_none;
INSERT INTO cursor_of VALUES ('a', 2);
UPDATE cursor_of SET height = 3 WHERE chain = 'a';
DELETE FROM cursor_of WHERE chain = 'a' AND height = 2;
INSERT INTO cursor_of VALUES ('b', 2);
UPDATE cursor_of SET height = 3 WHERE chain = 'b';
DELETE FROM cursor_of WHERE chain = 'b';
-- one row of a thousand is another's
INSERT INTO cursor_of SELECT CASE i WHEN 567 THEN 'b' ELSE 'a' END, i FROM generate_series(1, 1000) i;
UPDATE cursor_of SET height = height + 1;
DELETE FROM cursor_of;
-- a statement that meets no row asks for nothing
UPDATE cursor_of SET height = 0 WHERE chain = 'b' AND height = 77;
DELETE FROM cursor_of WHERE chain = 'z';

-- moving a row needs both
UPDATE cursor_of SET chain = 'b' WHERE chain = 'a';
UPDATE cursor_of SET chain = 'a' WHERE chain = 'b';
SELECT set_config('pg_lease.token', format('chain:a=%s,chain:b=%s', :a, :b), false) = '' AS is_none;
UPDATE cursor_of SET chain = 'b', height = 9 WHERE chain = 'a';
UPDATE cursor_of SET chain = 'a' WHERE height = 9;
-- NULL is no lease, on neither side
INSERT INTO cursor_of VALUES (NULL, 2);
UPDATE cursor_of SET chain = NULL WHERE chain = 'a';
UPDATE cursor_of SET chain = 'a' WHERE chain IS NULL;
DELETE FROM cursor_of WHERE chain IS NULL;
\set VERBOSITY default
INSERT INTO cursor_of VALUES (NULL, 2);
-- nor is what makes no name
INSERT INTO cursor_of VALUES ('', 2);
INSERT INTO cursor_of VALUES ('a b', 2);
INSERT INTO cursor_of VALUES (repeat('x', 195), 2);
INSERT INTO cursor_of VALUES (repeat('x', 100000), 2);
-- TRUNCATE, with every token
TRUNCATE cursor_of;
\set VERBOSITY sqlstate
SELECT * FROM cursor_of ORDER BY 1, 2;

-- what a savepoint takes back is asked for again; what lease_fence_check presents wins
RESET pg_lease.token;
BEGIN;
SAVEPOINT s;
SELECT lease_fence_check('chain:a', :a);
UPDATE cursor_of SET height = height + 1 WHERE chain = 'a';
ROLLBACK TO s;
UPDATE cursor_of SET height = height + 1 WHERE chain = 'a';
ROLLBACK;
BEGIN;
SELECT lease_fence_check('chain:a', :a);
UPDATE cursor_of SET height = 10 WHERE chain = 'a';
SET LOCAL pg_lease.token = 'chain:a=1';
UPDATE cursor_of SET height = 11 WHERE chain = 'a';
SELECT lease_fence_check('chain:b', :b);
UPDATE cursor_of SET height = 11 WHERE chain = 'b';
COMMIT;
BEGIN;
SELECT set_config('pg_lease.token', 'chain:a=' || :a, true) = '' AS is_none;
UPDATE cursor_of SET height = 12 WHERE chain = 'a';
SET LOCAL pg_lease.token = 'chain:a=1';
UPDATE cursor_of SET height = 13 WHERE chain = 'a';
ROLLBACK;
-- the commit looks again, at every lease
BEGIN;
SELECT set_config('pg_lease.token', format('chain:a=%s,chain:b=%s', :a, :b), true) = '' AS is_none;
UPDATE cursor_of SET height = 14 WHERE chain IN ('a', 'b');
UPDATE lease.lease SET token = token + 1 WHERE name = 'chain:a';
COMMIT;
BEGIN;
SELECT set_config('pg_lease.token', format('chain:a=%s,chain:b=%s', :a, :b), true) = '' AS is_none;
UPDATE cursor_of SET height = 14 WHERE chain IN ('a', 'b');
PREPARE TRANSACTION 'rows';
SET lock_timeout = '50ms';
SELECT status FROM lease_takeover('chain:b', 'other', '1 hour');
RESET lock_timeout;
COMMIT PREPARED 'rows';
-- the last write and the release; after it, nothing
BEGIN;
SELECT set_config('pg_lease.token', 'chain:a=' || :a, true) = '' AS is_none;
UPDATE cursor_of SET height = 15 WHERE chain = 'a';
SELECT status FROM lease_release('chain:a', 'worker', :a);
SAVEPOINT s;
UPDATE cursor_of SET height = 16 WHERE chain = 'a';
ROLLBACK TO s;
COMMIT;
SELECT * FROM cursor_of WHERE chain IS NOT NULL ORDER BY 1, 2;
-- under REPEATABLE READ too, a token that is newer than the snapshot is refused
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM cursor_of;
SELECT token AS a FROM lease_acquire('chain:a', 'worker', '1 hour') \gset
SELECT set_config('pg_lease.token', 'chain:a=' || :a, true) = '' AS is_none;
UPDATE cursor_of SET height = 17 WHERE chain = 'a';
ROLLBACK;
-- called by hand, the condition grants nothing
SELECT lease.guard_row('c', 'chain:', 'current', false);
SELECT set_config('pg_lease.token', 'chain:c=' || :c, false) = '' AS is_none;
SELECT lease.guard_row('c', 'chain:', 'current', false);
SELECT lease.guard_row('c', 'chain:', 'current', true);
SELECT lease.guard_row('c', 'chain:', 'none', false);
SELECT lease.guard_row(NULL, 'chain:', 'current', false);
SELECT lease.guard_row('c', NULL, 'current', false);
RESET pg_lease.token;

-- put on again, otherwise, and taken off
SELECT * FROM lease_guard('cursor_of', lease_column => 'chain', prefix => 'chain:');
\set VERBOSITY default
SELECT * FROM lease_guard('cursor_of', lease_column => 'chain', prefix => 'chains:');
\set VERBOSITY sqlstate
SELECT * FROM lease_guard('cursor_of', lease_column => 'chain', prefix => 'chain:', mode => 'live');
SELECT * FROM lease_guard('cursor_of', lease_column => 'chain', prefix => 'chain:', always => false);
SELECT * FROM lease_guard('cursor_of', lease_column => 'chain', prefix => 'chain:', signed => true);
-- beside a guard of the whole table
SELECT * FROM lease_guard('cursor_of', 'mover');
SELECT lease, lease_column, enabled FROM lease.guards ORDER BY lease;
SELECT set_config('pg_lease.token', 'chain:c=' || :c, false) = '' AS is_none;
UPDATE cursor_of SET height = 18 WHERE chain = 'c';
SELECT lease_unguard('cursor_of', 'mover');
UPDATE cursor_of SET height = 18 WHERE chain = 'c';
SELECT lease_unguard('cursor_of', 'mover');
SELECT lease_unguard('cursor_of');
SELECT lease_unguard('cursor_of');
SELECT count(*) FROM lease.guards;
RESET pg_lease.token;
TRUNCATE cursor_of;

-- what cannot be
\set VERBOSITY default
SELECT lease_guard('cursor_of', lease_column => 'nosuch');
SELECT lease_guard('cursor_of', lease_column => 'Chain');
SELECT lease_guard('cursor_of', lease_column => 'ctid');
SELECT lease_guard('cursor_of', 'mover', lease_column => 'chain');
SELECT lease_guard('cursor_of', 'mover', prefix => 'chain:');
SELECT lease_guard('cursor_of', lease_column => 'chain', prefix => 'a b');
SELECT lease_guard('cursor_of', lease_column => 'chain', prefix => repeat('x', 200));
SELECT lease_guard('cursor_of', lease_column => 'chain', mode => 'none');
\set VERBOSITY sqlstate
SELECT lease_guard('cursor_of', lease_column => 'chain', prefix => NULL);
SELECT lease_guard('cursor_of');
SELECT lease_guard('lease.guards', lease_column => 'lease');
SELECT lease_guard('lease.lease', lease_column => 'name');
SELECT count(*) FROM lease.guards;
DROP TABLE cursor_of;
DELETE FROM lease.lease;
