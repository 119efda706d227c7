-- What became of leases: a row for each change of ownership, written in its transaction.

CREATE TABLE lease.change (
    at           timestamptz NOT NULL,
    acquisitions bigint      NOT NULL,
    old_token    bigint,
    new_token    bigint,
    vacancy      interval,
    name         text COLLATE "C" NOT NULL,
    why          text COLLATE "C" NOT NULL,
    old_owner    text COLLATE "C",
    new_owner    text COLLATE "C",
    role         text COLLATE "C" NOT NULL,
    reason       text
) WITH (vacuum_truncate = false);
CREATE INDEX change_at ON lease.change (at);
REVOKE ALL ON TABLE lease.change FROM PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('lease.change', '');
COMMENT ON TABLE lease.change IS
    'Each change of ownership of a lease, for pg_lease.history_keep. Look at lease.history instead.';
COMMENT ON INDEX lease.change_at IS
    'By it, whoever adds rows finds those that are too old to be kept.';

-- A barrier, for the same reason as lease.status.
CREATE VIEW lease.history WITH (security_barrier = true) AS
SELECT c.at, c.name, c.why, c.old_owner, c.old_token, c.new_owner, c.new_token, c.vacancy, c.role,
       c.reason, c.acquisitions
FROM lease.change AS c
WHERE lease.may_list(c.name);
REVOKE ALL ON TABLE lease.history FROM PUBLIC;
GRANT SELECT ON TABLE lease.history TO PUBLIC;
COMMENT ON VIEW lease.history IS
    'Each change of ownership of the leases that one may list (members of pg_monitor: all), also of '
    'those dropped since; kept for pg_lease.history_keep. why: acquired (it was new, free or void), expired (its holder '
    'let it run out and another took it), reacquired (its holder asked for a new token), forced '
    '(lease_takeover, with the reason), released, drained, left (lease_worker_leave), fenced (by a '
    'newer incarnation of the worker), dropped, voided (lease_void_all). vacancy: for how long nobody '
    'had held it when it was granted. role: who did it. acquisitions: the lease''s count of grants.';
