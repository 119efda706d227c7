//! The fleet: workers that share the shards of a piece of work among themselves.

pub mod leave;
pub mod look;
pub mod pass;
pub mod shards;

use crate::pg::call::Args;
use crate::pg::{clock, identity, role};
use crate::rules::refusal::{self, Result};
use crate::rules::roster::{self, Moment};
use crate::rules::{name, shard};

/// A worker as the arguments name it.
struct Who {
    fleet: String,
    /// Its name with the fleet's before it.
    worker: String,
    /// The owner of its leases.
    owner: String,
}

impl Who {
    fn read(args: &Args) -> Result<Self> {
        let worker = args.text(0, "worker")?;
        shard::check_worker(worker)?;
        let fleet = fleet_argument(args, 1)?;
        let worker = roster::worker_id(&fleet, worker);
        let owner = roster::owner(&worker, args.text(2, "incarnation")?);
        name::check_owner(&owner)?;
        Ok(Self { fleet, worker, owner })
    }
}

/// Refuses a role that is not the one which passes as the worker.
fn check_role(foreign: bool, owner: &str) -> Result<()> {
    if !foreign {
        return Ok(());
    }
    let role = role::name(role::caller()).unwrap_or_default();
    Err(refusal::worker_of_other_role(owner, &role))
}

/// A fleet's name is part of its leases' names.
fn fleet_argument(args: &Args, index: usize) -> Result<String> {
    const MOST_CHARACTERS: usize = 100;
    let fleet = args.text(index, "fleet")?;
    if fleet.len() > MOST_CHARACTERS || name::check_lease(fleet).is_err() {
        return Err(refusal::bad_fleet(fleet));
    }
    Ok(fleet.to_owned())
}

/// The time that silence is counted by. A standby has no members of its own.
fn moment() -> Moment {
    Moment { steady: clock::steady(), server: identity::incarnation() }
}
