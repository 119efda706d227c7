-- mode current asks for the current token, live for one whose lease has not expired either.
CREATE TABLE by_current (id int);
CREATE TABLE by_live (id int);
CREATE TABLE by_default (id int);
SELECT guard FROM lease_guard('by_current', 'l', 'current');
SELECT guard FROM lease_guard('by_live', 'l', 'live');
SELECT guard FROM lease_guard(relation => 'by_default', lease => 'l');
SELECT relation, lease, mode, enabled, trigger FROM lease.guards ORDER BY relation;
\set VERBOSITY sqlstate
-- before anybody acquired it
SET pg_lease.token TO 'l=1';
INSERT INTO by_current VALUES (1);
INSERT INTO by_live VALUES (1);
-- live
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'a', '1 hour') \gset
SET pg_lease.token TO :'t';
INSERT INTO by_current VALUES (2);
INSERT INTO by_live VALUES (2);
INSERT INTO by_default VALUES (2);
-- expired, and nobody took it: losing contact is not losing ownership, unless the guard says so
UPDATE lease.lease SET expires_at = '2020-01-01';
INSERT INTO by_current VALUES (3);
INSERT INTO by_live VALUES (3);
INSERT INTO by_default VALUES (3);
-- a candidate that is refused costs the holder nothing
SELECT status FROM lease_renew('l', 'a', :token, '1 hour');
SELECT status FROM lease_acquire('l', 'b');
INSERT INTO by_live VALUES (4);
-- in one transaction, each guard asks for itself
UPDATE lease.lease SET expires_at = '2020-01-01';
BEGIN;
INSERT INTO by_current VALUES (5);
INSERT INTO by_live VALUES (5);
COMMIT;
-- released
SELECT status FROM lease_release('l', 'a', :token);
INSERT INTO by_current VALUES (6);
INSERT INTO by_live VALUES (6);
SELECT (SELECT array_agg(id) FROM by_current) AS by_current,
       (SELECT array_agg(id) FROM by_live) AS by_live,
       (SELECT array_agg(id) FROM by_default) AS by_default;
SELECT lease_guard('by_current', 'm', 'Current');
SELECT lease_guard('by_current', 'm', '');
SELECT lease_guard('by_current', 'm', NULL);
SELECT lease_guard('by_current', 'm', always => NULL);
SELECT lease_guard(NULL, 'm');
SELECT lease_guard('by_current', NULL);
\set VERBOSITY default
SELECT lease_guard('by_current', 'm', 'newer');
RESET pg_lease.token;
DROP TABLE by_current, by_live, by_default;
DELETE FROM lease.lease;
