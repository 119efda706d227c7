//! Standbys and their promotion.

use super::cluster::run;
use super::{Builder, PATIENCE, Server};
use crate::wait::wait_until;
use anyhow::Result;

impl Builder {
    /// Copies a running server and follows it from then on.
    pub fn start_standby_of(self, primary: &Server) -> Result<Server> {
        let shown = self.application_name.clone().unwrap_or_else(|| self.name.clone());
        let slot = self.slot.clone();
        self.start_from(|standby| standby.base_backup(primary, &shown, slot.as_deref()))
    }
}

impl Server {
    fn base_backup(&self, primary: &Server, shown: &str, slot: Option<&str>) -> Result<()> {
        let source = format!(
            "host={} port={} user=postgres application_name={shown}",
            primary.host(),
            primary.port(),
        );
        let mut backup = self.command("pg_basebackup");
        backup.args(["--no-sync", "--checkpoint=fast", "--wal-method=stream", "-R"]);
        backup.arg("--pgdata").arg(self.data_dir()).arg("--dbname").arg(source);
        if let Some(slot) = slot {
            backup.args(["--create-slot", "--slot", slot]);
        }
        run(&mut backup)
    }

    /// Makes a standby a primary, and waits until it takes writes.
    pub fn promote(&self) -> Result<()> {
        let mut client = self.connect("postgres")?;
        client.execute("SELECT pg_promote(false)", &[])?;
        let what = format!("\"{}\" to be promoted", self.name);
        wait_until(&what, PATIENCE, || {
            let row = client.query_one("SELECT pg_is_in_recovery()", &[])?;
            Ok(!row.get::<_, bool>(0))
        })
    }

    /// Waits until `standby` has replayed everything that this server has written so far.
    pub fn wait_for_replay(&self, standby: &Server) -> Result<()> {
        let mut here = self.connect("postgres")?;
        let row = here.query_one("SELECT pg_current_wal_lsn()::text", &[])?;
        let written: String = row.get(0);
        let mut there = standby.connect("postgres")?;
        let what = format!("\"{}\" to replay up to {written}", standby.name);
        wait_until(&what, PATIENCE, || {
            let caught_up = "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
            Ok(there.query_one(caught_up, &[&written])?.get(0))
        })
    }
}
