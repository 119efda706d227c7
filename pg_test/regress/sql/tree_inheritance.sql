-- The guard of a table stands on its inheritance children and theirs, each of which can be written
-- directly.
CREATE TABLE city (name text, pop int);
CREATE TABLE capital (country text) INHERITS (city);
CREATE TABLE old_capital (until int) INHERITS (capital);
CREATE TABLE port (berths int);
CREATE TABLE port_city () INHERITS (city, port);
INSERT INTO city VALUES ('ulm', 1);
INSERT INTO capital VALUES ('rome', 2, 'it');
INSERT INTO old_capital VALUES ('bonn', 3, 'de', 1990);
INSERT INTO port_city VALUES ('kiel', 4, 5);
SELECT * FROM lease_guard('city', 'arbitrum') ORDER BY guarded;
SELECT * FROM lease_guard('port', 'harbour') ORDER BY guarded;
SELECT relation, lease FROM lease.guards ORDER BY 1, 2;
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset
SELECT 'harbour=' || token AS harbour FROM lease_acquire('harbour', 'worker-b') \gset

\set VERBOSITY sqlstate
SET pg_lease.token TO :'stale';
INSERT INTO capital VALUES ('paris', 2, 'fr');
INSERT INTO old_capital VALUES ('turin', 3, 'it', 1865);
UPDATE capital SET pop = 0;
UPDATE ONLY old_capital SET pop = 0;
DELETE FROM city;
DELETE FROM old_capital;
COPY capital FROM stdin;
paris	2	fr
\.
TRUNCATE old_capital;
TRUNCATE ONLY capital;
TRUNCATE city;
INSERT INTO port_city VALUES ('riga', 4, 5);
-- a child of two guarded tables needs both tokens
SET pg_lease.token TO :'good';
INSERT INTO port_city VALUES ('riga', 4, 5);
SET pg_lease.token TO :'harbour';
INSERT INTO port_city VALUES ('riga', 4, 5);
SELECT name, pop FROM city ORDER BY name;

SELECT :'good' || ',' || :'harbour' AS both_tokens \gset
SET pg_lease.token TO :'both_tokens';
INSERT INTO port_city VALUES ('riga', 4, 5);
INSERT INTO capital VALUES ('paris', 2, 'fr');
DELETE FROM old_capital;
SELECT name, pop FROM city ORDER BY name;

SET pg_lease.token TO '';
DROP TABLE port_city, old_capital, capital, port, city;
DELETE FROM lease.lease;
