-- The guard of a table stands on its inheritance children and theirs, each of which can be written
-- directly.
CREATE TABLE city (name text, pop int);
CREATE TABLE capital (country text) INHERITS (city);
CREATE TABLE old_capital (until int) INHERITS (capital);
INSERT INTO city VALUES ('ulm', 1);
INSERT INTO capital VALUES ('rome', 2, 'it');
INSERT INTO old_capital VALUES ('bonn', 3, 'de', 1990);
SELECT * FROM lease_guard('city', 'arbitrum') ORDER BY guarded;
SELECT relation, lease FROM lease.guards ORDER BY 1, 2;
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset

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
SELECT name, pop FROM city ORDER BY name;

SET pg_lease.token TO :'good';
INSERT INTO capital VALUES ('paris', 2, 'fr');
UPDATE city SET pop = pop + 1;
DELETE FROM old_capital;
SELECT name, pop FROM city ORDER BY name;
-- a child that leaves takes its guard along
ALTER TABLE old_capital NO INHERIT capital;
SET pg_lease.token TO :'stale';
INSERT INTO old_capital VALUES ('turin', 3, 'it', 1865);

SET pg_lease.token TO '';
DROP TABLE old_capital, capital, city;
DELETE FROM lease.lease;
