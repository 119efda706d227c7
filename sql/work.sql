-- A work queue: keys that are due, each at most once in a queue, and claims on them that come back.
--
-- A key that is added again while a worker has it claimed is due once more when that worker is done,
-- so that no wake-up is lost. A claim has a number of its own, so that a worker whose claim ran out
-- and was followed by another cannot finish the other's.

CREATE TABLE lease.work (
    generation    bigint      NOT NULL,
    claim         bigint,
    ready_at      timestamptz NOT NULL,
    again_at      timestamptz,
    attempts      integer     NOT NULL,
    shard         integer     NOT NULL,
    queue         text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    worker        text,
    reason        text,
    CONSTRAINT work_pkey PRIMARY KEY (queue, key)
) WITH (fillfactor = 70,
        autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX work_ready ON lease.work (queue, ready_at);
CREATE INDEX work_ready_by_shard ON lease.work (queue, shard, ready_at);
REVOKE ALL ON TABLE lease.work FROM PUBLIC;

COMMENT ON TABLE lease.work IS 'One row per key that a queue has work for.';
COMMENT ON COLUMN lease.work.generation IS
    'From the mint: rises when the key is claimed, and when it is added while it is claimed.';
COMMENT ON COLUMN lease.work.claim IS 'The generation that was claimed last. Null: not claimed.';
COMMENT ON COLUMN lease.work.ready_at IS
    'From here on the key can be claimed: when it is due, or when its claim runs out.';
COMMENT ON COLUMN lease.work.again_at IS 'When it is due once more, as it was added while claimed.';
COMMENT ON COLUMN lease.work.attempts IS 'How often it was claimed since it was last done.';
COMMENT ON COLUMN lease.work.shard IS 'Under which shard''s lease the key is.';
COMMENT ON COLUMN lease.work.queue IS 'Matches ^[A-Za-z0-9._:@/-]{1,200}$.';
COMMENT ON COLUMN lease.work.key IS 'What is to be worked on.';
COMMENT ON COLUMN lease.work.worker IS 'Who claimed it last.';
COMMENT ON COLUMN lease.work.reason IS 'Why the last attempt is to be repeated.';

SELECT pg_catalog.pg_extension_config_dump('lease.work', '');

CREATE FUNCTION lease_work_add(
    queue text, key text, due timestamptz DEFAULT lease.clock(),
    shard integer DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
#variable_conflict use_column
DECLARE
    raised bigint;
BEGIN
    PERFORM lease.check_name('queue', lease_work_add.queue);
    PERFORM lease.check_label('key', lease_work_add.key);
    PERFORM lease.check_time('due', lease_work_add.due);
    IF lease_work_add.shard IS NULL THEN
        lease_work_add.shard := lease.shard_of(lease_work_add.key, 256);
    END IF;
    PERFORM lease.check_number('shard', lease_work_add.shard, 0, 65535);
    PERFORM lease.check_writable('lease_work_add');
    INSERT INTO lease.work AS w (queue, key, generation, ready_at, attempts, shard)
    VALUES (lease_work_add.queue, lease_work_add.key, lease.next_generation(lease_work_add.queue),
            lease_work_add.due, 0, lease_work_add.shard)
    ON CONFLICT ON CONSTRAINT work_pkey DO UPDATE SET
        generation = CASE WHEN w.claim IS NULL THEN w.generation
                          ELSE lease.next_generation(w.queue) END,
        again_at = CASE WHEN w.claim IS NOT NULL THEN least(w.again_at, EXCLUDED.ready_at) END,
        ready_at = CASE WHEN w.claim IS NULL THEN least(w.ready_at, EXCLUDED.ready_at)
                        ELSE w.ready_at END,
        shard = EXCLUDED.shard
    WHERE w.claim IS NOT NULL OR EXCLUDED.ready_at < w.ready_at OR EXCLUDED.shard <> w.shard
    RETURNING w.generation INTO raised;
    IF FOUND THEN
        RETURN raised;
    END IF;
    -- it was there, due no later; its row is locked now, so that it cannot be claimed before we commit
    RETURN (SELECT w.generation FROM lease.work AS w
            WHERE w.queue = lease_work_add.queue AND w.key = lease_work_add.key);
END
$$;
REVOKE ALL ON FUNCTION lease_work_add(text, text, timestamptz, integer) FROM PUBLIC;
COMMENT ON FUNCTION lease_work_add(text, text, timestamptz, integer) IS
    'Makes a key due. One that is in the queue already becomes due at the earlier time; while it is '
    'claimed, it becomes due once more when the claim is done. shard: under which shard''s lease it '
    'is, lease_shard_of(key) if NULL. Returns the key''s generation. Waits for a transaction that '
    'works on the same key, for lock_timeout. Raises 22023 and 22004 for bad arguments, 25006 on a '
    'standby or in a read-only transaction.';

CREATE FUNCTION lease.check_held(shards integer[], tokens bigint[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    PERFORM lease.check_number('shards', CASE WHEN shards IS NOT NULL THEN 0 END, 0, 0);
    PERFORM lease.check_number('tokens', CASE WHEN tokens IS NOT NULL THEN 0 END, 0, 0);
    PERFORM lease.check_pairs('shards', cardinality(shards), 'tokens', cardinality(tokens));
    PERFORM lease.check_number('an element of shards', h.shard, 0, 65535),
            lease.check_number('an element of tokens', h.token, 1, 9223372036854775807)
    FROM unnest(shards, tokens) AS h (shard, token);
END
$$;
REVOKE ALL ON FUNCTION lease.check_held(integer[], bigint[]) FROM PUBLIC;
COMMENT ON FUNCTION lease.check_held(integer[], bigint[]) IS
    'Raises 22023 unless shards and tokens pair up, 22004 for NULLs.';

CREATE FUNCTION lease_work_claim(
    queue text, worker text, most integer DEFAULT 1, claim_for interval DEFAULT '30 s',
    shards integer[] DEFAULT NULL, tokens bigint[] DEFAULT NULL, fleet text DEFAULT 'controllers',
    OUT key text, OUT generation bigint, OUT shard integer, OUT attempts integer, OUT reason text,
    OUT claimed_until timestamptz)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off
    AS $$
#variable_conflict use_column
DECLARE
    prefix CONSTANT text := CASE WHEN fleet = 'controllers' THEN 'shard:'
                                 ELSE fleet || '/shard:' END;
    -- how many keys that others have locked are looked past, where shards are presented
    past CONSTANT integer := 10;
    started timestamptz;
    held integer[];
    ready text[];
    claimed integer := 0;
BEGIN
    PERFORM lease.check_name('queue', lease_work_claim.queue);
    PERFORM lease.check_label('worker', lease_work_claim.worker);
    PERFORM lease.check_number('most', most, 1, 1000);
    PERFORM lease.check_span('claim_for', claim_for);
    PERFORM lease.check_name('fleet', fleet);
    PERFORM lease.check_writable('lease_work_claim');
    started := lease.clock();
    IF shards IS NULL AND tokens IS NULL THEN
        ready := ARRAY(
            SELECT w.key FROM lease.work AS w
            WHERE w.queue = lease_work_claim.queue AND w.ready_at <= started
            ORDER BY w.ready_at LIMIT most
            FOR UPDATE SKIP LOCKED);
    ELSE
        PERFORM lease.check_held(shards, tokens);
        -- shards that have moved are passed over; the check below is what makes that sure
        held := ARRAY(
            SELECT DISTINCT h.shard FROM unnest(shards, tokens) AS h (shard, token)
            JOIN lease.lease AS l ON l.name = prefix || h.shard AND l.token = h.token
            WHERE l.owner IS NOT NULL AND l.home = lease.home());
        ready := ARRAY(
            SELECT w.key FROM unnest(held) AS h (shard)
            CROSS JOIN LATERAL (
                SELECT w.key, w.ready_at FROM lease.work AS w
                WHERE w.queue = lease_work_claim.queue AND w.shard = h.shard
                  AND w.ready_at <= started
                ORDER BY w.ready_at LIMIT most + past) AS w
            ORDER BY w.ready_at LIMIT most + past);
    END IF;
    FOREACH lease_work_claim.key IN ARRAY ready LOOP
        EXIT WHEN claimed = most;
        PERFORM FROM lease.work AS w
        WHERE w.queue = lease_work_claim.queue AND w.key = lease_work_claim.key
          AND w.ready_at <= started AND (held IS NULL OR w.shard = ANY (held))
        FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        -- numbered while the row is locked, so that it is above every generation the key has had
        lease_work_claim.generation := lease.next_generation(lease_work_claim.queue);
        UPDATE lease.work AS w
        SET claim = lease_work_claim.generation, generation = lease_work_claim.generation,
            ready_at = started + claim_for,
            again_at = CASE WHEN w.again_at > started THEN w.again_at END,
            attempts = w.attempts + 1,
            worker = lease_work_claim.worker
        WHERE w.queue = lease_work_claim.queue AND w.key = lease_work_claim.key
        RETURNING w.shard, w.attempts, w.reason, w.ready_at
        INTO shard, attempts, reason, claimed_until;
        IF held IS NOT NULL THEN
            PERFORM lease.check_fence(
                prefix || lease_work_claim.shard,
                tokens[array_position(shards, lease_work_claim.shard)], 'current', NULL);
        END IF;
        claimed := claimed + 1;
        RETURN NEXT;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION lease_work_claim(text, text, integer, interval, integer[], bigint[], text)
    FROM PUBLIC;
COMMENT ON FUNCTION lease_work_claim(text, text, integer, interval, integer[], bigint[], text) IS
    'Claims up to most (1 to 1,000) keys that are due, those first that have been due longest; keys '
    'that others are at are passed over. After claim_for they are due again. With shards and tokens, '
    'pairwise: only keys of these shards whose leases in the fleet are held under these tokens; the '
    'commit is refused if one of those whose keys were claimed has moved. Returns a row per key: '
    'the generation to name when it is done, its shard, how often it has been claimed, why it is '
    'repeated, and until when it is claimed. Raises 22023 and 22004 for bad arguments, 55000 for a '
    'shard that moves meanwhile, 25006 on a standby or in a read-only transaction.';

CREATE FUNCTION lease.claimed_key(queue text, key text, generation bigint) RETURNS lease.work
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    one lease.work;
BEGIN
    PERFORM lease.check_name('queue', claimed_key.queue);
    PERFORM lease.check_label('key', claimed_key.key);
    PERFORM lease.check_number('generation', claimed_key.generation, 1, 9223372036854775807);
    SELECT * INTO one FROM lease.work AS w
    WHERE w.queue = claimed_key.queue AND w.key = claimed_key.key
    FOR UPDATE;
    IF one.claim IS DISTINCT FROM claimed_key.generation THEN
        PERFORM lease.refuse_claim(
            claimed_key.queue, claimed_key.key, claimed_key.generation, one.worker);
    END IF;
    RETURN one;
END
$$;
REVOKE ALL ON FUNCTION lease.claimed_key(text, text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease.claimed_key(text, text, bigint) IS
    'Locks the row of a key, and raises 55000 unless it is claimed under this generation.';

CREATE FUNCTION lease_work_done(queue text, key text, generation bigint) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    one lease.work;
BEGIN
    PERFORM lease.check_writable('lease_work_done');
    one := lease.claimed_key(queue, key, generation);
    IF one.again_at IS NULL THEN
        DELETE FROM lease.work AS w WHERE w.queue = one.queue AND w.key = one.key;
        RETURN true;
    END IF;
    UPDATE lease.work AS w
    SET claim = NULL, worker = NULL, ready_at = w.again_at, again_at = NULL, attempts = 0,
        reason = NULL
    WHERE w.queue = one.queue AND w.key = one.key;
    RETURN false;
END
$$;
REVOKE ALL ON FUNCTION lease_work_done(text, text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease_work_done(text, text, bigint) IS
    'Ends a claim whose work is done: true, and the key leaves the queue; false when it was added '
    'again meanwhile: it stays, and is due once more. Raises 55000 when the claim is over (it ran '
    'out and another has claimed the key, or it was ended before), 22023 and 22004 for bad '
    'arguments, 25006 on a standby or in a read-only transaction.';

CREATE FUNCTION lease_work_retry(
    queue text, key text, generation bigint, reason text, pause interval DEFAULT NULL)
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    one lease.work;
BEGIN
    PERFORM lease.check_number('reason', CASE WHEN reason IS NOT NULL THEN 0 END, 0, 0);
    IF pause <> '0' THEN
        PERFORM lease.check_span('pause', pause);
    END IF;
    PERFORM lease.check_writable('lease_work_retry');
    one := lease.claimed_key(queue, key, generation);
    -- 1 s, 2 s, 4 s … 300 s, and a random half of that less
    pause := coalesce(pause, make_interval(
        secs => least(300, 2 ^ least(one.attempts - 1, 9)) * (1 - random() / 2)));
    UPDATE lease.work AS w
    SET claim = NULL, worker = NULL, reason = left(lease_work_retry.reason, 1000), again_at = NULL,
        ready_at = least(w.again_at, lease.clock() + pause)
    WHERE w.queue = one.queue AND w.key = one.key
    RETURNING w.ready_at INTO one.ready_at;
    RETURN one.ready_at;
END
$$;
REVOKE ALL ON FUNCTION lease_work_retry(text, text, bigint, text, interval) FROM PUBLIC;
COMMENT ON FUNCTION lease_work_retry(text, text, bigint, text, interval) IS
    'Ends a claim whose work has failed, or was not begun: the key is due again after the pause '
    '(0: at once), or, if NULL, after 1 s, twice as much with each attempt, at most 300 s, of which '
    'up to half is taken off at random; or earlier, if it was added meanwhile. reason: the first '
    '1,000 characters are kept. Returns when it is due. Errors as lease_work_done.';

CREATE VIEW lease.work_status AS
SELECT w.queue,
       w.key,
       w.shard,
       CASE WHEN w.ready_at OPERATOR(pg_catalog.<=) n.now THEN 'due'
            WHEN w.claim IS NOT NULL THEN 'claimed'
            ELSE 'waiting' END AS state,
       CASE WHEN w.ready_at OPERATOR(pg_catalog.<=) n.now
            THEN n.now OPERATOR(pg_catalog.-) w.ready_at END AS overdue,
       w.ready_at,
       w.attempts,
       w.worker,
       w.reason,
       w.generation
FROM lease.work AS w
CROSS JOIN (SELECT lease.clock() AS now OFFSET 0) AS n;
REVOKE ALL ON TABLE lease.work_status FROM PUBLIC;
GRANT SELECT ON TABLE lease.work_status TO pg_monitor;
COMMENT ON VIEW lease.work_status IS
    'Every key of every queue: state is waiting (not due yet, or put off), claimed, or due. overdue: '
    'for how long it could have been claimed. worker: who has it claimed, or let the claim run out.';

CREATE VIEW lease.work_overdue AS
SELECT s.* FROM lease.work_status AS s
WHERE s.overdue OPERATOR(pg_catalog.>) '5 min'::pg_catalog.interval;
REVOKE ALL ON TABLE lease.work_overdue FROM PUBLIC;
GRANT SELECT ON TABLE lease.work_overdue TO pg_monitor;
COMMENT ON VIEW lease.work_overdue IS
    'Keys that have been due for more than five minutes: too few workers, or none. worker: who let '
    'its claim run out, if anybody.';
