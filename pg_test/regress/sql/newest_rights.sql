-- A check is open to everybody, so in mode newest it raises the token only for who may execute
-- lease_fence_raise; a guarded write raises it for who may write the table.
CREATE ROLE regress_lease_plain;
CREATE ROLE regress_lease_mover;
GRANT EXECUTE ON FUNCTION lease_fence_raise TO regress_lease_mover;
CREATE TABLE reading (id int);
GRANT INSERT ON reading TO regress_lease_mover;
SELECT guard FROM lease_guard('reading', 'site:7', 'newest');
SELECT lease_fence_raise('site:7', 17);
\set VERBOSITY sqlstate
SET ROLE regress_lease_plain;
SELECT lease_fence_check('site:7', 16, 'newest');
SELECT lease_fence_check('site:7', 17, 'newest');
SELECT lease_fence_check('site:7', 18, 'newest');
SELECT lease_fence_check('unknown', 1, 'newest');
SELECT lease_fence_check('site:7', 9223372036854775807, 'newest');
BEGIN READ ONLY;
SELECT lease_fence_check('site:7', 17, 'newest');
SELECT lease_fence_check('site:7', 18, 'newest');
ROLLBACK;
SET pg_lease.token TO 'site:7=18';
INSERT INTO reading VALUES (0);
\set VERBOSITY default
SELECT lease_fence_check('site:7', 18, 'newest');
\set VERBOSITY sqlstate
RESET ROLE;
SELECT name, token FROM lease.fence;
-- who may raise
SET ROLE regress_lease_mover;
SELECT lease_fence_check('site:7', 18, 'newest');
INSERT INTO reading VALUES (1);
-- who may write
RESET ROLE;
REVOKE EXECUTE ON FUNCTION lease_fence_raise FROM regress_lease_mover;
SET ROLE regress_lease_mover;
SELECT lease_fence_check('site:7', 19, 'newest');
SET pg_lease.token TO 'site:7=19';
INSERT INTO reading VALUES (2);
RESET ROLE;
SELECT name, token FROM lease.fence;
-- PUBLIC is everybody
GRANT EXECUTE ON FUNCTION lease_fence_raise TO PUBLIC;
SET ROLE regress_lease_plain;
SELECT lease_fence_check('site:7', 20, 'newest');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION lease_fence_raise FROM PUBLIC;
SELECT name, token FROM lease.fence;
TABLE reading;
RESET pg_lease.token;
DROP TABLE reading;
DROP ROLE regress_lease_plain, regress_lease_mover;
DELETE FROM lease.fence;
