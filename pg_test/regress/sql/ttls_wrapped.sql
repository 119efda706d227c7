-- An interval of more seconds than fit wraps around to a negative one, and is refused as that; from
-- PostgreSQL 17 on the server refuses to make it (22008).
\set VERBOSITY sqlstate
SELECT lease_acquire('l', 'w', make_interval(secs => 1e300));
