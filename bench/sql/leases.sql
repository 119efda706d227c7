-- Leases by the superuser's hand, all held, and a plain table of the same shape beside them.
-- :count leases, named work/1, work/2, …, with the tokens 1001, 1002, …

INSERT INTO lease.lease (token, expires_at, since, acquisitions, home, ttl_ms, role, name, owner)
SELECT 1000 + n, clock_timestamp() + '1 day', clock_timestamp(), 1, lease.home(), 86400000,
       current_user::regrole, 'work/' || n, 'bench'
FROM generate_series(1, :count) AS n;

CREATE TABLE plain_lease (LIKE lease.lease INCLUDING ALL) WITH (fillfactor = 50);
INSERT INTO plain_lease SELECT * FROM lease.lease WHERE name LIKE 'work/%';
CREATE SEQUENCE plain_token START 5000000;
