-- A takeover is at once and always under a new token, whoever holds the lease.
\set VERBOSITY sqlstate
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
-- of a name that nobody had
SELECT acquired, status, owner, expires_at - now AS left, renew_after, stop_after
FROM lease_takeover('l', 'a', '1 min');
SELECT 'l=' || token AS a, token AS first FROM lease.lease \gset
-- of a live lease: the old holder is out
SELECT status, owner, token > :first AS higher, expires_at - now AS left
FROM lease_takeover('l', 'b', '30 s', 'host a is being moved');
SET pg_lease.token TO :'a';
INSERT INTO ledger VALUES (1);
SELECT lease_renew('l', 'a', :first, '1 min');
SELECT status, owner FROM lease_release('l', 'a', :first);
-- of one's own: the last to say hello wins
SELECT token AS second FROM lease.lease \gset
SELECT status, token > :second AS higher FROM lease_takeover('l', 'b', '30 s', reason => NULL);
SELECT lease_fence_check('l', :second);
-- of an expired, a released and a void one
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status FROM lease_takeover('l', 'c', '30 s');
SELECT token AS third FROM lease.lease \gset
SELECT status FROM lease_release('l', 'c', :third);
SELECT status, token > :third AS higher FROM lease_takeover('l', 'c', '30 s');
UPDATE lease.lease SET home = home + 1;
SELECT status, token > :third AS higher FROM lease_takeover('l', 'd', '30 s');
SELECT lease.home() = home AS at_home, owner, acquisitions FROM lease.lease;
-- rolled back, the old holder goes on
SELECT 'l=' || token AS d FROM lease.lease \gset
BEGIN;
SELECT status FROM lease_takeover('l', 'e', '30 s');
ROLLBACK;
SET pg_lease.token TO :'d';
INSERT INTO ledger VALUES (2);
TABLE ledger;
-- a ttl has no default: who takes over must say for how long
SELECT lease_takeover('l', 'e');
SELECT lease_takeover('l', 'e', NULL);
SELECT lease_takeover('l', 'e', '0');

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
