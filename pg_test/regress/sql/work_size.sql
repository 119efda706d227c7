-- A claim looks at the keys that it takes, whatever the size of the queue, also where the session has
-- planned its statements while the queue was empty.
ALTER TABLE lease.work SET (autovacuum_enabled = off);
SELECT array_agg(n ORDER BY n) AS shards, array_agg(token ORDER BY n) AS tokens
FROM generate_series(0, 49) AS n, lease_acquire('shard:' || n, 'w', '1 hour') \gset
DO $$ BEGIN
    FOR i IN 1 .. 10 LOOP
        PERFORM lease_work_claim('q', 'w', 5);
        PERFORM lease_work_claim('q', 'w', 5, '30 s', '{1}', '{1}');
    END LOOP;
END $$;
INSERT INTO lease.work (generation, ready_at, attempts, shard, queue, key)
SELECT n, compute_now() - interval '1 hour' + n * interval '1 ms', 0, n % 256, 'q', n
FROM generate_series(1, 50000) AS n;
CREATE VIEW looked_at AS
SELECT seq_scan, idx_tup_fetch FROM pg_stat_xact_all_tables WHERE relid = 'lease.work'::regclass;
BEGIN;
SELECT count(*) FROM lease_work_claim('q', 'w', 5);
SELECT seq_scan, idx_tup_fetch <= 20 AS few FROM looked_at;
COMMIT;
BEGIN;
SELECT count(*) FROM lease_work_claim('q', 'w', 5, '30 s', :'shards', :'tokens');
SELECT seq_scan, idx_tup_fetch <= 50 * 15 + 50 AS few FROM looked_at;
COMMIT;
-- nor do adding, ending and putting off look further than at their key
BEGIN;
SELECT lease_work_add('q', '40000') = 40000 AS there;
SELECT generation AS g FROM lease.work WHERE key = '1' \gset
SELECT lease_work_done('q', '1', :g);
SELECT generation AS g FROM lease.work WHERE key = '2' \gset
SELECT lease_work_retry('q', '2', :g, 'x', '1 s') IS NOT NULL AS put_off;
COMMIT;
DELETE FROM lease.work;
DELETE FROM lease.lease;
DROP VIEW looked_at;
ALTER TABLE lease.work RESET (autovacuum_enabled);
