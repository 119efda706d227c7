-- A key is in a queue once, at the earlier of two due times; a claim on it is for a while; what is
-- added while it is claimed is not lost; what failed is due again later, with the reason.
SET TIME ZONE 'UTC';
CREATE VIEW nodes AS
SELECT key, state, attempts, worker, reason FROM lease.work_status WHERE queue = 'nodes' ORDER BY key;
SELECT lease_work_add('nodes', 'a', compute_now() - interval '2 min') > 0 AS generation;
SELECT lease_work_add('nodes', 'b', compute_now() - interval '3 min') AS b \gset
SELECT lease_work_add('nodes', 'c', compute_now() + interval '1 hour') AS c \gset
SELECT lease_work_add('other', 'a') > 0 AS generation;
TABLE nodes;
-- the earlier time wins, and the generation stays while nobody has it claimed
SELECT lease_work_add('nodes', 'c', compute_now() + interval '2 hours') = :c AS same;
SELECT ready_at < compute_now() + interval '61 min' AS earlier FROM lease.work_status WHERE key = 'c';
SELECT lease_work_add('nodes', 'c', compute_now() + interval '30 min') = :c AS same;
SELECT ready_at < compute_now() + interval '31 min' AS earlier FROM lease.work_status WHERE key = 'c';
-- those due longest come first; what is not due is left alone
SELECT key, shard, attempts, reason, claimed_until - compute_now() < '30 s' AS for_half_a_minute
FROM lease_work_claim('nodes', 'w1', 10);
SELECT key FROM lease_work_claim('nodes', 'w2', 10);
TABLE nodes;
SELECT generation AS a FROM lease.work_status WHERE queue = 'nodes' AND key = 'a' \gset
SELECT :b < generation AS raised, generation AS b FROM lease.work_status WHERE key = 'b' \gset
SELECT :'raised' AS claim_raises_the_generation;
-- done: it leaves the queue
SELECT lease_work_done('nodes', 'b', :b);
-- added again while it is claimed: due once more, however often
SELECT lease_work_add('nodes', 'a', compute_now() + interval '1 min') > :a AS raised;
SELECT lease_work_add('nodes', 'a') > :a AS raised;
SELECT lease_work_add('nodes', 'a', compute_now() + interval '2 min') > :a AS raised;
TABLE nodes;
SELECT key FROM lease_work_claim('nodes', 'w2', 10);
SELECT lease_work_done('nodes', 'a', :a);
TABLE nodes;
SELECT key, attempts, generation AS a FROM lease_work_claim('nodes', 'w2') \gset
SELECT :'key' AS key, :attempts AS attempts;
SELECT lease_work_done('nodes', 'a', :a);
-- a claim is ended once
\set VERBOSITY sqlstate
SELECT lease_work_done('nodes', 'a', :a);
SELECT lease_work_done('nodes', 'never', 1);
SELECT lease_work_done('nodes', 'c', :c);
SELECT lease_work_retry('nodes', 'a', :a, 'again');
\set VERBOSITY default

