-- Readings of the turbines that are to move, one every two seconds up to the night of the move.
-- $1: how many a turbine.
INSERT INTO readings
SELECT 'AP-' || lpad(n::text, 4, '0'),
       timestamptz '2026-04-13 21:40:00+00' - i * interval '2 s',
       1500 + 900 * sin(n + i / 900.0) + 60 * random(),
       9 + 4 * sin(n + i / 900.0) + random(),
       11 + 3 * sin(n + i / 900.0) + random()
FROM generate_series(2, 201) AS n, generate_series(1, $1) AS i
WHERE n % 3 <> 2
