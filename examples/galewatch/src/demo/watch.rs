//! States of the night, as the databases have them.

use crate::stage::{ROUTING_DB, SHARD_1, SHARD_3, Stage};
use anyhow::Result;
use galewatch::LEASE;
use postgres::Client;

const HOLDER: &str = "
SELECT split_part(owner, '/', 1), (extract(epoch FROM expires_at) * 1e6)::bigint
FROM lease.status WHERE name = $1 AND state = 'held'";
/// Whether a statement of this program waits for one of ours.
const WAITS: &str = "
SELECT EXISTS (SELECT FROM pg_stat_activity
               WHERE application_name = $1 AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))";
/// Whether the server does nothing for this program but wait for it.
const QUIET: &str = "
SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                   WHERE application_name = $1
                     AND (wait_event_type = 'Client') IS NOT TRUE)";
const LAST: &str = "SELECT max(turbine_id) FROM readings";
const THERE: &str = "SELECT EXISTS (SELECT FROM readings WHERE turbine_id = $1)";
const ROWS: &str = "SELECT count(*) FROM readings WHERE turbine_id = $1";
const PIN: &str = "SELECT FROM readings WHERE turbine_id = $1 LIMIT 1 FOR KEY SHARE";

/// Who holds the lease, and until when (microseconds since 1970).
pub fn holder(stage: &Stage) -> Result<Option<(String, i64)>> {
    let row = stage.routing.connect(ROUTING_DB)?.query_opt(HOLDER, &[&LEASE])?;
    Ok(row.map(|row| (row.get(0), row.get(1))))
}

/// Connections to the shards that look on.
pub struct Watch {
    pub shard1: Client,
    pub shard3: Client,
}

impl Watch {
    pub fn over(stage: &Stage) -> Result<Self> {
        let shard1 = stage.shards.connect(SHARD_1)?;
        Ok(Self { shard1, shard3: stage.shards.connect(SHARD_3)? })
    }

    /// From now until `unpin`, nobody can delete this turbine from shard 1: they wait for us, as
    /// they would for anybody's report that has a row of it in use.
    pub fn pin(&mut self, turbine: &str) -> Result<()> {
        self.shard1.batch_execute("BEGIN")?;
        self.shard1.query(PIN, &[&turbine])?;
        Ok(())
    }

    pub fn unpin(&mut self) -> Result<()> {
        Ok(self.shard1.batch_execute("COMMIT")?)
    }

    /// Whether this box waits for what we have pinned.
    pub fn waits_for_us(&mut self, name: &str) -> Result<bool> {
        Ok(self.shard1.query_one(WAITS, &[&name])?.get(0))
    }

    /// Whether no statement of this box runs on a shard.
    pub fn is_quiet(&mut self, name: &str) -> Result<bool> {
        Ok(self.shard3.query_one(QUIET, &[&name])?.get(0))
    }

    /// The last turbine of the list that has readings on shard 3.
    pub fn last_on_shard3(&mut self) -> Result<Option<String>> {
        Ok(self.shard3.query_one(LAST, &[])?.get(0))
    }

    /// Whether shard 1 has readings of the turbine.
    pub fn is_on_shard1(&mut self, turbine: &str) -> Result<bool> {
        Ok(self.shard1.query_one(THERE, &[&turbine])?.get(0))
    }

    /// How many readings of the turbine are on shard 1 and on shard 3.
    pub fn rows(&mut self, turbine: &str) -> Result<(u64, u64)> {
        Ok((rows(&mut self.shard1, turbine)?, rows(&mut self.shard3, turbine)?))
    }
}

fn rows(shard: &mut Client, turbine: &str) -> Result<u64> {
    Ok(u64::try_from(shard.query_one(ROWS, &[&turbine])?.get::<_, i64>(0))?)
}
