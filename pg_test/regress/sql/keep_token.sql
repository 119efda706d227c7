-- The same owner again: keep_token says whether its token goes on.
\set VERBOSITY sqlstate
SELECT token AS first FROM lease_acquire('l', 'w', '15 s') \gset
-- live: while_live and while_owner keep the token and bring a full ttl of the new length
SELECT status, token = :first AS kept, expires_at - now AS left
FROM lease_acquire('l', 'w', '20 s');
SELECT status, token = :first AS kept, expires_at - now AS left
FROM lease_acquire('l', 'w', '10 s', 'while_live');
SELECT status, token = :first AS kept FROM lease_acquire('l', 'w', '15 s', 'while_owner');
SELECT acquisitions, ttl_ms FROM lease.lease;
-- never: each acquire is a new token, which fences the owner's former self
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT token AS second FROM lease_acquire('l', 'w', '15 s', 'never') \gset
SELECT token AS third FROM lease_acquire('l', 'w', '15 s', 'never') \gset
SELECT :first < :second AS higher, :second < :third AS and_higher;
SELECT lease_fence_check('l', :second);
SELECT lease_renew('l', 'w', :second, '15 s');
SELECT lease_fence_check('l', :third);
SELECT acquisitions FROM lease.lease;

-- lapsed, and nobody else came: while_live (the default) brings a new token, while_owner keeps it
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status, token = :third AS kept, expires_at - now AS left
FROM lease_acquire('l', 'w', '15 s', 'while_owner');
SELECT acquisitions FROM lease.lease;
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT token AS fourth, status FROM lease_acquire('l', 'w') \gset
SELECT :'status' AS status, :fourth > :third AS higher;
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT token AS fifth, status FROM lease_acquire('l', 'w', '15 s', 'while_live') \gset
SELECT :'status' AS status, :fifth > :fourth AS higher;
SELECT acquisitions FROM lease.lease;
-- released: a new token for everybody, the same owner included
SELECT status FROM lease_release('l', 'w', :fifth);
SELECT status, token > :fifth AS higher FROM lease_acquire('l', 'w', '15 s', 'while_owner');
-- taken by another in between: the same
SELECT token AS others FROM lease_takeover('l', 'v', '15 s') \gset
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status, token > :others AS higher FROM lease_acquire('l', 'w', '15 s', 'while_owner');
-- it is about the caller's own lease: another owner is refused whatever it says
SELECT status FROM lease_acquire('l', 'v', '15 s', 'while_live');
SELECT status FROM lease_acquire('l', 'v', '15 s', 'while_owner');
SELECT status FROM lease_acquire('l', 'v', '15 s', 'never');
-- for many as for one
SELECT token AS sixth FROM lease.lease \gset
SELECT status, token = :sixth AS kept FROM lease_acquire_many('{l}', 'w');
SELECT status, token > :sixth AS higher FROM lease_acquire_many('{l}', 'w', '15 s', 'never');

SELECT lease_acquire('l', 'w', '15 s', 'sometimes');
SELECT lease_acquire('l', 'w', '15 s', 'WHILE_LIVE');
SELECT lease_acquire('l', 'w', '15 s', '');
SELECT lease_acquire('l', 'w', '15 s', NULL);
SELECT lease_acquire_many('{l}', 'w', '15 s', 'sometimes');
SELECT lease_acquire_many('{l}', 'w', '15 s', NULL);
\set VERBOSITY default
SELECT lease_acquire('l', 'w', '15 s', 'sometimes');
DROP TABLE ledger;
DELETE FROM lease.lease;
