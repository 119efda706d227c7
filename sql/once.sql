-- Jobs that must run at most once: who writes the row first runs the job. There is no clock in it.
--
-- Functions that run as the extension's owner look nowhere but in pg_catalog, whatever the caller's
-- search_path is: what is not of pg_catalog is qualified.

CREATE TABLE lease.once (
    begun_at    timestamptz NOT NULL,
    done_at     timestamptz,
    job         text COLLATE "C" NOT NULL,
    run         text COLLATE "C" NOT NULL,
    begun_by    text NOT NULL,
    application text NOT NULL,
    CONSTRAINT once_pkey PRIMARY KEY (job, run)
);
REVOKE ALL ON TABLE lease.once FROM PUBLIC;

COMMENT ON TABLE lease.once IS 'One row per run that was begun, by the only caller who may do it.';
COMMENT ON COLUMN lease.once.begun_at IS 'When lease_once answered true.';
COMMENT ON COLUMN lease.once.done_at IS 'When lease_once_done was called. Null until then.';
COMMENT ON COLUMN lease.once.job IS 'Matches ^[A-Za-z0-9._:@/-]{1,200}$.';
COMMENT ON COLUMN lease.once.run IS 'Which run of the job, for instance a date.';
COMMENT ON COLUMN lease.once.begun_by IS 'The role that the caller had logged in as.';
COMMENT ON COLUMN lease.once.application IS 'The caller''s application_name.';

SELECT pg_catalog.pg_extension_config_dump('lease.once', '');

CREATE FUNCTION lease_once(job text, run text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    is_first boolean;
    unbounded boolean := current_setting('lock_timeout') = '0';
BEGIN
    PERFORM lease.check_name('job', job);
    PERFORM lease.check_label('run', run);
    PERFORM lease.check_writable('lease_once');
    IF unbounded THEN
        SET LOCAL lock_timeout = '5 s';
    END IF;
    INSERT INTO lease.once (job, run, begun_at, begun_by, application)
    VALUES (lease_once.job, lease_once.run, lease.clock(), session_user,
            current_setting('application_name'))
    ON CONFLICT ON CONSTRAINT once_pkey DO NOTHING;
    is_first := FOUND;
    IF unbounded THEN
        SET LOCAL lock_timeout = 0;
    END IF;
    IF is_first THEN
        PERFORM lease.begun(job);
    END IF;
    RETURN is_first;
END
$$;
REVOKE ALL ON FUNCTION lease_once(text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease_once(text, text) IS
    'True for exactly one caller ever of each run of a job: that one does the work, once it has '
    'committed. False for everybody else. Waits for the end of another caller''s open transaction: '
    'true if that one is rolled back. The commit is forced to disk. Raises 55P03 when it waits '
    'longer than lock_timeout (5 s where that is 0), 40001 under REPEATABLE READ and SERIALIZABLE '
    'when another caller committed after the snapshot, 22023 and 22004 for a bad job or run, 25006 '
    'on a standby or in a read-only transaction.';

CREATE FUNCTION lease_once_done(job text, run text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
#variable_conflict use_column
BEGIN
    PERFORM lease.check_name('job', lease_once_done.job);
    PERFORM lease.check_label('run', lease_once_done.run);
    PERFORM lease.check_writable('lease_once_done');
    UPDATE lease.once SET done_at = lease.clock()
    WHERE job = lease_once_done.job AND run = lease_once_done.run AND done_at IS NULL;
    IF FOUND THEN
        RETURN true;
    END IF;
    PERFORM FROM lease.once WHERE job = lease_once_done.job AND run = lease_once_done.run;
    IF NOT FOUND THEN
        PERFORM lease.refuse_run(lease_once_done.job, lease_once_done.run);
    END IF;
    RETURN false;
END
$$;
REVOKE ALL ON FUNCTION lease_once_done(text, text) FROM PUBLIC;
COMMENT ON FUNCTION lease_once_done(text, text) IS
    'Says that a run has finished: true, or false when that had been said before. Raises 42704 for '
    'a run that nobody began, 22023, 22004 and 25006 as lease_once.';

CREATE VIEW lease.once_unfinished AS
SELECT o.job,
       o.run,
       o.begun_at,
       n.now OPERATOR(pg_catalog.-) o.begun_at AS age,
       o.begun_by,
       o.application
FROM lease.once AS o
CROSS JOIN (SELECT lease.clock() AS now OFFSET 0) AS n
WHERE o.done_at IS NULL;
REVOKE ALL ON TABLE lease.once_unfinished FROM PUBLIC;
GRANT SELECT ON TABLE lease.once_unfinished TO pg_monitor;
COMMENT ON VIEW lease.once_unfinished IS
    'Runs that were begun and not reported as finished. Nobody begins them again: one that is older '
    'than the job takes needs somebody to look whether it was done.';
