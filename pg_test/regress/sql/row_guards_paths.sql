-- Every path that writes a row meets the row guard: with the token of lease a alone, no row of lease b
-- is written, changed, moved or deleted.
SELECT 'a=' || token AS good FROM lease_acquire('a', 'worker', '1 hour') \gset
SELECT 'b=' || token AS b FROM lease_acquire('b', 'worker', '1 hour') \gset
CREATE TABLE entry (id int PRIMARY KEY, lease text, mw int);
INSERT INTO entry VALUES (1, 'a', 1), (2, 'b', 2);
CREATE TABLE incoming AS SELECT * FROM entry UNION ALL VALUES (3, 'a', 3), (4, 'b', 4);
SELECT guard FROM lease_guard('entry', lease_column => 'lease');
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SET pg_lease.token TO :'good';
-- one row that may pass is in nearly each of them
INSERT INTO entry SELECT * FROM incoming WHERE id > 2;
INSERT INTO entry VALUES (3, 'a', 3), (4, 'b', 4) RETURNING id;
INSERT INTO entry VALUES (2, 'a', 0) ON CONFLICT (id) DO UPDATE SET mw = 0;
INSERT INTO entry VALUES (2, 'a', 0) ON CONFLICT (id) DO UPDATE SET lease = EXCLUDED.lease;
INSERT INTO entry VALUES (1, 'a', 0) ON CONFLICT (id) DO UPDATE SET lease = 'b';
UPDATE entry e SET mw = 0 FROM incoming i WHERE i.id = e.id;
DELETE FROM entry USING incoming i WHERE i.id = entry.id;
MERGE INTO entry e USING incoming i ON i.id = e.id WHEN MATCHED THEN UPDATE SET mw = 0;
MERGE INTO entry e USING incoming i ON i.id = e.id WHEN MATCHED THEN DELETE;
MERGE INTO entry e USING incoming i ON i.id = e.id
    WHEN NOT MATCHED THEN INSERT VALUES (i.id, i.lease, i.mw);
WITH gone AS (DELETE FROM entry WHERE id = 2 RETURNING *) SELECT * FROM gone;
COPY entry FROM stdin;
3	a	3
4	b	4
\.
BEGIN;
CREATE TABLE fresh (LIKE entry);
SELECT guard FROM lease_guard('fresh', lease_column => 'lease');
COPY fresh FROM stdin (FREEZE);
1	a	1
2	b	2
\.
ROLLBACK;
TRUNCATE entry;
TRUNCATE incoming, entry;
CREATE VIEW seen AS SELECT id, lease, mw FROM entry WHERE mw < 100 WITH CHECK OPTION;
INSERT INTO seen VALUES (4, 'b', 4);
UPDATE seen SET mw = 0;
DELETE FROM seen;
-- a conflict that writes nothing needs nothing
INSERT INTO entry VALUES (2, 'b', 0) ON CONFLICT DO NOTHING;
-- a row trigger that changes the column, either way, and one that changes it in an UPDATE of another
CREATE FUNCTION turn() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN NEW.lease := CASE NEW.lease WHEN 'a' THEN 'b' ELSE 'a' END; RETURN NEW; END$$;
CREATE TRIGGER zz BEFORE INSERT OR UPDATE ON entry FOR EACH ROW EXECUTE FUNCTION turn();
INSERT INTO entry VALUES (3, 'a', 3);
INSERT INTO entry VALUES (4, 'b', 4);
UPDATE entry SET mw = 0 WHERE id = 1;
UPDATE entry SET mw = 0 WHERE id = 2;
DROP TRIGGER zz ON entry;
SELECT * FROM entry ORDER BY id;
DELETE FROM entry WHERE id = 4;
-- as a replica, also for a role that was given the setting
SET session_replication_role = replica;
INSERT INTO entry VALUES (4, 'b', 4);
UPDATE entry SET mw = 0;
DELETE FROM entry;
TRUNCATE entry;
RESET session_replication_role;
-- what happens at the commit
CREATE TABLE inbox (id int);
CREATE FUNCTION post() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN INSERT INTO entry VALUES (NEW.id, 'b', 0); RETURN NULL; END$$;
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON inbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION post();
INSERT INTO inbox VALUES (5);
DROP TABLE inbox;
DROP FUNCTION post;
CREATE FUNCTION write_one() RETURNS int LANGUAGE sql AS
    $$INSERT INTO entry VALUES (6, 'b', 0) RETURNING id$$;
