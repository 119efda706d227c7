-- lease_void_all ends all leases, as if each had been released, and tells how many.
\set VERBOSITY sqlstate
SELECT lease_void_all();
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT 'l=' || token AS t, token FROM lease_acquire('l', 'a', '1 hour') \gset
SELECT count(*) AS granted FROM lease_acquire_many('{m,n,o}', 'b', '1 hour');
SELECT status FROM lease.lease l, lease_release('o', 'b', l.token) WHERE l.name = 'o';
UPDATE lease.lease SET expires_at = '2020-01-01' WHERE name = 'n';
SELECT lease_void_all();
SELECT name, owner, expires_at FROM lease.lease ORDER BY name;
SELECT name, state FROM lease.status ORDER BY name;
SET pg_lease.token TO :'t';
INSERT INTO ledger VALUES (1);
SELECT lease_renew('l', 'a', :token, '1 hour');
SELECT lease_void_all();
SELECT status, token > :token AS higher FROM lease_acquire('l', 'c', '1 hour');
-- a transaction that wrote under a lease and then ends them all is refused: nothing settles its
-- write
SELECT 'l=' || token AS t FROM lease.lease WHERE name = 'l' \gset
SET pg_lease.token TO :'t';
BEGIN;
INSERT INTO ledger VALUES (2);
SELECT lease_void_all();
COMMIT;
INSERT INTO ledger VALUES (3);
TABLE ledger;
BEGIN;
SELECT lease_void_all();
ROLLBACK;
INSERT INTO ledger VALUES (4);
TABLE ledger;
-- what a database has obeyed for leases of elsewhere is none of its business
SELECT lease_fence_raise('site:7', 17);
SELECT lease_void_all();
SELECT token FROM lease.fence;

RESET pg_lease.token;
DROP TABLE ledger;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
