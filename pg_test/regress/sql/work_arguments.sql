-- Bad arguments of the work queue get clear errors.
SELECT lease_work_add('a b', 'k');
SELECT lease_work_add('q', '');
SELECT lease_work_add('q', E'tab\there');
SELECT lease_work_add('q', repeat('x', 201));
SELECT lease_work_add('q', 'k', 'infinity');
SELECT lease_work_add('q', 'k', '-infinity');
SELECT lease_work_add('q', 'k', compute_now(), -1);
SELECT lease_work_add('q', 'k', compute_now(), 65536);
SELECT * FROM lease_work_claim('q', 'w', 0);
SELECT * FROM lease_work_claim('q', 'w', -1);
SELECT * FROM lease_work_claim('q', 'w', 1000000);
SELECT * FROM lease_work_claim('q', 'w', 1, '-1 s');
SELECT * FROM lease_work_claim('q', 'w', 1, '0');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 month');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 day 1 ms');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1,2}', '{7}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', NULL, '{7}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1,NULL}', '{7,8}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1,2}', '{7,NULL}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{-1}', '{7}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1}', '{0}');
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1}', '{7}', 'no fleet');
SELECT lease_work_done('q', 'k', 0);
SELECT lease_work_done('q', 'k', 1);
SELECT lease_work_retry('q', 'k', 1, NULL);
SELECT lease_work_retry('q', 'k', 1, 'why', '-1 s');
\set VERBOSITY sqlstate
SELECT lease_work_add(NULL, 'k');
SELECT lease_work_add('q', NULL);
SELECT lease_work_add('q', 'k', NULL);
SELECT * FROM lease_work_claim(NULL, 'w');
SELECT * FROM lease_work_claim('q', NULL);
SELECT * FROM lease_work_claim('q', 'w', NULL);
SELECT * FROM lease_work_claim('q', 'w', 1, NULL);
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{1}', '{7}', NULL);
SELECT lease_work_done(NULL, 'k', 1);
SELECT lease_work_done('q', NULL, 1);
SELECT lease_work_done('q', 'k', NULL);
SELECT lease_work_done('q', 'k', 1);
SELECT lease_work_retry('q', 'k', NULL, 'why');
SELECT lease_work_retry('q', 'k', 1, 'why', '1 month');
SELECT * FROM lease_work_claim('q', 'w', 0);
BEGIN READ ONLY;
SELECT lease_work_add('q', 'k');
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM lease_work_claim('q', 'w');
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_work_done('q', 'k', 1);
ROLLBACK;
BEGIN READ ONLY;
SELECT lease_work_retry('q', 'k', 1, 'why');
ROLLBACK;
-- the largest that are taken
\set VERBOSITY default
SELECT lease_work_add(repeat('q', 200), repeat('é', 200), compute_now(), 65535) > 0 AS added;
SELECT length(key), shard FROM lease_work_claim(repeat('q', 200), repeat('w', 200), 1000, '1 day');
-- no shards are held: no key is claimed
SELECT * FROM lease_work_claim('q', 'w', 1, '1 s', '{}', '{}');
-- only for roles that were let in
\set VERBOSITY sqlstate
CREATE ROLE regress_lease_plain;
SET ROLE regress_lease_plain;
SELECT lease_work_add('q', 'k');
SELECT * FROM lease_work_claim('q', 'w');
SELECT lease_work_done('q', 'k', 1);
SELECT lease_work_retry('q', 'k', 1, 'why');
TABLE lease.work;
TABLE lease.work_status;
TABLE lease.work_overdue;
SELECT lease.claimed_key('q', 'k', 1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION lease_work_add, lease_work_claim, lease_work_done, lease_work_retry
    TO regress_lease_plain;
SET ROLE regress_lease_plain;
SELECT lease_work_add('q', 'k') > 0 AS added;
SELECT key, generation AS k FROM lease_work_claim('q', 'w') \gset
SELECT lease_work_retry('q', 'k', :k, 'why', '0') > '-infinity' AS put_off;
SELECT generation AS k FROM lease_work_claim('q', 'w') \gset
SELECT lease_work_done('q', 'k', :k);
RESET ROLE;
DROP OWNED BY regress_lease_plain;
DROP ROLE regress_lease_plain;
DELETE FROM lease.work;
