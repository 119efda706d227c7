-- Owners are 1 to 200 characters without control characters, and are compared exactly.
SELECT status FROM lease_acquire('l', 'gw-1 pid 4711 since 2026-11-29 é 日本');
SELECT owner FROM lease.lease;
-- another spelling is another owner
SELECT status FROM lease_acquire('l', 'GW-1 pid 4711 since 2026-11-29 é 日本');
SELECT status FROM lease_acquire('l', 'gw-1 pid 4711 since 2026-11-29 é 日本 ');
SELECT status FROM lease_acquire('l', E'gw-1 pid 4711 since 2026-11-29 e\u0301 日本');
SELECT status FROM lease_acquire('l', 'gw-1 pid 4711 since 2026-11-29 é 日本');
SELECT status, octet_length(owner) FROM lease_acquire('m', repeat('é', 200));
SELECT status FROM lease_acquire('n', ' ');
SELECT status FROM lease_acquire('o', '''; drop table x; --');
SELECT owner FROM lease.lease WHERE name = 'o';
\set VERBOSITY sqlstate
SELECT lease_acquire('p', '');
SELECT lease_acquire('p', NULL);
SELECT lease_acquire('p', repeat('é', 201));
SELECT lease_acquire('p', repeat('w', 1000000));
SELECT lease_acquire('p', E'a\nb');
SELECT lease_acquire('p', E'a\tb');
SELECT lease_acquire('p', E'a\x7f');
SELECT lease_acquire('p', E'a\u0085b');
SELECT lease_acquire_many('{p}', '');
SELECT lease_acquire_many('{p}', NULL);
SELECT lease_renew('l', '', 1, '1 s');
SELECT lease_renew('l', NULL, 1, '1 s');
SELECT lease_renew_many('{l}', NULL, '{1}', '1 s');
SELECT lease_release('l', '', 1);
SELECT lease_release('l', NULL, 1);
SELECT lease_takeover('l', '', '1 s');
SELECT lease_takeover('l', NULL, '1 s');
SELECT count(*) AS leases FROM lease.lease WHERE name = 'p';
\set VERBOSITY default
SELECT lease_acquire('p', '');
SELECT lease_acquire('p', NULL);
DELETE FROM lease.lease;
