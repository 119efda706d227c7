-- A renewal extends the caller's own lease and nothing else: it keeps the token, takes nothing back
-- and creates nothing.
\set VERBOSITY sqlstate
TRUNCATE lease.lease;
SELECT token FROM lease_acquire('l', 'a', '15 s') \gset
SELECT acquired, status, owner, token = :token AS same, expires_at - now AS left,
       renew_after, stop_after
FROM lease_renew('l', 'a', :token, '30 s');
-- shorter is a renewal too, and repeating it is harmless
SELECT status, expires_at - now AS left FROM lease_renew('l', 'a', :token, '5 s');
SELECT status, expires_at - now AS left FROM lease_renew('l', 'a', :token, '5 s');
SELECT acquisitions, ttl_ms FROM lease.lease;
-- ownership did not change
SELECT since AS before FROM lease.lease \gset
SELECT status FROM lease_renew('l', 'a', :token, '15 s');
SELECT since = :'before'::timestamptz AS same_since FROM lease.lease;
-- each renewal is a heap-only update
BEGIN;
SELECT count(*) AS renewed FROM generate_series(1, 3), lease_renew('l', 'a', :token, '15 s');
SELECT status FROM lease_renew('l', 'a', :token, '15 s');
SELECT status FROM lease_renew('l', 'a', :token, '15 s');
SELECT n_tup_upd - n_tup_hot_upd AS not_heap_only, n_tup_hot_upd > 0 AS counted
FROM pg_stat_xact_all_tables WHERE relid = 'lease.lease'::regclass;
COMMIT;

-- lapsed, and nobody took it: it goes on
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT status, token = :token AS same, expires_at - now AS left
FROM lease_renew('l', 'a', :token, '15 s');

-- not one's own: another owner, another token, an unknown name
SELECT lease_renew('l', 'b', :token, '15 s');
SELECT lease_renew('l', 'a', :token - 1, '15 s');
SELECT lease_renew('l', 'a', :token + 1, '15 s');
SELECT lease_renew('l', 'a', 0, '15 s');
SELECT lease_renew('l', 'a', NULL, '15 s');
SELECT lease_renew('unknown', 'a', :token, '15 s');
-- lost to another, who holds it or has let it lapse or has released it
SELECT token AS taken FROM lease_takeover('l', 'b', '15 s') \gset
SELECT lease_renew('l', 'a', :token, '15 s');
UPDATE lease.lease SET expires_at = '2020-01-01';
SELECT lease_renew('l', 'a', :token, '15 s');
SELECT status FROM lease_release('l', 'b', :taken);
SELECT lease_renew('l', 'a', :token, '15 s');
SELECT lease_renew('l', 'b', :taken, '15 s');
SELECT owner, expires_at FROM lease.lease;
-- taken back by the same owner under a new token: the old one stays lost
SELECT token AS again FROM lease_acquire('l', 'a', '15 s') \gset
SELECT lease_renew('l', 'a', :token, '15 s');
SELECT status FROM lease_renew('l', 'a', :again, '15 s');
-- void: granted in another copy of this database
UPDATE lease.lease SET home = home + 1;
SELECT lease_renew('l', 'a', :again, '15 s');
UPDATE lease.lease SET home = home - 1;

-- the row is gone: lost, and no row is created
DELETE FROM lease.lease;
SELECT lease_renew('l', 'a', :again, '15 s');
SELECT count(*) AS leases FROM lease.lease;
SELECT token FROM lease_acquire('l', 'a', '15 s') \gset
TRUNCATE lease.lease;
SELECT lease_renew('l', 'a', :token, '15 s');
SELECT status FROM lease_renew_many('{l}', 'a', ARRAY[:token], '15 s');
SELECT count(*) AS leases FROM lease.lease;
