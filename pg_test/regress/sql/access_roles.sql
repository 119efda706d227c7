-- A lease belongs to the role that took it: nobody else renews, releases or presents it but members of
-- that role, a superuser and the extension's owner.
CREATE ROLE regress_lease_a;
CREATE ROLE regress_lease_b;
CREATE ROLE regress_lease_heir;
CREATE ROLE regress_lease_set_only NOINHERIT;
CREATE ROLE regress_lease_pool;
GRANT regress_lease_a TO regress_lease_heir, regress_lease_set_only;
GRANT regress_lease_a, regress_lease_b TO regress_lease_pool;
CREATE TABLE ledger (id int);
GRANT INSERT ON ledger TO PUBLIC;
SELECT guard FROM lease_guard('ledger', 'l');
SELECT lease_allow(role, '*', '{use,force}') FROM unnest('{regress_lease_a,regress_lease_b,
    regress_lease_heir,regress_lease_set_only,regress_lease_pool}'::text[]) AS role;
SET ROLE regress_lease_a;
SELECT token, 'l=' || token AS t FROM lease_acquire('l', 'w', '1 hour') \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
SELECT name, owner, role FROM lease.status;

-- another role, with the same rights, owner and token
SET ROLE regress_lease_b;
INSERT INTO ledger VALUES (2);
\set VERBOSITY sqlstate
SELECT lease_fence_check('l', :token);
SELECT lease_fence_check('l', :token, 'live');
SELECT lease_renew('l', 'w', :token, '1 hour');
SELECT lease_renew_many('{l}', 'w', ARRAY[:token], '1 hour');
SELECT lease_release('l', 'w', :token);
\set VERBOSITY default
-- its owner's name does not make it its own either
SELECT status, owner, token FROM lease_acquire('l', 'w', '1 hour', 'while_owner');
SELECT status, token FROM lease_acquire_many('{l}', 'w');
-- with a wrong owner or token it is simply not held
SELECT status FROM lease_release('l', 'w', 1);
SELECT status FROM lease_renew_many('{l}', 'x', ARRAY[:token], '1 hour');
RESET ROLE;
SELECT token = :token AS untouched, role::regrole FROM lease.lease;

-- a member may, and the lease stays its role's
SET ROLE regress_lease_heir;
INSERT INTO ledger VALUES (3);
SELECT status FROM lease_renew('l', 'w', :token, '1 hour');
SELECT status FROM lease_acquire('l', 'w', '1 hour');
-- one that does not inherit may not, before it sets the role
SET ROLE regress_lease_set_only;
INSERT INTO ledger VALUES (4);
-- a superuser may
RESET ROLE;
INSERT INTO ledger VALUES (5);
SELECT status FROM lease_renew('l', 'w', :token, '1 hour');
SELECT role::regrole FROM lease.lease;

-- a pool's user that sets one role after the other is each of them in turn
SET SESSION AUTHORIZATION regress_lease_pool;
INSERT INTO ledger VALUES (6);
SET ROLE regress_lease_a;
INSERT INTO ledger VALUES (7);
SET ROLE regress_lease_b;
\set VERBOSITY sqlstate
INSERT INTO ledger VALUES (8);
\set VERBOSITY default
-- also in the middle of a transaction that has presented the token as somebody else
BEGIN;
SET LOCAL ROLE regress_lease_a;
INSERT INTO ledger VALUES (9);
INSERT INTO ledger VALUES (10);
SAVEPOINT s;
SET LOCAL ROLE regress_lease_b;
\set VERBOSITY sqlstate
INSERT INTO ledger VALUES (11);
\set VERBOSITY default
ROLLBACK TO s;
INSERT INTO ledger VALUES (12);
SET LOCAL ROLE regress_lease_b;
COMMIT;
RESET ROLE;
-- a lease taken by the pool's user is not its members'
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_lease_pool;
SELECT token AS pool FROM lease_acquire('pool', 'p', '1 hour') \gset
SET ROLE regress_lease_a;
\set VERBOSITY sqlstate
SELECT lease_renew('pool', 'p', :pool, '1 hour');
\set VERBOSITY default
RESET ROLE;
RESET SESSION AUTHORIZATION;

-- what is revoked counts from the next transaction on
GRANT regress_lease_a TO regress_lease_b;
SET ROLE regress_lease_b;
INSERT INTO ledger VALUES (13);
RESET ROLE;
REVOKE regress_lease_a FROM regress_lease_b;
SET ROLE regress_lease_b;
\set VERBOSITY sqlstate
INSERT INTO ledger VALUES (14);
\set VERBOSITY default
RESET ROLE;

-- takeover makes it the taker's; a lapse leaves it to the next one
SET ROLE regress_lease_b;
SELECT token AS t2 FROM lease_takeover('l', 'w', '1 hour') \gset
SELECT lease_fence_check('l', :t2);
SET ROLE regress_lease_a;
\set VERBOSITY sqlstate
SELECT lease_renew('l', 'w', :t2, '1 hour');
\set VERBOSITY default
RESET ROLE;
UPDATE lease.lease SET expires_at = '2020-01-01' WHERE name = 'l';
SET ROLE regress_lease_a;
SELECT status, token > :t2 AS higher, token AS t3 FROM lease_acquire('l', 'w', '1 hour', 'while_owner') \gset
SELECT :'status' AS status, :'higher' AS higher;
SELECT lease_fence_check('l', :t3);
RESET ROLE;

-- a role that was dropped leaves a lease that is nobody's until it is acquired again
RESET pg_lease.token;
SELECT lease_disallow('regress_lease_a', '*');
DROP ROLE regress_lease_a;
SELECT name, role ~ '^unknown' AS gone FROM lease.status WHERE name = 'l';
SET ROLE regress_lease_heir;
SELECT lease_fence_check('l', :t3);
\set VERBOSITY sqlstate
SELECT lease_renew('l', 'w', :t3, '1 hour');
SELECT lease_release('l', 'w', :t3);
\set VERBOSITY default
SELECT status FROM lease_acquire('l', 'w', '1 hour');
RESET ROLE;
CREATE ROLE regress_lease_a;
SELECT lease_allow('regress_lease_a', '*');
SET ROLE regress_lease_a;
\set VERBOSITY sqlstate
SELECT lease_renew('l', 'w', :t3, '1 hour');
\set VERBOSITY default
RESET ROLE;
SELECT lease_fence_check('l', :t3);
UPDATE lease.lease SET expires_at = '2020-01-01' WHERE name = 'l';
SET ROLE regress_lease_heir;
SELECT status FROM lease_acquire('l', 'w', '1 hour');
RESET ROLE;

TABLE ledger;
DROP TABLE ledger;
DELETE FROM lease.lease;
SELECT lease_disallow(role, '*') FROM lease.access ORDER BY role;
DROP ROLE regress_lease_a, regress_lease_b, regress_lease_heir, regress_lease_set_only,
    regress_lease_pool;
