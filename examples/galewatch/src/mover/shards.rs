//! The two shards, as one holder of the lease sees them.

use crate::args::Args;
use anyhow::{Context, Result};
use galewatch::LEASE;
use galewatch::event::Event;
use galewatch::log::Log;
use postgres::{Client, Config, NoTls};
use std::io::{BufRead, Write};

const RAISE: &str = "SELECT lease_fence_raise($1, $2)";
const WRITE: &str = "INSERT INTO readings SELECT r.* FROM unnest($1::text[]::readings[]) AS r";
const DELETE: &str = "DELETE FROM readings WHERE turbine_id = $1";

/// How much of a turbine was read from the source, and written to the target.
#[derive(Default)]
pub struct Copied {
    pub read: u64,
    pub written: u64,
}

pub struct Shards {
    source: Client,
    target: Client,
    target_config: Config,
    batch: u64,
}

impl Shards {
    /// Connects to both. Every transaction of these connections presents the token.
    pub fn connect(args: &Args, token: i64) -> Result<Self> {
        let source = config(&args.source, &args.name, token).context("--source")?;
        let target_config = config(&args.target, &args.name, token).context("--target")?;
        Ok(Self {
            source: source.connect(NoTls)?,
            target: target_config.connect(NoTls)?,
            target_config,
            batch: args.batch,
        })
    }

    /// Tells both shards that there is a new holder.
    pub fn announce(&mut self, token: i64) -> Result<()> {
        for shard in [&mut self.source, &mut self.target] {
            shard.execute(RAISE, &[&LEASE, &token]).context("a shard does not know the holder")?;
        }
        Ok(())
    }

    /// Copies a turbine batch by batch, a transaction each, and counts on both sides.
    pub fn copy(&mut self, turbine: &str, log: &mut Log<impl Write>) -> Result<Copied> {
        let mut rows = self.source.copy_out(&reading_of(turbine))?;
        let mut copied = Copied::default();
        let mut batch = Vec::new();
        let mut more = true;
        while more {
            let read = next_batch(&mut rows, self.batch, &mut batch)?;
            more = read == self.batch;
            if read > 0 {
                let written = write(&mut self.target, &batch)?;
                copied.read += read;
                copied.written += written;
                log.note(Event::Wrote { turbine: turbine.to_owned(), rows: written })?;
            }
        }
        Ok(copied)
    }

    pub fn delete_from_source(&mut self, turbine: &str) -> Result<u64> {
        Ok(self.source.execute(DELETE, &[&turbine])?)
    }

    /// In a new connection, as after any trouble.
    pub fn delete_from_target(&mut self, turbine: &str) -> Result<u64> {
        self.target = self.target_config.connect(NoTls)?;
        Ok(self.target.execute(DELETE, &[&turbine])?)
    }
}

fn config(to: &str, name: &str, token: i64) -> Result<Config> {
    let mut config: Config = to.parse()?;
    config.application_name(name).options(&format!("-c pg_lease.token={LEASE}={token}"));
    Ok(config)
}

/// COPY takes no parameters: the name becomes a literal.
fn reading_of(turbine: &str) -> String {
    let turbine = turbine.replace('\'', "''");
    format!("COPY (SELECT r::text FROM readings r WHERE turbine_id = '{turbine}') TO STDOUT")
}

/// Fills `batch` with up to `most` rows, a line each, and returns how many. Fewer than `most` are
/// the last ones: reading on would be an error.
fn next_batch(rows: &mut impl BufRead, most: u64, batch: &mut Vec<u8>) -> Result<u64> {
    batch.clear();
    let mut read = 0;
    while read < most && rows.read_until(b'\n', batch)? > 0 {
        read += 1;
    }
    Ok(read)
}

/// Writes a batch in a transaction of its own, and returns how many rows the server took. Not by COPY:
/// when a COPY is refused after it has begun, this driver is out of step with the server.
fn write(target: &mut Client, batch: &[u8]) -> Result<u64> {
    let rows: Vec<&str> = std::str::from_utf8(batch)?.lines().collect();
    let mut transaction = target.transaction()?;
    let written = transaction.execute(WRITE, &[&rows])?;
    transaction.commit()?;
    Ok(written)
}
