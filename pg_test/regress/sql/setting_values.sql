-- pg_lease.token is lease=token, several separated by commas; everything else is refused at SET.
CREATE TABLE ledger (id int);
SELECT guard FROM lease_guard('ledger', 'a');
SELECT token FROM lease_acquire('a', 'w', '1 hour') \gset
\set VERBOSITY sqlstate
-- empty presents nothing, and so does a session that never set it
SHOW pg_lease.token;
INSERT INTO ledger VALUES (0);
SET pg_lease.token TO '';
INSERT INTO ledger VALUES (0);
SET pg_lease.token TO '  ';
INSERT INTO ledger VALUES (0);
-- spaces around are fine, and so are other leases beside it
SELECT ' a = ' || :token || ' ' AS spaced, 'z=1,' || 'a=' || :token || ',b=2' AS among,
       E'\ta\n=\t' || :token AS blanks, 'a=000' || :token AS zeros \gset
SET pg_lease.token TO :'spaced';
INSERT INTO ledger VALUES (1);
SET pg_lease.token TO :'among';
INSERT INTO ledger VALUES (2);
SET pg_lease.token TO :'blanks';
INSERT INTO ledger VALUES (3);
SET pg_lease.token TO :'zeros';
INSERT INTO ledger VALUES (4);
-- names are exact
SELECT 'A=' || :token AS other_case, 'aa=' || :token AS longer \gset
SET pg_lease.token TO :'other_case';
INSERT INTO ledger VALUES (0);
SET pg_lease.token TO :'longer';
INSERT INTO ledger VALUES (0);
-- the highest number was never minted
SET pg_lease.token TO 'a=9223372036854775807';
INSERT INTO ledger VALUES (0);
TABLE ledger;

SET pg_lease.token TO 'a=1';
SET pg_lease.token TO '41';
SET pg_lease.token TO 41;
SET pg_lease.token TO 'a';
SET pg_lease.token TO 'a=';
SET pg_lease.token TO '=1';
SET pg_lease.token TO '=';
SET pg_lease.token TO 'a=x';
SET pg_lease.token TO 'a=1x';
SET pg_lease.token TO 'a=1,a=2';
SET pg_lease.token TO 'a=1,b=2,a=1';
SET pg_lease.token TO 'a=99999999999999999999';
SET pg_lease.token TO 'a=9223372036854775808';
SET pg_lease.token TO 'a=0';
SET pg_lease.token TO 'a=-1';
SET pg_lease.token TO 'a=+1';
SET pg_lease.token TO 'a=1.0';
SET pg_lease.token TO 'a=0x10';
SET pg_lease.token TO 'a=1e3';
SET pg_lease.token TO 'a=1 2';
SET pg_lease.token TO 'a==1';
SET pg_lease.token TO 'a=1=2';
SET pg_lease.token TO 'a=1,';
SET pg_lease.token TO ',a=1';
SET pg_lease.token TO 'a=1,,b=2';
SET pg_lease.token TO ',';
SET pg_lease.token TO 'a=1;b=2';
SET pg_lease.token TO 'a b=1';
SET pg_lease.token TO 'é=1';
SET pg_lease.token TO 'a=１';
SET pg_lease.token TO a, b;
SELECT set_config('pg_lease.token', 'a=x', false);
SELECT set_config('pg_lease.token', repeat('a', 201) || '=1', false);
SELECT set_config('pg_lease.token', 'a=' || repeat('1', 100000), false);
SELECT set_config('pg_lease.token', repeat('x', 100000), false);
-- more than a million bytes of good ones are too many; what fits is taken
SELECT string_agg('lease:' || i || '=' || i, ',') AS long FROM generate_series(1, 60000) i \gset
SELECT string_agg('lease:' || i || '=' || i, ',') AS fits FROM generate_series(1, 50000) i \gset
SELECT length(:'long') > 1000000 AS long, length(:'fits') < 1000000 AS fits;
SET pg_lease.token TO :'long';
SHOW pg_lease.token;
SELECT length(set_config('pg_lease.token', :'fits' || ',a=' || :token, false)) > 800000 AS taken;
INSERT INTO ledger VALUES (5);
RESET pg_lease.token;
ALTER ROLE CURRENT_USER SET pg_lease.token = 'a=x';
CREATE FUNCTION f() RETURNS int LANGUAGE sql SET pg_lease.token = '41' AS 'SELECT 1';
-- why: the message is the server's for every setting, the detail and hint are ours
\set VERBOSITY default
SET pg_lease.token TO '41';
SET pg_lease.token TO 'a=x';
SET pg_lease.token TO 'a b=1';
SET pg_lease.token TO 'a=1,a=2';
TABLE ledger;
DROP TABLE ledger;
DELETE FROM lease.lease;
