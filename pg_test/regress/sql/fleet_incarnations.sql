-- The same worker in two processes: the incarnation that came later fences the one before, has its
-- leases at once, and keeps them whatever the other one does.
CREATE FUNCTION pass(worker text, incarnation text, OUT change text, OUT leases bigint)
    RETURNS SETOF record LANGUAGE sql AS $$
    SELECT p.change, count(*) FROM lease_worker_pass($1, 'controllers', $2, singletons => '{singleton:gc}') AS p
    GROUP BY 1 ORDER BY 1
$$;
SELECT * FROM pass('a', 'first');
SELECT DISTINCT owner FROM lease.lease;
SELECT string_agg(token::text, ',') AS before, max(token) AS last FROM lease.lease \gset
-- its leases are live, and go to the second all the same, under new tokens
SELECT * FROM pass('a', 'second');
SELECT DISTINCT owner, min(token) > :last AS new_tokens FROM lease.lease GROUP BY owner;
-- the first may do nothing any more
SELECT lease_worker_pass('a', incarnation => 'first');
SELECT lease_renew(name, owner, token, '1 s') IS NULL FROM lease.lease WHERE owner = 'a#first';
SELECT worker, incarnation, state, shards FROM lease_fleet() ORDER BY incarnation;
SELECT * FROM pass('a', 'second');
-- a shard that it looked after is let go as well, when it is not due to the worker
SELECT count(*) FROM pass('b', '');
SELECT * FROM pass('a', 'third');
SELECT * FROM pass('b', '');
SELECT sum(shards) FROM lease_fleet();
-- without an incarnation it is one of its own
SELECT * FROM pass('a', '');
SELECT lease_worker_pass('a', incarnation => 'third');
-- however long it has slept: the ten newest are remembered as long as the worker lives
UPDATE lease.worker SET steady_at = steady_at - 86400000000 WHERE owner LIKE 'a#%';
SELECT count(*) FROM pass('b', '');
SELECT owner FROM lease.worker ORDER BY owner;
SELECT lease_worker_pass('a', incarnation => 'first');
DO $$ BEGIN FOR n IN 1..12 LOOP
    PERFORM lease_worker_pass('a', incarnation => 'again-' || n);
END LOOP; END $$;
UPDATE lease.worker SET steady_at = steady_at - 86400000000 WHERE owner LIKE 'a#%' AND owner <> 'a#again-12';
SELECT count(*) FROM pass('b', '');
SELECT count(*), min(term), max(term) FROM lease.worker WHERE owner LIKE 'a%';
-- the last one leaves, and the former ones are no workers again
SELECT lease_worker_leave('a', incarnation => 'again-12') > 0 AS released;
SELECT * FROM pass('b', '');
SELECT owner FROM lease.worker;
-- the owner of a lease is in one fleet
SELECT count(*) FROM lease_worker_pass('x', 'f', shards => 1);
SELECT lease_worker_pass('f/x');
DROP FUNCTION pass;
DELETE FROM lease.worker;
DELETE FROM lease.lease;
