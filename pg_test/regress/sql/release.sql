-- A release gives the caller's own lease back at once, and ends its token; otherwise it changes
-- nothing and says so.
\set VERBOSITY sqlstate
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'a', '1 hour') \gset
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
SELECT xmin AS written_by FROM lease.lease \gset
-- not one's own
SELECT acquired, status, owner, token, expires_at - now > '50 min' AS left
FROM lease_release('l', 'b', :token);
SELECT status, owner FROM lease_release('l', 'a', :token - 1);
SELECT status, owner FROM lease_release('l', 'a', :token + 1);
SELECT status, owner FROM lease_release('l', 'a', 0);
SELECT acquired, status, owner, token, expires_at FROM lease_release('unknown', 'a', :token);
SELECT lease_release('l', 'a', NULL);
SELECT xmin = :'written_by' AS untouched FROM lease.lease;
INSERT INTO ledger VALUES (2);

-- one's own
SELECT acquired, status, owner, token, expires_at, renew_after, stop_after
FROM lease_release('l', 'a', :token);
SELECT owner, expires_at, token = :token AS same_token, acquisitions FROM lease.lease;
INSERT INTO ledger VALUES (3);
SELECT lease_fence_check('l', :token);
-- twice is not_held
SELECT status, owner, expires_at FROM lease_release('l', 'a', :token);
-- a successor need not wait
SELECT status, 'l=' || token AS t2, token AS second FROM lease_acquire('l', 'b', '1 hour') \gset
SELECT :'status' AS status, :second > :token AS higher;
-- A expired, B holds, A releases with its old token
SELECT xmin AS written_by FROM lease.lease \gset
SELECT status, owner FROM lease_release('l', 'a', :token);
SELECT xmin = :'written_by' AS untouched FROM lease.lease;

-- a lapsed lease that nobody took can be released
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status FROM lease_release('l', 'b', :second);
-- one that is void cannot: it was granted in another copy of this database
SELECT token AS third FROM lease_acquire('l', 'b', '1 hour') \gset
UPDATE lease.lease SET home = home + 1;
SELECT status FROM lease_release('l', 'b', :third);
UPDATE lease.lease SET home = home - 1;
-- rolled back, it is held as before
BEGIN;
SELECT status FROM lease_release('l', 'b', :third);
ROLLBACK;
SELECT status FROM lease_renew('l', 'b', :third, '1 hour');
TABLE ledger;

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
