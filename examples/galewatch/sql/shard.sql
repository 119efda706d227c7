-- What a shard needs for the move, guarded or not.
CREATE EXTENSION pg_lease;

GRANT EXECUTE ON FUNCTION lease_fence_raise TO mover;
GRANT SELECT, INSERT, DELETE ON readings TO mover;
