//! What transactions leave behind, and what they read, by the server's own count.

use crate::bed::Bed;
use anyhow::{Context, Result};
use postgres::Client;
use rig::wait_until;
use std::time::Duration;

/// Totals at one moment.
#[derive(Clone, Debug)]
pub struct Moment {
    lsn: String,
    multixact: i64,
    dead: i64,
    buffers: i64,
}

/// For each transaction between two moments.
#[derive(Clone, Copy, Debug)]
pub struct PerTransaction {
    /// Bytes, without the images of whole pages that follow a checkpoint.
    pub wal: f64,
    pub wal_records: f64,
    pub multixacts: f64,
    /// Row versions of the lease and fence tables that died.
    pub dead: f64,
    pub buffers: f64,
}

const TOTALS: &str = "\
    SELECT pg_current_wal_flush_lsn()::text,
           (SELECT next_multixact_id::text::bigint FROM pg_control_checkpoint()),
           (SELECT sum(n_tup_upd + n_tup_del)::bigint FROM pg_stat_user_tables
            WHERE relid IN ('lease.lease'::regclass, 'lease.fence'::regclass,
                            'held'::regclass, 'mover_fence'::regclass)),
           (SELECT (blks_hit + blks_read)::bigint FROM pg_stat_database
            WHERE datname = current_database())";

/// Their sessions are gone, so that the statistics are complete.
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

impl Moment {
    pub fn now(bed: &Bed) -> Result<Self> {
        let mut client = bed.server.connect("postgres")?;
        wait_until("the other sessions to end", Duration::from_secs(30), || {
            Ok(client.query_one(OTHERS, &[])?.get::<_, i64>(0) == 0)
        })?;
        client.batch_execute("CHECKPOINT")?;
        let row = client.query_one(TOTALS, &[])?;
        let count = |column: usize| row.get::<_, Option<i64>>(column).unwrap_or_default();
        Ok(Self { lsn: row.get(0), multixact: count(1), dead: count(2), buffers: count(3) })
    }

    pub fn until(&self, later: &Self, bed: &Bed, transactions: u32) -> Result<PerTransaction> {
        let mut client = bed.server.connect("postgres")?;
        let (bytes, records) = wal(&mut client, &self.lsn, &later.lsn)?;
        let each = |total: i64| total as f64 / f64::from(transactions);
        Ok(PerTransaction {
            wal: each(bytes),
            wal_records: each(records),
            multixacts: each(later.multixact - self.multixact),
            dead: each(later.dead - self.dead),
            buffers: each(later.buffers - self.buffers),
        })
    }
}

fn wal(client: &mut Client, from: &str, to: &str) -> Result<(i64, i64)> {
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_walinspect")?;
    let sums = "SELECT sum(record_size)::bigint, sum(count)::bigint \
        FROM pg_get_wal_stats($1::text::pg_lsn, $2::text::pg_lsn)";
    let row = client.query_one(sums, &[&from, &to])?;
    let sum = |at: usize| row.get::<_, Option<i64>>(at).context("no WAL was written");
    Ok((sum(0)?, sum(1)?))
}
