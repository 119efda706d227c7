-- A guard with signed => true takes a token only with a signature of a key that this database trusts
-- for the lease. (Granter and resource are one database here, which is as good for the rules.)
SELECT lease_key_make() AS key \gset
SELECT length(:'key') AS key_characters;
CREATE TABLE reading (id int);
SELECT guard FROM lease_guard('reading', 'mover', mode => 'newest', signed => true);
SELECT relation, lease, mode, signed, enabled FROM lease.guards;
SELECT token AS a FROM lease_acquire('mover', 'a', '1 hour') \gset
SELECT lease_token_sign('mover', :a) AS signature \gset
SELECT length(:'signature') AS signature_characters;
SELECT lease_token_sign('mover', :a) = :'signature' AS the_same_again;
SELECT 'mover=' || :a || '.' || :'signature' AS signed, 'mover=' || :a AS bare \gset

-- nobody is trusted yet
SET pg_lease.token TO :'signed';
\set VERBOSITY sqlstate
INSERT INTO reading VALUES (99);
SELECT lease_fence_raise('mover', :a, :'signature');
SELECT lease_fence_check('mover', :a, 'newest', :'signature');
SELECT lease_key_trust(:'key', 'mover');
SELECT state, pattern FROM lease.keys WHERE public_key = :'key' ORDER BY state;
INSERT INTO reading VALUES (1);
SELECT name, token = :a AS raised FROM lease.fence;
-- the same token, which everybody may know by now, without its signature, or with another
SET pg_lease.token TO :'bare';
INSERT INTO reading VALUES (99);
UPDATE reading SET id = 99;
DELETE FROM reading;
TRUNCATE reading;
COPY reading FROM stdin;
99
\.
SELECT 'mover=' || :a || '.' || CASE WHEN :'signature' LIKE 'A%' THEN 'B' ELSE 'A' END
    || substr(:'signature', 2) AS other \gset
SET pg_lease.token TO :'other';
INSERT INTO reading VALUES (99);
-- a signature of the token under another name
SELECT token AS b FROM lease_acquire('other', 'a', '1 hour') \gset
SELECT 'mover=' || :b || '.' || lease_token_sign('other', :b) AS borrowed \gset
SET pg_lease.token TO :'borrowed';
INSERT INTO reading VALUES (99);
-- by lease_fence_check, with and without
RESET pg_lease.token;
BEGIN;
SELECT lease_fence_check('mover', :a, 'newest');
INSERT INTO reading VALUES (99);
ROLLBACK;
BEGIN;
SELECT lease_fence_check('mover', :a, 'newest', :'signature');
INSERT INTO reading VALUES (2);
COMMIT;
-- it proves that transaction only
INSERT INTO reading VALUES (99);
-- a rolled-back savepoint takes it away
BEGIN;
SAVEPOINT s;
SELECT lease_fence_check('mover', :a, 'newest', :'signature');
INSERT INTO reading VALUES (99);
ROLLBACK TO s;
INSERT INTO reading VALUES (99);
ROLLBACK;
TABLE reading;

-- raising: with the next holder's signature only, whatever the role may execute and write
SELECT token AS c FROM lease_takeover('mover', 'c', '1 hour') \gset
SELECT lease_token_sign('mover', :c) AS signature_c \gset
CREATE ROLE regress_lease_mover;
GRANT EXECUTE ON FUNCTION lease_fence_raise TO regress_lease_mover;
CREATE TABLE open (id int);
SELECT guard FROM lease_guard('open', 'mover', mode => 'newest');
GRANT INSERT ON open TO regress_lease_mover;
SET ROLE regress_lease_mover;
SELECT lease_fence_raise('mover', :c);
SELECT lease_fence_check('mover', :c, 'newest');
SELECT set_config('pg_lease.token', 'mover=' || :c, false) <> '' AS presented;
INSERT INTO open VALUES (99);
SELECT lease_fence_raise('mover', :a, :'signature_c');
SELECT lease_fence_raise('mover', :c, 'x');
SELECT lease_fence_raise('mover', :c, :'signature_c');
-- what is raised may be known, and passes where signatures are not asked for
INSERT INTO open VALUES (3);
RESET ROLE;
SET pg_lease.token TO :'signed';
INSERT INTO reading VALUES (99);
SELECT token = :c AS raised FROM lease.fence;
-- the extension's owner can raise by hand
SELECT lease_fence_raise('mover', :c + 1);
UPDATE lease.fence SET token = :c;

-- other leases are not concerned
SELECT lease_fence_raise('elsewhere', 17);
-- a key that is trusted for other leases does not speak for this one
SELECT lease_key_trust(:'key', 'site:*');
SELECT state, pattern FROM lease.keys WHERE public_key = :'key' ORDER BY state;
SELECT set_config('pg_lease.token', 'mover=' || :c || '.' || :'signature_c', false) <> '' AS presented;
INSERT INTO reading VALUES (99);
SELECT lease_key_trust(:'key', 'mov*');
INSERT INTO reading VALUES (4);
TABLE reading;

\set VERBOSITY default
SET pg_lease.token TO 'mover=17';
INSERT INTO reading VALUES (99);
SELECT lease_fence_check('mover', 17, 'newest', :'signature_c');
SET pg_lease.token TO 'mover=17.abc';
SELECT lease_fence_check('mover', 17, 'newest', 'abc');
SET pg_lease.token TO 'mover=9000000000000000000';
SET ROLE regress_lease_mover;
INSERT INTO open VALUES (99);
RESET ROLE;
RESET pg_lease.token;
REVOKE EXECUTE ON FUNCTION lease_fence_raise FROM regress_lease_mover;
DROP TABLE reading, open;
DROP ROLE regress_lease_mover;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
SELECT lease_key_distrust(:'key');
DELETE FROM lease.key;