BEGIN;
DECLARE late CURSOR WITH HOLD FOR SELECT write_one();
COMMIT;
BEGIN;
DECLARE mine CURSOR FOR SELECT * FROM entry WHERE id = 2 FOR UPDATE;
FETCH mine;
UPDATE entry SET mw = 0 WHERE CURRENT OF mine;
ROLLBACK;
-- cascades
CREATE TABLE chain (name text PRIMARY KEY);
INSERT INTO chain VALUES ('a'), ('b'), ('d');
CREATE TABLE block (chain text REFERENCES chain ON DELETE CASCADE ON UPDATE CASCADE, n int);
CREATE TABLE head (chain text REFERENCES chain ON DELETE SET NULL, n int);
INSERT INTO block VALUES ('a', 1), ('b', 1), ('d', 1);
INSERT INTO head VALUES ('a', 1);
SELECT guard FROM lease_guard('block', lease_column => 'chain');
SELECT guard FROM lease_guard('head', lease_column => 'chain');
DELETE FROM chain WHERE name = 'b';
UPDATE chain SET name = 'c' WHERE name = 'b';
UPDATE chain SET name = 'c' WHERE name = 'a';
DELETE FROM chain WHERE name = 'a';
TRUNCATE chain CASCADE;
DROP TABLE head;
DELETE FROM chain WHERE name = 'a';
SELECT * FROM block ORDER BY 1;
DROP TABLE block, chain;
-- and each passes where the tokens are there
SET pg_lease.token = '';
SELECT set_config('pg_lease.token', :'good' || ',' || :'b', false) = '' AS is_none;
INSERT INTO entry VALUES (2, 'a', 0) ON CONFLICT (id) DO UPDATE SET lease = EXCLUDED.lease;
UPDATE seen SET lease = 'b' WHERE id = 2;
MERGE INTO entry e USING incoming i ON i.id = e.id WHEN MATCHED THEN UPDATE SET mw = 9
    WHEN NOT MATCHED THEN INSERT VALUES (i.id, i.lease, i.mw);
COPY entry FROM stdin;
5	a	3
6	b	4
\.
SELECT * FROM entry ORDER BY id;
-- under SERIALIZABLE too no predicate lock is left on our tables
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE entry SET mw = 10;
SELECT count(*) FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'lease.lease'::regclass;
COMMIT;
-- mode live
SELECT lease_unguard('entry');
SELECT guard FROM lease_guard('entry', lease_column => 'lease', mode => 'live');
UPDATE entry SET mw = 11;
UPDATE lease.lease SET expires_at = compute_now() - '1 s'::interval WHERE name = 'b';
UPDATE entry SET mw = 12 WHERE lease = 'a';
UPDATE entry SET mw = 12;
BEGIN;
UPDATE entry SET mw = 12 WHERE lease = 'a';
UPDATE lease.lease SET expires_at = compute_now() - '1 s'::interval WHERE name = 'a';
COMMIT;
-- mode newest: a row raises nothing, whoever writes it, and refuses what is below
SELECT lease_unguard('entry');
SELECT guard FROM lease_guard('entry', lease_column => 'lease', mode => 'newest');
SET pg_lease.token = 'a=17,b=17';
\set VERBOSITY default
UPDATE entry SET mw = 13;
\set VERBOSITY sqlstate
SET pg_lease.token = 'a=17,b=17,x=17';
SELECT lease.guard_row('x', '', 'newest', false);
SELECT lease_fence_raise('a', 17), lease_fence_raise('b', 18);
UPDATE entry SET mw = 13 WHERE lease = 'a';
UPDATE entry SET mw = 13;
SELECT name, token FROM lease.fence ORDER BY 1;
-- signed: the raise is, and so is every write
SELECT lease_unguard('entry');
SELECT guard FROM lease_guard('entry', lease_column => 'lease', mode => 'newest', signed => true);
SELECT lease_key_make() AS key \gset
SELECT lease_key_trust(:'key', '*');
SELECT token AS fresh, 'a=' || token AS unsigned FROM lease_takeover('a', 'worker', '1 hour') \gset
SELECT 'a=' || :fresh || '.' || lease_token_sign('a', :fresh) AS signed \gset
SELECT lease_fence_raise('a', :fresh);
CREATE ROLE regress_lease_raiser;
GRANT EXECUTE ON FUNCTION lease_fence_raise TO regress_lease_raiser;
SET ROLE regress_lease_raiser;
SELECT lease_fence_raise('a', :fresh);
RESET ROLE;
SET pg_lease.token TO :'unsigned';
UPDATE entry SET mw = 14 WHERE lease = 'a';
SET pg_lease.token TO :'signed';
UPDATE entry SET mw = 14 WHERE lease = 'a';
BEGIN;
UPDATE entry SET mw = 15 WHERE lease = 'a';
SET LOCAL pg_lease.token TO :'unsigned';
UPDATE entry SET mw = 16 WHERE lease = 'a';
ROLLBACK;
SELECT lease_key_distrust(:'key');
UPDATE entry SET mw = 14 WHERE lease = 'a';
RESET pg_lease.token;
REVOKE ALL ON FUNCTION lease_fence_raise FROM regress_lease_raiser;
DROP ROLE regress_lease_raiser;
DELETE FROM lease.key;
-- always => false
SELECT lease_unguard('entry');
SELECT guard FROM lease_guard('entry', lease_column => 'lease', always => false);
SELECT enabled FROM lease.guards;
DELETE FROM entry;
SET session_replication_role = replica;
DELETE FROM entry;
RESET session_replication_role;
RESET pg_lease.token;
DROP VIEW seen;
DROP TABLE entry, incoming;
DROP FUNCTION turn, write_one;
DELETE FROM lease.lease;
DELETE FROM lease.fence;
