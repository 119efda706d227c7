-- A row guard covers partitions and children, present and later, and rows that move between them.
SELECT 'a=' || token AS a FROM lease_acquire('a', 'worker', '1 hour') \gset
SELECT 'b=' || token AS b FROM lease_acquire('b', 'worker', '1 hour') \gset
CREATE TABLE block (chain text, n int) PARTITION BY RANGE (n);
CREATE TABLE low PARTITION OF block FOR VALUES FROM (0) TO (10);
-- a partition whose columns lie otherwise
CREATE TABLE high (gone int, n int, chain text);
ALTER TABLE high DROP gone;
ALTER TABLE block ATTACH PARTITION high FOR VALUES FROM (10) TO (20);
INSERT INTO block VALUES ('a', 1), ('b', 2), ('a', 11), ('b', 12);
SELECT * FROM lease_guard('block', lease_column => 'chain');
-- later: created, attached, and a tree of them; under an old snapshot too
CREATE TABLE later PARTITION OF block FOR VALUES FROM (20) TO (30);
CREATE TABLE attached (chain text, n int);
INSERT INTO attached VALUES ('b', 30);
ALTER TABLE block ATTACH PARTITION attached FOR VALUES FROM (30) TO (40);
CREATE TABLE sub PARTITION OF block FOR VALUES FROM (40) TO (50) PARTITION BY LIST (chain);
CREATE TABLE sub_leaf PARTITION OF sub DEFAULT;
SELECT relation, lease_column, enabled FROM lease.guards ORDER BY relation::text COLLATE "C";
\set VERBOSITY sqlstate
SET pg_lease.token TO :'a';
INSERT INTO block VALUES ('b', 1);
INSERT INTO block VALUES ('a', 1), ('a', 11), ('b', 21);
INSERT INTO low VALUES ('b', 1);
INSERT INTO high (chain, n) VALUES ('b', 11);
INSERT INTO later VALUES ('b', 21);
INSERT INTO attached VALUES ('b', 31);
INSERT INTO sub VALUES ('b', 41);
INSERT INTO sub_leaf VALUES ('b', 41);
UPDATE block SET n = n WHERE n = 2;
UPDATE attached SET n = n;
UPDATE block SET chain = 'a';
UPDATE high SET chain = 'a' WHERE chain = 'b';
DELETE FROM block WHERE chain = 'b';
DELETE FROM high WHERE chain = 'b';
COPY block FROM stdin;
a	3
a	13
b	23
\.
COPY high (chain, n) FROM stdin;
b	13
\.
TRUNCATE block;
TRUNCATE low;
TRUNCATE sub;
-- into another partition: the row is deleted there and inserted here
UPDATE block SET n = n + 10 WHERE n = 2;
UPDATE block SET n = n + 10, chain = 'a' WHERE n = 2;
UPDATE block SET n = n + 10, chain = 'b' WHERE n = 1;
UPDATE block SET n = n + 20 WHERE n = 1 RETURNING tableoid::regclass;
MERGE INTO block USING (VALUES (12)) v (k) ON n = k WHEN MATCHED THEN UPDATE SET n = 29, chain = 'a';
SELECT tableoid::regclass, * FROM block ORDER BY n;
-- with both tokens
SELECT set_config('pg_lease.token', :'a' || ',' || :'b', false) = '' AS is_none;
UPDATE block SET n = n + 10, chain = 'a' WHERE n = 2;
SELECT tableoid::regclass, * FROM block ORDER BY n;

-- a partition alone cannot be freed, and keeps the guard when it is detached
SELECT lease_unguard('low');
ALTER TABLE block DETACH PARTITION low;
SELECT enabled FROM lease.guards WHERE relation = 'low'::regclass;
SET pg_lease.token TO :'a';
INSERT INTO low VALUES ('b', 1);
-- one with another row guard cannot be attached, one with the same can
SELECT lease_unguard('low');
SELECT guard FROM lease_guard('low', lease_column => 'chain', prefix => 'chain:');
ALTER TABLE block ATTACH PARTITION low FOR VALUES FROM (0) TO (10);
SELECT lease_unguard('low');
SELECT guard FROM lease_guard('low', lease_column => 'chain');
ALTER TABLE block ATTACH PARTITION low FOR VALUES FROM (0) TO (10);
SELECT lease_unguard('block');
SELECT count(*) FROM lease.guards;
-- a partition alone may have one: each row is judged where it is stored
SELECT guard FROM lease_guard('high', lease_column => 'chain');
INSERT INTO block VALUES ('b', 11);
INSERT INTO block VALUES ('b', 1);
UPDATE block SET n = n + 10 WHERE chain = 'b' AND n = 1;
TRUNCATE block;
-- what cannot be guarded cannot be attached
SELECT guard FROM lease_guard('block', lease_column => 'chain') WHERE guard = 'kept';
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE far PARTITION OF block FOR VALUES FROM (50) TO (60) SERVER nowhere;
DROP FOREIGN DATA WRAPPER nowhere CASCADE;
DROP TABLE block;

-- inheritance
CREATE TABLE city (name text, lease text);
CREATE TABLE capital (country text) INHERITS (city);
SELECT * FROM lease_guard('city', lease_column => 'lease');
CREATE TABLE old_capital () INHERITS (capital);
CREATE TABLE village (lease text, name text);
ALTER TABLE village INHERIT city;
SELECT relation, enabled FROM lease.guards ORDER BY relation::text COLLATE "C";
INSERT INTO city VALUES ('x', 'a');
INSERT INTO village VALUES ('a', 'x');
INSERT INTO city VALUES ('x', 'b');
INSERT INTO old_capital VALUES ('x', 'b');
INSERT INTO village VALUES ('b', 'x');
UPDATE city SET lease = 'b';
UPDATE village SET lease = 'b';
TRUNCATE ONLY city;
TRUNCATE capital;
RESET pg_lease.token;
DELETE FROM city;
SELECT tableoid::regclass, name, lease FROM city ORDER BY 1;
DROP TABLE city CASCADE;
DELETE FROM lease.lease;
