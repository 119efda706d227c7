-- A key's shard and a shard's owner are plain functions: the same for whoever asks, in one call or in
-- many; an argument that names no shard or no worker is refused.
SELECT key, lease_shard_of(key), lease_shard_of(key, 1) AS of_1, lease_shard_of(key, 65536) AS of_65536
FROM unnest('{"",node-1,é,日本}'::text[]) AS key;
SELECT shard, lease_shard_owner(shard, '{w1,w2,w3}') FROM generate_series(0, 5) AS shard;
-- the set is the same as shard by shard, and no order or repetition of workers matters
SELECT count(*), count(*) FILTER (WHERE owner = lease_shard_owner(shard, '{w3,w1,w2,w1}')) AS same
FROM lease_shard_owners('{w1,w2,w3}');
SELECT count(*), min(shard), max(shard) FROM lease_shard_owners('{a}', 65536);
-- the planner may use them where only immutable functions go
CREATE TABLE job (key text);
CREATE INDEX ON job (lease_shard_of(key));
-- one joins, one leaves: about 1/n of the shards move, to it or from it, and no others
WITH size (n) AS (VALUES (3), (7), (20)),
     fleet AS (SELECT n, array_agg('w' || i ORDER BY i) FILTER (WHERE i <= n) AS fewer,
                      array_agg('w' || i ORDER BY i) AS more
               FROM size, generate_series(1, n + 1) AS i GROUP BY n),
     shard AS (SELECT n, lease_shard_owner(s, fewer) AS before, lease_shard_owner(s, more) AS after
               FROM fleet, generate_series(0, 255) AS s)
SELECT n, count(*) FILTER (WHERE before <> after) AS moved,
       count(*) FILTER (WHERE before <> after AND after <> 'w' || n + 1) AS moved_between_others
FROM shard GROUP BY n ORDER BY n;
\set VERBOSITY default
SELECT lease_shard_of(NULL);
\set VERBOSITY sqlstate
SELECT lease_shard_of('a', NULL);
SELECT lease_shard_of('a', 0);
SELECT lease_shard_of('a', -1);
SELECT lease_shard_of('a', 65537);
SELECT lease_shard_owner(0, '{}');
SELECT lease_shard_owner(0, NULL);
SELECT lease_shard_owner(NULL, '{a}');
SELECT lease_shard_owner(0, '{a,NULL}');
SELECT lease_shard_owner(0, '{a,b#1}');
SELECT lease_shard_owner(0, '{a,""}');
SELECT lease_shard_owner(-1, '{a}');
SELECT lease_shard_owner(65536, '{a}');
SELECT * FROM lease_shard_owners('{a}', 0);
SELECT * FROM lease_shard_owners('{}');
\set VERBOSITY default
DROP TABLE job;
