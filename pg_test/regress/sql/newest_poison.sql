-- Nobody raises the newest token by way of a table of their own: a guard needs the right to guard.
CREATE ROLE regress_lease_plain;
SELECT lease_fence_raise('site:7', 17);
\set VERBOSITY sqlstate
SET ROLE regress_lease_plain;
CREATE TEMP TABLE mine (id int);
CREATE TRIGGER g BEFORE INSERT ON mine EXECUTE FUNCTION lease.guard_writes('site:7', 'newest');
SET pg_lease.token TO 'site:7=18';
INSERT INTO mine VALUES (1);
RESET ROLE;
-- right: CREATE TRIGGER refused (42501), and 17 here
SELECT name, token FROM lease.fence;
RESET pg_lease.token;
DROP TABLE mine;
DROP ROLE regress_lease_plain;
DELETE FROM lease.fence;
