-- A guard that was attached by hand in a wrong way refuses every write and says what is wrong.
CREATE TABLE ledger (id int);
\set VERBOSITY sqlstate
SET pg_lease.token TO 'l=1';
CREATE TRIGGER g AFTER INSERT ON ledger
    FOR EACH STATEMENT EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger VALUES (1);
DROP TRIGGER g ON ledger;
CREATE TRIGGER g BEFORE INSERT ON ledger
    FOR EACH ROW EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger VALUES (1);
DROP TRIGGER g ON ledger;
CREATE TRIGGER g AFTER INSERT ON ledger
    FOR EACH ROW EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger VALUES (1);
DROP TRIGGER g ON ledger;
CREATE CONSTRAINT TRIGGER g AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger VALUES (1);
DROP TRIGGER g ON ledger;
CREATE VIEW ledger_view AS TABLE ledger;
CREATE TRIGGER g INSTEAD OF INSERT ON ledger_view
    FOR EACH ROW EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger_view VALUES (1);
DROP VIEW ledger_view;
-- arguments
CREATE TRIGGER g BEFORE INSERT ON ledger EXECUTE FUNCTION lease.guard_writes();
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger EXECUTE FUNCTION lease.guard_writes('l');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('l', 'current', 'more');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('l', 'best');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger EXECUTE FUNCTION lease.guard_writes('l', '');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('', 'current');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('a b', 'current');
INSERT INTO ledger VALUES (1);
-- arguments of triggers are texts: this is a lease of that name
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes(NULL, 'current');
INSERT INTO ledger VALUES (1);
-- not called by a trigger
SELECT lease.guard_writes();
SELECT lease.guard_writes('l', 'current');
TABLE ledger;

\set VERBOSITY default
SELECT lease.guard_writes();
CREATE OR REPLACE TRIGGER g AFTER INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    FOR EACH ROW EXECUTE FUNCTION lease.guard_writes('l', 'current');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger EXECUTE FUNCTION lease.guard_writes('l');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('l', 'best');
INSERT INTO ledger VALUES (1);
CREATE OR REPLACE TRIGGER g BEFORE INSERT ON ledger
    EXECUTE FUNCTION lease.guard_writes('a b', 'current');
INSERT INTO ledger VALUES (1);
RESET pg_lease.token;
DROP TABLE ledger;
