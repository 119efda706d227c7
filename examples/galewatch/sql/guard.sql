-- What the operator does before the second night, on both shards. It is the only difference between
-- the two nights.
SELECT * FROM lease_guard('readings', 'mover', mode => 'newest');
