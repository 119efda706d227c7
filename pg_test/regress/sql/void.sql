-- A lease that was granted in another copy of this database is void: its token is refused, and the
-- next who asks has it, under a higher token.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'a', '1 hour') \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
UPDATE lease.lease SET home = home + 1;
\set VERBOSITY sqlstate
INSERT INTO ledger VALUES (2);
SELECT lease_fence_check('l', :token);
SELECT lease_fence_check('l', :token, 'live');
SELECT lease_renew('l', 'a', :token, '1 hour');
SELECT status FROM lease_release('l', 'a', :token);
-- its former owner has no claim either, and gets a new token even with while_owner
SELECT status, token > :token AS higher FROM lease_acquire('l', 'a', '1 hour', 'while_owner');
INSERT INTO ledger VALUES (2);
SELECT 'l=' || token AS t FROM lease.lease \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (3);
-- another candidate, though the expiry is far away
UPDATE lease.lease SET home = home + 1;
SELECT status FROM lease_acquire('l', 'b', '1 hour');
TABLE ledger;
-- another database is another home
SELECT lease.home() = lease.home() AS same;
RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
