-- The tables and the mint. Nobody but the extension's owner touches them: the functions do.

CREATE SCHEMA lease;
GRANT USAGE ON SCHEMA lease TO PUBLIC;

-- One row per lease name; the row outlives every owner. The fixed-width columns come first, so that
-- the guard reads them without unpacking the row. No index but the primary key: a renewal changes
-- none of its columns and stays a heap-only update.
CREATE TABLE lease.lease (
    token        bigint      NOT NULL,
    expires_at   timestamptz NOT NULL,
    since        timestamptz NOT NULL,
    acquisitions bigint      NOT NULL,
    home         bigint      NOT NULL,
    ttl_ms       integer     NOT NULL,
    role         oid         NOT NULL,
    name         text COLLATE "C" NOT NULL,
    owner        text COLLATE "C",
    quiet_ms     integer,
    stall_ms     integer,
    progress     bigint,
    moved_at     timestamptz,
    late         integer,
    CONSTRAINT lease_pkey PRIMARY KEY (name)
) WITH (fillfactor = 50, vacuum_truncate = false,
        autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
REVOKE ALL ON TABLE lease.lease FROM PUBLIC;

COMMENT ON TABLE lease.lease IS
    'One row per lease: who may do the job now, until when, under which token.';
COMMENT ON COLUMN lease.lease.token IS
    'The newest token of this lease. It is good while owner is not null and home is this database''s.';
COMMENT ON COLUMN lease.lease.expires_at IS
    'From here on somebody else may take the lease. -infinity after a release.';
COMMENT ON COLUMN lease.lease.since IS 'When ownership last changed.';
COMMENT ON COLUMN lease.lease.acquisitions IS 'How often a token was granted under this name.';
COMMENT ON COLUMN lease.lease.home IS
    'Hash of the database in which the token was granted: in any other database the lease is void.';
COMMENT ON COLUMN lease.lease.ttl_ms IS
    'The ttl last asked for, in milliseconds: no expiry can be further away than this.';
COMMENT ON COLUMN lease.lease.role IS
    'The role that took the lease: a plain OID, which a restore takes whether or not there is such a '
    'role. It counts only where home is this database''s.';
COMMENT ON COLUMN lease.lease.name IS 'Matches ^[A-Za-z0-9._:@/-]{1,200}$.';
COMMENT ON COLUMN lease.lease.owner IS
    'One incarnation of a process, compared exactly. Null after a release.';
COMMENT ON COLUMN lease.lease.quiet_ms IS
    'For how long after an expiry nobody gets a new token, in milliseconds. Null: not at all.';
COMMENT ON COLUMN lease.lease.stall_ms IS
    'How long progress may stand still before renewals are refused, in milliseconds. Null: for ever.';
COMMENT ON COLUMN lease.lease.progress IS
    'What the holder said last in a renewal of how far its work has come. Null if it never did.';
COMMENT ON COLUMN lease.lease.moved_at IS
    'When progress last changed, or since when it is watched. Null where neither is.';
COMMENT ON COLUMN lease.lease.late IS
    'How many renewals in a row came later than half of the ttl; null: the last one did not.';

-- The newest token that this database has obeyed, for guards in mode newest (Galewatch's shards).
CREATE TABLE lease.fence (
    token     bigint      NOT NULL,
    raised_at timestamptz NOT NULL,
    name      text COLLATE "C" NOT NULL,
    CONSTRAINT fence_pkey PRIMARY KEY (name)
) WITH (fillfactor = 50, vacuum_truncate = false);
REVOKE ALL ON TABLE lease.fence FROM PUBLIC;

COMMENT ON TABLE lease.fence IS
    'The newest token that this database has obeyed for a lease that is granted elsewhere.';

-- Who may do what with which names. A role is its OID in the database where it was allowed, and its
-- name in every copy, where OIDs stand for others.
CREATE TABLE lease.allowed (
    home      bigint NOT NULL,
    role      oid    NOT NULL,
    role_name text COLLATE "C" NOT NULL,
    pattern   text COLLATE "C" NOT NULL,
    "right"   text COLLATE "C" NOT NULL,
    CONSTRAINT allowed_pkey PRIMARY KEY (home, role, pattern, "right")
);
REVOKE ALL ON TABLE lease.allowed FROM PUBLIC;

COMMENT ON TABLE lease.allowed IS
    'What lease_allow has opened: a row for each role, pattern and right. Look at lease.access instead.';
COMMENT ON COLUMN lease.allowed.home IS
    'Hash of the database in which the role has this OID: in any other database its name counts.';
COMMENT ON COLUMN lease.allowed.role IS 'The role, where home is this database''s.';
COMMENT ON COLUMN lease.allowed.role_name IS
    'The role''s name when lease_allow or lease_disallow was last called; it counts in every copy.';
COMMENT ON COLUMN lease.allowed.pattern IS
    'A lease name, the beginning of one followed by *, or *.';
COMMENT ON COLUMN lease.allowed."right" IS 'use, force, evict or list.';

-- A backend that has seen a token to be good takes it to be good until it hears of a change of
-- ownership: who changes one sends an invalidation of this type, which nobody uses for anything else.
CREATE TYPE lease.ownership AS ();
COMMENT ON TYPE lease.ownership IS
    'Stands for who holds which lease: sessions are told to forget what they knew when it changes.';

-- The mint. Sequences are used as cells that no rollback takes back and no open transaction locks.
CREATE SEQUENCE lease.token AS bigint CACHE 1 NO CYCLE;
CREATE SEQUENCE lease.seal AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE lease.incarnations AS bigint CACHE 1;
REVOKE ALL ON SEQUENCE lease.token, lease.seal, lease.incarnations FROM PUBLIC;

COMMENT ON SEQUENCE lease.token IS
    'All tokens of all leases. Each incarnation of the database starts it at the present microsecond.';
COMMENT ON SEQUENCE lease.seal IS
    'Hash of the incarnation for which lease.token was started; another value means: start again.';
COMMENT ON SEQUENCE lease.incarnations IS 'How often lease.token was started.';

-- Tables of an extension are left out of dumps unless they are named here. The sequences stay out:
-- a restored database is a new incarnation and starts its own.
SELECT pg_catalog.pg_extension_config_dump('lease.lease', '');
SELECT pg_catalog.pg_extension_config_dump('lease.fence', '');
SELECT pg_catalog.pg_extension_config_dump('lease.allowed', '');

-- What every lease function answers.
CREATE TYPE lease.answer AS (
    name        text,
    acquired    boolean,
    status      text,
    owner       text,
    token       bigint,
    expires_at  timestamptz,
    now         timestamptz,
    renew_after interval,
    stop_after  interval
);
COMMENT ON TYPE lease.answer IS
    'acquired: the caller holds the lease. status: granted, renewed, held (by another), quiet (it has '
    'expired, and its quiet period is not over), busy (another session is changing it), lost, stalled '
    '(its progress stands still, and it was not extended), released, not_held. token: null unless '
    'acquired. owner, expires_at: the holder''s; under quiet, expires_at is the end of the quiet '
    'period. now: the database''s clock. renew_after, stop_after: durations from now, to renew and, '
    'if that failed, to stop.';

-- Both have a last value from the start.
SELECT pg_catalog.setval('lease.token', 1);
SELECT pg_catalog.setval('lease.seal', 0);
