-- What names no worker, no fleet, no number of shards or no length of time is refused, and so is a
-- second number of shards in a fleet that lives.
\set VERBOSITY sqlstate
SELECT lease_worker_pass(NULL);
SELECT lease_worker_pass('');
SELECT lease_worker_pass('a#1');
SELECT lease_worker_pass(repeat('x', 201));
SELECT lease_worker_pass(repeat('x', 150), incarnation => repeat('y', 50));
SELECT lease_worker_pass(E'a\tb');
SELECT lease_worker_pass('a', NULL);
SELECT lease_worker_pass('a', '');
SELECT lease_worker_pass('a', 'a fleet');
SELECT lease_worker_pass('a', repeat('f', 101));
SELECT lease_worker_pass('a', incarnation => NULL);
SELECT lease_worker_pass('a', incarnation => E'\n');
SELECT lease_worker_pass('a', ttl => NULL);
SELECT lease_worker_pass('a', ttl => '0');
SELECT lease_worker_pass('a', ttl => '1 day 1 s');
SELECT lease_worker_pass('a', live_for => NULL);
SELECT lease_worker_pass('a', live_for => '-1 s');
SELECT lease_worker_pass('a', shards => NULL);
SELECT lease_worker_pass('a', shards => 0);
SELECT lease_worker_pass('a', shards => -1);
SELECT lease_worker_pass('a', shards => 65537);
SELECT lease_worker_pass('a', singletons => NULL);
SELECT lease_worker_pass('a', singletons => '{NULL}');
SELECT lease_worker_pass('a', singletons => '{a b}');
SELECT lease_worker_pass('a', singletons => '{shard:3}');
SELECT lease_worker_pass('a', singletons => '{f/shard:3}');
SELECT lease_worker_pass('a', singletons => array(SELECT 's:' || n FROM generate_series(1, 1001) AS n));
SELECT lease_worker_pass('a', client_now => 'infinity');
SELECT lease_worker_leave(NULL);
SELECT lease_worker_leave('a', 'a fleet');
SELECT lease_fleet(NULL);
SELECT lease_fleet('a fleet');
SELECT count(*) AS none FROM lease.worker;
\set VERBOSITY default
SELECT lease_worker_pass('a#1');
SELECT lease_worker_pass('a', 'a fleet');
SELECT lease_worker_pass('a', live_for => '1 month');
SELECT lease_worker_pass('a', singletons => '{f/shard:3}');
-- what no other worker goes by is good again when nobody lives who went by another
SELECT count(*) FROM lease_worker_pass('a', shards => 8);
SELECT lease_worker_pass('b', shards => 4);
SELECT change, count(*) FROM lease_worker_pass('a', shards => 4) GROUP BY 1 ORDER BY 1;
SELECT name FROM lease.lease WHERE owner IS NOT NULL ORDER BY name;
-- the client's clock
SELECT count(*) FROM lease_worker_pass('a', shards => 4, client_now => compute_now() + interval '1 minute');
SELECT round(extract(epoch FROM skew)) AS skew FROM lease_fleet();
SELECT count(*) FROM lease_worker_pass('a', shards => 4, client_now => compute_now() + interval '0.5 s');
SELECT skew FROM lease_fleet();
-- read only, and one pass at a time
BEGIN READ ONLY;
SELECT lease_worker_pass('a', shards => 4);
ROLLBACK;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
