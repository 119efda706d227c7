-- The fleet: workers that share shards.

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