-- what failed is due again, later each time, and says why
SELECT lease_work_add('nodes', 'f') > 0 AS added;
SELECT attempts, generation AS f FROM lease_work_claim('nodes', 'w1', 1) \gset
SELECT due - compute_now() BETWEEN '0.4 s' AND '1 s' AS within_a_second
FROM lease_work_retry('nodes', 'f', :f, 'host is down') AS due;
TABLE nodes;
SELECT key FROM lease_work_claim('nodes', 'w1', 1);
UPDATE lease.work SET ready_at = compute_now(), attempts = 4 WHERE key = 'f';
SELECT attempts, reason, generation AS f FROM lease_work_claim('nodes', 'w1', 1) \gset
SELECT :attempts AS attempts, :'reason' AS reason;
SELECT due - compute_now() BETWEEN '7 s' AND '16 s' AS up_to_16_s
FROM lease_work_retry('nodes', 'f', :f, 'down still') AS due;
UPDATE lease.work SET ready_at = compute_now(), attempts = 2000000000 WHERE key = 'f';
SELECT generation AS f FROM lease_work_claim('nodes', 'w1', 1) \gset
SELECT due - compute_now() BETWEEN '149 s' AND '5 min' AS up_to_five_minutes
FROM lease_work_retry('nodes', 'f', :f, repeat('x', 2000)) AS due;
SELECT length(reason) FROM nodes WHERE key = 'f';
-- or after a given time, or at once; a wake-up meanwhile wins if it is earlier
UPDATE lease.work SET ready_at = compute_now() WHERE key = 'f';
SELECT generation AS f FROM lease_work_claim('nodes', 'w1', 1) \gset
SELECT lease_work_add('nodes', 'f', compute_now() + interval '1 min') > :f AS raised;
SELECT lease_work_retry('nodes', 'f', :f, 'x', '1 hour') < compute_now() + interval '1 min' AS earlier;
UPDATE lease.work SET ready_at = compute_now() WHERE key = 'f';
SELECT generation AS f FROM lease_work_claim('nodes', 'w1', 1) \gset
SELECT lease_work_retry('nodes', 'f', :f, 'not mine any more', '0') <= compute_now() AS at_once;
SELECT generation AS f FROM lease_work_claim('nodes', 'w1', 1) \gset
SELECT lease_work_done('nodes', 'f', :f);

-- a dead worker's claim comes back; who follows it has another generation
SELECT lease_work_add('nodes', 'd') > 0 AS added;
SELECT generation AS dead FROM lease_work_claim('nodes', 'dead', 1, '15 s') \gset
UPDATE lease.work SET ready_at = compute_now() WHERE key = 'd';
TABLE nodes;
SELECT key, attempts, generation AS alive FROM lease_work_claim('nodes', 'alive', 1) \gset
SELECT :'key' AS key, :attempts AS attempts, :alive > :dead AS another;
\set VERBOSITY sqlstate
SELECT lease_work_done('nodes', 'd', :dead);
SELECT lease_work_retry('nodes', 'd', :dead, 'late');
\set VERBOSITY default
SELECT lease_work_done('nodes', 'd', 1);
SELECT lease_work_done('nodes', 'd', :alive);
-- one that has run out, and that nobody followed, is still the worker's
SELECT lease_work_add('nodes', 'd') > 0 AS added;
SELECT generation AS late FROM lease_work_claim('nodes', 'late', 1, '1 ms') \gset
SELECT lease_work_done('nodes', 'd', :late);
-- a wake-up that comes after a lapse counts for the next claim; one that is due later is kept
SELECT lease_work_add('nodes', 'd') > 0 AS added;
SELECT generation AS dead FROM lease_work_claim('nodes', 'dead', 1, '1 hour') \gset
SELECT lease_work_add('nodes', 'd', compute_now() + interval '1 hour') > :dead AS raised;
UPDATE lease.work SET ready_at = compute_now() WHERE key = 'd';
SELECT generation AS alive FROM lease_work_claim('nodes', 'alive', 1) \gset
SELECT lease_work_done('nodes', 'd', :alive);
SELECT key, state FROM nodes WHERE key = 'd';
DELETE FROM lease.work WHERE key = 'd';

-- overdue after five minutes
SELECT lease_work_add('nodes', 'o', compute_now() - interval '4 min 50 s') > 0 AS added;
SELECT lease_work_add('nodes', 'p', compute_now() - interval '5 min 1 s') > 0 AS added;
SELECT queue, key, state, overdue > '5 min' AS overdue FROM lease.work_overdue;
SELECT key FROM lease_work_claim('nodes', 'w', 1);
SELECT count(*) FROM lease.work_overdue;
-- by the database's clock
SET pg_lease.clock_offset = '10 min';
SELECT key, worker FROM lease.work_overdue ORDER BY key;
RESET pg_lease.clock_offset;
DROP VIEW nodes;
DELETE FROM lease.work;
