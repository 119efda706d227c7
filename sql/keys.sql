-- Signed tokens: keys to sign with where leases are granted, and the halves of them that a resource
-- on another server trusts.

-- Not dumped: a private half in a backup is one that got away. A restored database makes its own.
CREATE TABLE lease.key (
    made_at    timestamptz NOT NULL,
    home       bigint      NOT NULL,
    public_key text COLLATE "C" NOT NULL,
    secret     bytea       NOT NULL
);
REVOKE ALL ON TABLE lease.key FROM PUBLIC;

COMMENT ON TABLE lease.key IS
    'The keys that tokens granted here are signed with: the oldest signs, later ones wait.';
COMMENT ON COLUMN lease.key.made_at IS 'When lease_key_make made it.';
COMMENT ON COLUMN lease.key.home IS
    'Hash of the database in which it was made: in any other database the key is void.';
COMMENT ON COLUMN lease.key.public_key IS 'The half that resources trust: base64url, 43 characters.';
COMMENT ON COLUMN lease.key.secret IS 'The private half, 32 bytes.';

CREATE TABLE lease.trusted_key (
    since      timestamptz NOT NULL,
    public_key text COLLATE "C" NOT NULL,
    pattern    text COLLATE "C" NOT NULL,
    CONSTRAINT trusted_key_pkey PRIMARY KEY (public_key)
);
REVOKE ALL ON TABLE lease.trusted_key FROM PUBLIC;

COMMENT ON TABLE lease.trusted_key IS
    'The keys of databases elsewhere whose signatures are good here. Changed by lease_key_trust and '
    'lease_key_distrust only: they tell the other sessions.';
COMMENT ON COLUMN lease.trusted_key.since IS 'When it was first trusted.';
COMMENT ON COLUMN lease.trusted_key.public_key IS 'What lease_key_make returned there.';
COMMENT ON COLUMN lease.trusted_key.pattern IS
    'The leases that it may speak for: a name, the beginning of names with * after it, or *.';

SELECT pg_catalog.pg_extension_config_dump('lease.trusted_key', '');

CREATE FUNCTION lease_token_sign(name text, token bigint) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_token_sign';
REVOKE ALL ON FUNCTION lease_token_sign(text, bigint) FROM PUBLIC;
COMMENT ON FUNCTION lease_token_sign(text, bigint) IS
    'The signature of a token that is good now, for resources on other servers: 86 characters, '
    'presented as lease=token.signature. Raises 55000 for a stale, ended or never granted token, in '
    'the transaction that got it and on a standby; 42704 where there is no key, 22023 and 22004 for '
    'bad arguments.';

CREATE FUNCTION lease_key_make() RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_key_make';
REVOKE ALL ON FUNCTION lease_key_make() FROM PUBLIC;
COMMENT ON FUNCTION lease_key_make() IS
    'Makes a key and returns its public half, for lease_key_trust on each resource. The first one '
    'signs at once; a later one waits for lease_key_use, so that resources can trust it first. Raises '
    '25006 on a standby or in a read-only transaction.';

CREATE FUNCTION lease_key_use(public_key text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_key_use';
REVOKE ALL ON FUNCTION lease_key_use(text) FROM PUBLIC;
COMMENT ON FUNCTION lease_key_use(text) IS
    'From now on tokens are signed with this key; all others that were made here are forgotten. '
    'Raises 42704 for a key that was not made here, 22023 and 22004 for what is no key, 25006 on a '
    'standby or in a read-only transaction.';

CREATE FUNCTION lease_key_trust(public_key text, pattern text DEFAULT '*') RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_key_trust';
REVOKE ALL ON FUNCTION lease_key_trust(text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease_key_trust(text, text) IS
    'Signatures made with this key are good here, for the leases that match the pattern (a name, the '
    'beginning of names with * after it, or * for all). Calling it again changes the pattern. Raises '
    '22023 and 22004 for what is no key or no pattern, 25006 on a standby or in a read-only '
    'transaction.';

CREATE FUNCTION lease_key_distrust(public_key text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'pg_lease_key_distrust';
REVOKE ALL ON FUNCTION lease_key_distrust(text) FROM PUBLIC;
COMMENT ON FUNCTION lease_key_distrust(text) IS
    'Signatures made with this key are not good here any more, from each session''s next statement '
    'on. Raises 42704 for a key that is not trusted, 22023 and 22004 for what is no key, 25006 on a '
    'standby or in a read-only transaction.';
