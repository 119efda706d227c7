//! The sessions of a server: who they are, and stopping their processes.

use super::Faults;
use crate::dice::Dice;
use anyhow::Result;
use postgres::Client;
use rig::process;
use std::thread::{sleep, spawn};
use std::time::Duration;

/// A session of a worker, as the server shows it.
#[derive(Clone, Debug)]
pub struct Shown {
    pub pid: i32,
    pub client: String,
    pub state: String,
}

/// The workers' sessions in this state, or in any.
pub fn of_workers(client: &mut Client, state: Option<&str>) -> Result<Vec<Shown>> {
    let rows = client.query(
        "SELECT pid, application_name, coalesce(state, '') FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'w%' ORDER BY pid",
        &[],
    )?;
    let mut shown: Vec<Shown> = rows
        .iter()
        .map(|row| Shown { pid: row.get(0), client: row.get(1), state: row.get(2) })
        .collect();
    shown.retain(|session| state.is_none_or(|state| session.state == state));
    Ok(shown)
}

pub fn any(client: &mut Client, dice: &mut Dice, state: Option<&str>) -> Result<Option<Shown>> {
    let sessions = of_workers(client, state)?;
    Ok(sessions.get(dice.below(sessions.len())).cloned())
}

/// What the server shows of one process now.
pub fn state(client: &mut Client, pid: i32) -> Result<Option<String>> {
    let rows = client.query("SELECT state FROM pg_stat_activity WHERE pid = $1", &[&pid])?;
    Ok(rows.first().and_then(|row| row.get(0)))
}

/// Stops a process, and lets it go on after a while whatever happens here.
pub fn freeze(pid: i32, duration: Duration, faults: &Faults, number: usize) -> Result<()> {
    let born = process::started(pid);
    process::freeze(pid)?;
    let faults = faults.clone();
    spawn(move || {
        sleep(duration);
        if process::started(pid) == born {
            let _ = process::thaw(pid);
        }
        faults.heal(number);
    });
    Ok(())
}
