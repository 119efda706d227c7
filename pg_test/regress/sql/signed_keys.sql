-- Keys are changed without a gap: a resource trusts two at once, and what it does not trust any more
-- is refused from the next statement on, by sessions that have taken it before, too.
\set VERBOSITY sqlstate
CREATE TABLE reading (id int);
SELECT guard FROM lease_guard('reading', 'mover', 'newest', signed => true);
SELECT token AS t FROM lease_acquire('mover', 'a', '1 hour') \gset
-- no key
SELECT lease_token_sign('mover', :t);
SELECT lease_key_make() AS one \gset
SELECT lease_token_sign('mover', :t) AS by_one \gset
-- the next waits
SELECT lease_key_make() AS two \gset
SELECT state, public_key = :'one' AS one FROM lease.keys ORDER BY since;
SELECT lease_token_sign('mover', :t) = :'by_one' AS still_by_one;
-- the resource trusts both
SELECT lease_key_trust(:'one'), lease_key_trust(:'two');
SELECT set_config('pg_lease.token', 'mover=' || :t || '.' || :'by_one', false) <> '' AS presented;
INSERT INTO reading VALUES (1);
SELECT lease_key_use(:'two');
SELECT lease_token_sign('mover', :t) AS by_two \gset
SELECT :'by_two' <> :'by_one' AS by_another, state, pattern, public_key = :'two' AS two
FROM lease.keys ORDER BY state, since;
-- signatures by either are good
INSERT INTO reading VALUES (2);
SELECT set_config('pg_lease.token', 'mover=' || :t || '.' || :'by_two', false) <> '' AS presented;
INSERT INTO reading VALUES (3);
-- one is taken back: not if that is rolled back
BEGIN;
SELECT lease_key_distrust(:'two');
SAVEPOINT s;
INSERT INTO reading VALUES (99);
ROLLBACK;
INSERT INTO reading VALUES (4);
BEGIN;
INSERT INTO reading VALUES (5);
SAVEPOINT s;
SELECT lease_key_distrust(:'two');
ROLLBACK TO s;
INSERT INTO reading VALUES (6);
COMMIT;
SELECT lease_key_distrust(:'one');
INSERT INTO reading VALUES (7);
SELECT set_config('pg_lease.token', 'mover=' || :t || '.' || :'by_one', false) <> '' AS presented;
INSERT INTO reading VALUES (99);
SELECT lease_fence_check('mover', :t, 'newest', :'by_one');
-- a key made in a copy of this database signs nothing here, and goes with the next that is made
UPDATE lease.key SET home = 1;
SELECT state FROM lease.keys ORDER BY state;
SELECT lease_token_sign('mover', :t);
SELECT lease_key_use(:'two');
SELECT lease_key_make() AS three \gset
SELECT state, pattern, public_key = :'three' AS three FROM lease.keys ORDER BY state;

-- only what is good now is signed
SELECT lease_token_sign('mover', :t - 1);
SELECT lease_token_sign('mover', :t + 1);
SELECT lease_token_sign('never', 1);
SELECT lease_token_sign('mover', 0);
SELECT lease_token_sign('mover', NULL);
SELECT lease_token_sign(NULL, 1);
SELECT lease_token_sign('a b', 1);
-- an expired lease that nobody took is still its holder's
UPDATE lease.lease SET expires_at = '2026-01-01';
SELECT length(lease_token_sign('mover', :t));
-- not before its grant is for good
BEGIN;
SELECT token AS u FROM lease_takeover('mover', 'b', '1 hour') \gset
SELECT lease_token_sign('mover', :u);
ROLLBACK;
BEGIN;
SELECT token AS u FROM lease_takeover('mover', 'b', '1 hour') \gset
COMMIT;
BEGIN READ ONLY;
SELECT length(lease_token_sign('mover', :u));
SELECT lease_token_sign('mover', :t);
COMMIT;
SELECT status FROM lease_release('mover', 'b', :u);
SELECT lease_token_sign('mover', :u);

-- arguments
SELECT lease_key_use('x');
SELECT lease_key_use(NULL);
SELECT lease_key_use(:'one');
SELECT lease_key_distrust(:'one');
SELECT lease_key_trust(NULL);
SELECT lease_key_trust(:'one', NULL);
SELECT lease_key_trust(:'one', 'a*b');
SELECT lease_key_trust('AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
BEGIN READ ONLY;
SELECT lease_key_trust(:'one');
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_key_make();
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_key_use(:'three');
ROLLBACK;
\set VERBOSITY default
SELECT lease_key_trust('AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
SELECT lease_key_trust('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', 'a*b');
SELECT lease_key_use('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo');
SELECT lease_key_distrust('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo');
SELECT lease_key_distrust(:'two');
DELETE FROM lease.key;
SELECT token AS u FROM lease_acquire('mover', 'b', '1 hour') \gset
SELECT lease_token_sign('mover', :u);
\set VERBOSITY sqlstate
-- nobody but the extension's owner reads a key or makes one
CREATE ROLE regress_lease_plain;
CREATE ROLE regress_lease_watcher IN ROLE pg_monitor;
SELECT length(lease_key_make());
SET ROLE regress_lease_plain;
SELECT lease_key_make();
SELECT lease_key_use(:'one');
SELECT lease_key_trust(:'one');
SELECT lease_key_distrust(:'one');
SELECT lease_token_sign('mover', 1);
TABLE lease.key;
TABLE lease.trusted_key;
TABLE lease.keys;
SET ROLE regress_lease_watcher;
TABLE lease.key;
SELECT state FROM lease.keys;
RESET ROLE;
-- EXECUTE is all that a holder needs to have its token signed; nobody has another's signed
GRANT EXECUTE ON FUNCTION lease_token_sign TO regress_lease_plain;
SELECT lease_allow('regress_lease_plain', 'mover', '{force}');
SET ROLE regress_lease_plain;
SELECT lease_token_sign('mover', :u);
SELECT token AS p FROM lease_takeover('mover', 'plain', '1 hour') \gset
SELECT length(lease_token_sign('mover', :p));
RESET ROLE;
SELECT lease_disallow('regress_lease_plain', 'mover');
REVOKE EXECUTE ON FUNCTION lease_token_sign FROM regress_lease_plain;
RESET pg_lease.token;
DROP TABLE reading;
DROP ROLE regress_lease_plain, regress_lease_watcher;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
DELETE FROM lease.key;
