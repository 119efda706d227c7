-- What runs only at the commit, or commits in its middle, meets the guard as everything else.
CREATE TABLE ledger (id int PRIMARY KEY);
CREATE TABLE inbox (id int);
SELECT guard FROM lease_guard('ledger', 'arbitrum');
SELECT 'arbitrum=' || token AS stale FROM lease_acquire('arbitrum', 'worker-a') \gset
SELECT 'arbitrum=' || token AS good, token AS good_token
FROM lease_takeover('arbitrum', 'worker-b', '1 min') \gset
\set VERBOSITY sqlstate

-- a deferred trigger that writes a guarded table
CREATE FUNCTION post() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN INSERT INTO ledger VALUES (NEW.id); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON inbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION post();
SET pg_lease.token TO :'stale';
BEGIN;
INSERT INTO inbox VALUES (1);
COMMIT;
SET pg_lease.token TO '';
BEGIN;
INSERT INTO inbox VALUES (1);
COMMIT;
SELECT (SELECT count(*) FROM inbox) AS inbox, (SELECT count(*) FROM ledger) AS ledger;
SET pg_lease.token TO :'good';
BEGIN;
INSERT INTO inbox VALUES (1);
COMMIT;
SELECT (SELECT count(*) FROM inbox) AS inbox, (SELECT count(*) FROM ledger) AS ledger;
-- and a token that is lost between the deferred write's statement and the commit
BEGIN;
INSERT INTO inbox VALUES (2);
UPDATE lease.lease SET token = token + 1;
COMMIT;
SELECT (SELECT count(*) FROM inbox) AS inbox, (SELECT count(*) FROM ledger) AS ledger;
DROP TABLE inbox;

-- a holdable cursor runs its query, and with it the function that writes, at the commit
CREATE FUNCTION write_one(int) RETURNS int LANGUAGE plpgsql AS
    'BEGIN INSERT INTO ledger VALUES ($1); RETURN $1; END';
SET pg_lease.token TO :'stale';
BEGIN;
DECLARE late CURSOR WITH HOLD FOR SELECT write_one(3);
COMMIT;
SELECT array_agg(id ORDER BY id) AS ledger FROM ledger;
FETCH late;
SET pg_lease.token TO :'good';
BEGIN;
DECLARE late CURSOR WITH HOLD FOR SELECT write_one(3);
COMMIT;
FETCH late;
CLOSE late;
SELECT array_agg(id ORDER BY id) AS ledger FROM ledger;

-- a procedure that commits in its middle: what the first half declared does not reach the second
CREATE PROCEDURE two_halves(token bigint) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lease_fence_check('arbitrum', token);
    INSERT INTO ledger VALUES (4);
    COMMIT;
    INSERT INTO ledger VALUES (5);
END $$;
SET pg_lease.token TO '';
CALL two_halves(:good_token);
SELECT array_agg(id ORDER BY id) AS ledger FROM ledger;
-- a token that is lost in the middle stops the second half, and the first half stays
CREATE PROCEDURE lost_in_the_middle() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger VALUES (6);
    COMMIT;
    UPDATE lease.lease SET token = token + 1;
    COMMIT;
    INSERT INTO ledger VALUES (7);
END $$;
SET pg_lease.token TO :'good';
CALL lost_in_the_middle();
SELECT array_agg(id ORDER BY id) AS ledger FROM ledger;
-- a COMMIT in the middle is a commit: it is checked
CREATE PROCEDURE refused_in_the_middle() LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger VALUES (8);
    UPDATE lease.lease SET token = token + 1;
    COMMIT;
END $$;
SELECT set_config('pg_lease.token', 'arbitrum=' || token, false) AS presented FROM lease.lease \gset
CALL refused_in_the_middle();
SELECT array_agg(id ORDER BY id) AS ledger FROM ledger;

SET pg_lease.token TO '';
DROP PROCEDURE two_halves, lost_in_the_middle, refused_in_the_middle;
DROP FUNCTION post, write_one;
DROP TABLE ledger;
DELETE FROM lease.lease;
