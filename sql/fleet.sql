-- The fleet: workers that share shards.

-- One row per incarnation of a worker, under the name that owns its leases. The fixed-width columns
-- come first, as in lease.lease; no index but the primary key, so that heartbeats are heap-only
-- updates. Not dumped: in another database nobody has been heard of yet.
CREATE TABLE lease.worker (
    heartbeat_at timestamptz NOT NULL,
    steady_at    bigint      NOT NULL,
    server       bigint      NOT NULL,
    began_at     bigint      NOT NULL,
    term         bigint      NOT NULL,
    skew_us      bigint      NOT NULL,
    jump_us      bigint      NOT NULL,
    jumped_at    timestamptz NOT NULL,
    ttl_ms       integer     NOT NULL,
    live_for_ms  integer     NOT NULL,
    shards       integer     NOT NULL,
    role         oid         NOT NULL,
    owner        text COLLATE "C" NOT NULL,
    fleet        text COLLATE "C" NOT NULL,
    singletons   text COLLATE "C" NOT NULL,
    held         bytea       NOT NULL,
    CONSTRAINT worker_pkey PRIMARY KEY (owner)
) WITH (fillfactor = 50, vacuum_truncate = false,
        autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
REVOKE ALL ON TABLE lease.worker FROM PUBLIC;

COMMENT ON TABLE lease.worker IS
    'One row per incarnation of a worker: when it passed last, and what it held then.';
COMMENT ON COLUMN lease.worker.heartbeat_at IS 'Its last pass, by the clock that leases expire by.';
COMMENT ON COLUMN lease.worker.steady_at IS
    'The same by the server''s steady clock, which nobody sets, in microseconds: silence is counted by it.';
COMMENT ON COLUMN lease.worker.server IS
    'Hash of the start of the server that the steady clock belongs to.';
COMMENT ON COLUMN lease.worker.began_at IS
    'The fleet''s first pass under that start of the server, by its steady clock.';
COMMENT ON COLUMN lease.worker.term IS
    'Counts the incarnations of the worker: all but the highest are fenced.';
COMMENT ON COLUMN lease.worker.skew_us IS
    'How far its clock was ahead of the database''s at the last pass, in microseconds; 0 unless that '
    'was more than pg_lease.max_clock_skew.';
COMMENT ON COLUMN lease.worker.jump_us IS
    'By how much the database''s clock has jumped between two of its passes, the last time that it did '
    'by more than pg_lease.max_clock_skew, in microseconds; 0 if it never has.';
COMMENT ON COLUMN lease.worker.jumped_at IS 'When that was seen; -infinity if it never was.';
COMMENT ON COLUMN lease.worker.ttl_ms IS 'The ttl of its last pass, in milliseconds.';
COMMENT ON COLUMN lease.worker.live_for_ms IS 'live_for of its last pass, in milliseconds.';
COMMENT ON COLUMN lease.worker.shards IS 'How many shards the fleet has.';
COMMENT ON COLUMN lease.worker.role IS
    'The role that passes: another one may not pass under the worker''s name while it lives.';
COMMENT ON COLUMN lease.worker.owner IS
    'The owner of its leases: worker or worker#incarnation, after fleet/ in all fleets but controllers.';
COMMENT ON COLUMN lease.worker.fleet IS 'The fleet that it belongs to.';
COMMENT ON COLUMN lease.worker.singletons IS
    'The singletons that it held after its last pass, with spaces between them.';
COMMENT ON COLUMN lease.worker.held IS
    'The shards that it held after its last pass: a bit each, the lowest of each byte first.';

CREATE FUNCTION lease_worker_pass(
    worker text, fleet text DEFAULT 'controllers', incarnation text DEFAULT '',
    ttl interval DEFAULT '15 s', live_for interval DEFAULT '30 s', shards integer DEFAULT 256,
    singletons text[] DEFAULT '{}', client_now timestamptz DEFAULT NULL,
    OUT shard integer, OUT name text, OUT token bigint, OUT expires_at timestamptz,
    OUT change text, OUT owner text, OUT now timestamptz)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 256
    AS 'MODULE_PATHNAME', 'pg_lease_worker_pass';
COMMENT ON FUNCTION lease_worker_pass(
    text, text, text, interval, interval, integer, text[], timestamptz) IS
    'A worker''s pass: says that it lives, lets go of shards that are no longer due to it, renews those '
    'that are, takes those that are free, and looks after those of silent workers; the same for the '
    'singletons named. Never waits for a lease that is busy: the next pass gets it. A row per lease '
    'that the worker holds now or has just lost; change: kept, gained, orphan (gained while its '
    'owner is silent), released (token ended), lost. shard is null for singletons, token for lost '
    'leases. Raises 42501 without the right use on all of the fleet''s shards and the singletons, and '
    'when another role passes as the worker; 55000 when a newer incarnation of the worker has passed, when the fleet has '
    'another number of shards or the worker is in another fleet; 55P03 when another pass of the '
    'worker is open; 22023 and 22004 for bad arguments; 54000 for more than 1,000 singletons; 25006 on '
    'a standby or in a read-only transaction.';

CREATE FUNCTION lease_worker_leave(
    worker text, fleet text DEFAULT 'controllers', incarnation text DEFAULT '')
    RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_worker_leave';
COMMENT ON FUNCTION lease_worker_leave(text, text, text) IS
    'A worker that stops: releases all that it holds and forgets it, so that the others have its '
    'shards on their next pass. Returns how many leases were released. One whose old token is in the '
    'middle of a commit is waited for up to lock_timeout (5 s where that is 0), and then left to '
    'expire. Raises 42501 as lease_worker_pass, 55P03 when a pass of the worker is open, 22023, 22004 and 25006 as '
    'lease_worker_pass.';

CREATE FUNCTION lease_fleet(
    fleet text DEFAULT 'controllers',
    OUT worker text, OUT incarnation text, OUT state text, OUT silent_for interval,
    OUT shards bigint, OUT due bigint, OUT orphaned bigint, OUT singletons bigint,
    OUT skew interval, OUT heartbeat_at timestamptz, OUT clock_jump interval,
    OUT clock_jumped_at timestamptz)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 50
    AS 'MODULE_PATHNAME', 'pg_lease_fleet';
COMMENT ON FUNCTION lease_fleet(text) IS
    'The workers of a fleet. state: live, silent (longer than its ttl: the others look after its '
    'shards), gone (longer than its live_for: they are others'' now), fenced (a newer incarnation has '
    'passed). shards, singletons: what it holds. due: the shards that are due to it among the live and '
    'silent. orphaned: those of them that it no longer holds, or not under a live lease, while it is '
    'silent. skew: how far its clock is off, null unless more than pg_lease.max_clock_skew. '
    'clock_jump: by how much the database''s clock jumped between two of its passes, the last time '
    'that it did. Raises 42501 without the right list on the fleet''s shards, 22023 and 22004 for a bad fleet.';

CREATE FUNCTION lease_shard_of(key text, shards integer DEFAULT 256) RETURNS integer
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
    AS 'MODULE_PATHNAME', 'pg_lease_shard_of';
COMMENT ON FUNCTION lease_shard_of(text, integer) IS
    'The shard of a key, from 0: FNV-1a (32 bits) of its UTF-8 bytes, modulo shards. Raises 22023 for '
    'shards below 1 or over 65,536, 22004 for NULL. Open to PUBLIC.';

CREATE FUNCTION lease_shard_owner(shard integer, workers text[]) RETURNS text
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10
    AS 'MODULE_PATHNAME', 'pg_lease_shard_owner';
COMMENT ON FUNCTION lease_shard_owner(integer, text[]) IS
    'The worker that a shard goes to, by rendezvous hashing: the one with the highest hash of '
    '<worker>#<shard> (FNV-1a and murmur3''s finalizer, 32 bits), of equal ones the first in order of '
    'bytes. Raises 22023 for a shard below 0 or over 65,535, no workers, or a worker with #; 22004 '
    'for NULL. Open to PUBLIC.';

CREATE FUNCTION lease_shard_owners(
    workers text[], shards integer DEFAULT 256, OUT shard integer, OUT owner text)
    RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 256
    AS 'MODULE_PATHNAME', 'pg_lease_shard_owners';
COMMENT ON FUNCTION lease_shard_owners(text[], integer) IS
    'lease_shard_owner for all shards from 0, in one call. Errors as lease_shard_of and '
    'lease_shard_owner.';
