-- The routing database: the one database of the fleet that is no shard. It grants the lease, and it
-- lists the turbines that a divisor of 3 sends from shard 1 to shard 3.
CREATE EXTENSION pg_lease;

SELECT lease_allow('mover', 'mover');

CREATE TABLE moves (turbine_id text PRIMARY KEY);
GRANT SELECT ON moves TO mover;

INSERT INTO moves
SELECT 'AP-' || lpad(n::text, 4, '0')
FROM generate_series(2, 201) AS n
WHERE n % 3 <> 2;
