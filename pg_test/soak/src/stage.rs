//! The database that the clients work in.

use crate::check::Violation;
use crate::worker::Order;
use anyhow::Result;
use postgres::Client;
use rig::{Server, wait_until};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

pub const DATABASE: &str = "soak";

/// What every server of the test is set to.
pub fn builder(name: &str) -> rig::Builder {
    Server::builder(name)
        .conf("wal_level = logical")
        .conf("max_prepared_transactions = 100")
        .conf("max_wal_size = '4 GB'")
        .conf("max_slot_wal_keep_size = -1")
        .conf("restart_after_crash = on")
        .conf("shared_buffers = '64 MB'")
}

/// Makes the database with a guarded table for each lease, and connects to it.
pub fn set_up(server: &Server, leases: usize, mode: &str) -> Result<Client> {
    set_up_in(server, DATABASE, leases, mode)
}

pub fn set_up_in(server: &Server, database: &str, leases: usize, mode: &str) -> Result<Client> {
    server.create_database(database)?;
    server.create_extension(database)?;
    let mut client = server.connect(database)?;
    for number in 0..leases {
        let lease = Order::lease(number);
        let table = Order::table(&lease);
        client.batch_execute(&format!(
            "CREATE TABLE {table} (operation text NOT NULL, part integer NOT NULL,
                                   token bigint NOT NULL);
             SELECT lease_guard('{table}', '{lease}', '{mode}')"
        ))?;
    }
    Ok(client)
}

/// Stops what a standby receives.
pub fn cut_off(standby: &Server) -> Result<()> {
    let mut client = standby.connect("postgres")?;
    client.batch_execute("ALTER SYSTEM SET primary_conninfo = ''")?;
    client.batch_execute("SELECT pg_reload_conf()")?;
    let gone = "SELECT count(*) = 0 FROM pg_stat_wal_receiver";
    wait_until("the standby to be cut off", PATIENCE, || Ok(client.query_one(gone, &[])?.get(0)))
}

/// Which standby commits wait for, by the name that it shows; empty: none.
pub fn name_standby(primary: &Server, name: &str) -> Result<()> {
    let mut client = primary.connect("postgres")?;
    client.batch_execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'"))?;
    Ok(client.batch_execute("SELECT pg_reload_conf()")?)
}

/// From now on commits wait for this standby.
pub fn wait_for_standby(primary: &Server, name: &str) -> Result<()> {
    name_standby(primary, name)?;
    let mut client = primary.connect("postgres")?;
    let there = "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    wait_until("the standby to be synchronous", PATIENCE, || {
        Ok(client.query_one(there, &[])?.get(0))
    })
}

/// Guards that are not as they were made.
pub fn broken_guards(client: &mut Client, leases: usize) -> Result<Vec<Violation>> {
    let rows = client.query("SELECT relation::text, enabled FROM lease.guards", &[])?;
    let wrong = rows.iter().filter(|row| row.get::<_, &str>(1) != "always");
    let mut broken: Vec<String> = wrong
        .map(|row| format!("{} is {}", row.get::<_, &str>(0), row.get::<_, &str>(1)))
        .collect();
    if rows.len() != leases {
        broken.push(format!("{} guards instead of {leases}", rows.len()));
    }
    let rule = "guards stay as they are";
    Ok(broken.into_iter().map(|what| Violation::new(rule, what)).collect())
}

/// Lines of a server's log that no fault of ours explains.
pub fn crashes(server: &Server) -> Vec<String> {
    let bad = |line: &&str| {
        let killed = line.contains("terminated by signal") && !line.contains("signal 9");
        killed || line.contains("PANIC") || line.contains("panicked") || line.contains("TRAP:")
    };
    let log = server.log();
    log.lines().filter(bad).map(|line| format!("{}: {line}", server.name())).collect()
}
