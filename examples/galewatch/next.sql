CREATE EXTENSION IF NOT EXISTS pg_lease;
CREATE TABLE readings (turbine_id text, power_kw real);
SELECT * FROM lease_guard('readings', 'mover');
SELECT set_config('pg_lease.token', 'mover=' || token, false) FROM lease_acquire('mover', 'box-2', ttl => '1 min');
INSERT INTO readings VALUES ('AP-0163', 2100);
SELECT name, state, owner, token, remaining FROM lease.status;
SELECT status, owner, token FROM lease_takeover('mover', 'box-3', ttl => '1 min', reason => 'box-2 is silent');
DELETE FROM readings;  -- refused: this session still presents box-2's token
SELECT count(*) FROM readings;
SELECT relation, lease, mode FROM lease.guards;
