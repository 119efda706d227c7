-- A guard goes along when its table is renamed or moved, and what is not guarded is not claimed to
-- be.
CREATE SCHEMA annex;
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'l');
SELECT status FROM lease_acquire('l', 'a', '1 hour');
\set VERBOSITY sqlstate
ALTER TABLE ledger RENAME TO book;
INSERT INTO book VALUES (1);
ALTER TABLE book SET SCHEMA annex;
INSERT INTO annex.book VALUES (1);
ALTER SCHEMA annex RENAME TO wing;
INSERT INTO wing.book VALUES (1);
ALTER TABLE wing.book RENAME COLUMN id TO number;
ALTER TABLE wing.book ADD COLUMN note text DEFAULT 'x';
-- which rewrites rows, unfenced: the owner's right
ALTER TABLE wing.book ALTER COLUMN number TYPE bigint USING number + 1;
INSERT INTO wing.book VALUES (1);
VACUUM FULL wing.book;
INSERT INTO wing.book VALUES (1);
ALTER TABLE wing.book SET UNLOGGED;
TRUNCATE wing.book;
SELECT relation, lease, enabled FROM lease.guards;
-- the trigger under another name
SELECT trigger FROM lease.guards \gset
ALTER TRIGGER :"trigger" ON wing.book RENAME TO mine;
INSERT INTO wing.book VALUES (1);
SELECT relation, lease, trigger FROM lease.guards;
SELECT guard FROM lease_guard('wing.book', 'l');
ALTER TRIGGER mine ON wing.book RENAME TO :"trigger";

-- a table that is made like it has no guard, and lease.guards says so
CREATE TABLE twin (LIKE wing.book INCLUDING ALL);
CREATE TABLE copied AS TABLE wing.book;
SELECT relation FROM lease.guards;
INSERT INTO twin VALUES (1);
INSERT INTO copied VALUES (1);
-- two tables that change names take their guards along
ALTER TABLE twin RENAME TO third;
ALTER TABLE third SET SCHEMA wing;
SELECT relation FROM lease.guards;

-- disabled, in the ways there are
ALTER TABLE wing.book DISABLE TRIGGER :"trigger";
SELECT relation, enabled FROM lease.guards;
INSERT INTO wing.book VALUES (2);
SELECT lease_guard('wing.book', 'l');
SELECT lease_guard('wing.book', 'l', 'live');
ALTER TABLE wing.book ENABLE TRIGGER :"trigger";
SELECT relation, enabled FROM lease.guards;
INSERT INTO wing.book VALUES (3);
ALTER TABLE wing.book ENABLE REPLICA TRIGGER :"trigger";
SELECT relation, enabled FROM lease.guards;
SELECT lease_guard('wing.book', 'l');
ALTER TABLE wing.book ENABLE ALWAYS TRIGGER :"trigger";
SELECT guard FROM lease_guard('wing.book', 'l');
-- a detour by ALL makes an "always" guard an "origin" one: it shows
ALTER TABLE wing.book DISABLE TRIGGER ALL;
ALTER TABLE wing.book ENABLE TRIGGER ALL;
SELECT relation, enabled FROM lease.guards;
SELECT lease_guard('wing.book', 'l');
-- dropped: gone from the view
DROP TRIGGER :"trigger" ON wing.book;
SELECT count(*) AS guards FROM lease.guards;
SELECT count(*) AS rows FROM wing.book;
\set VERBOSITY default
SELECT guard FROM lease_guard('wing.book', 'l');
ALTER TABLE wing.book DISABLE TRIGGER USER;
SELECT lease_guard('wing.book', 'l');
SET client_min_messages = warning;
DROP SCHEMA wing CASCADE;
DROP TABLE copied;
DELETE FROM lease.lease;
