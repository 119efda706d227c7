-- What is older than pg_lease.history_keep goes, a little with every few grants; without waiting.
TRUNCATE lease.change;
CREATE ROLE regress_lease_plain;
INSERT INTO lease.change (at, acquisitions, name, why, role)
SELECT clock_timestamp() - interval '1 hour' * i, 1, 'old', 'released', 'me'
FROM generate_series(1, 1000) i;
CREATE PROCEDURE grants(n int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..n LOOP
        PERFORM lease_takeover('job', 'a', '1 hour');
        COMMIT;
    END LOOP;
END $$;
CALL grants(400);
SHOW pg_lease.history_keep;
SELECT count(*) FILTER (WHERE name = 'old') AS young, min(at) > clock_timestamp() - interval '30 days' AS all_young,
       count(*) FILTER (WHERE name = 'job') AS new
FROM lease.change;
-- with another span
SET pg_lease.history_keep = '10 d';
CALL grants(400);
SELECT count(*) FILTER (WHERE name = 'old') AS young, count(*) FILTER (WHERE name = 'job') AS new
FROM lease.change;
-- none is kept
TRUNCATE lease.change;
SET pg_lease.history_keep = 0;
CALL grants(1);
SELECT count(*) FROM lease.history;
RESET pg_lease.history_keep;
-- a transaction that keeps one snapshot adds its rows, and deletes nobody's
INSERT INTO lease.change (at, acquisitions, name, why, role) VALUES ('2020-01-01', 1, 'old', 'released', 'me');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(t.token) FROM generate_series(1, 400) i, LATERAL lease_takeover('job', 'o' || i, '1 hour') t;
SELECT count(*) FILTER (WHERE name = 'old') AS old, count(*) FILTER (WHERE name = 'job') AS new
FROM lease.change;
COMMIT;
SET ROLE regress_lease_plain;
\set VERBOSITY sqlstate
SET pg_lease.history_keep = '1 d';
RESET ROLE;
DROP ROLE regress_lease_plain;
DROP PROCEDURE grants;
TRUNCATE lease.change;
DELETE FROM lease.lease;
