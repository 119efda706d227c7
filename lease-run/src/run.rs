//! From the command line to the exit status.

use crate::acquire::acquire;
use crate::args::Args;
use crate::clock::{Moment, within};
use crate::conninfo::Conninfo;
use crate::deadline::Term;
use crate::environment::pgoptions;
use crate::job::{self, Job};
use crate::keeper::Keeper;
use crate::lease::Claim;
use crate::progress::Progress;
use crate::say::Level;
use crate::session::Link;
use crate::signals::Signals;
use crate::status::{BEGUN_BEFORE, Exit, LOST, NOT_FOUND, UNAVAILABLE, USAGE};
use crate::supervise::{Ending, Outcome, supervise};
use std::env;
use std::time::{Duration, SystemTime};

/// How long the server may take at the end.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn run(args: Args) -> Result<u8, Exit> {
    let program = args.command.first().ok_or_else(|| Exit::new(NOT_FOUND, "no command"))?;
    job::find(program)?;
    let conninfo = Conninfo::read(args.dsn.as_deref()).map_err(|why| Exit::new(USAGE, why))?;
    let mut signals = Signals::begin()?;
    let owner = args.owner.clone().unwrap_or_else(incarnation);
    let claim =
        Claim { name: args.lease.clone(), owner, ttl: args.ttl, stall_after: args.stall_after };
    let mut link = Link::new(conninfo);
    let (token, term) = tokio::select! {
        acquired = acquire(&mut link, &claim, args.wait) => acquired?,
        signal = signals.next() => return Ok(128 + signal as u8),
    };
    let progress = args.progress_file.clone().map(Progress::of);
    let mut keeper = Keeper { link, claim, token, progress };
    keeper.say(Level::All, &format!("acquired, with token {token}"));
    hold(&args, &mut keeper, term, &mut signals).await
}

/// Runs the command under the lease, and gives the lease back, unless it is gone.
async fn hold(
    args: &Args,
    keeper: &mut Keeper,
    term: Term,
    signals: &mut Signals,
) -> Result<u8, Exit> {
    let started = start(args, keeper, term).await;
    let (mut job, term) = match started {
        Ok(started) => started,
        Err(exit) => {
            keeper.release(Moment::now() + PATIENCE).await;
            return Err(exit);
        }
    };
    let ending = Ending { signal: args.signal, kill_after: args.kill_after };
    let outcome = supervise(&mut job, keeper, term, signals, ending).await;
    if outcome.status == Some(0) {
        report_done(args, keeper).await;
    }
    give_back(keeper, &outcome).await;
    Ok(outcome.status.unwrap_or(LOST))
}

/// Starts the command, if it may run, with a lease that has just been renewed if that was due.
async fn start(args: &Args, keeper: &mut Keeper, mut term: Term) -> Result<(Job, Term), Exit> {
    if let Some(run) = &args.once {
        begin_once(keeper, run, term.stop_at).await?;
    }
    if term.renew_at.is_over() {
        let renewed = within(term.kill_by, keeper.renew(&term)).await;
        let renewed = renewed.unwrap_or_else(|| Err("no answer in time".to_owned()));
        term = renewed.map_err(|why| Exit::new(LOST, format!("lost before the start: {why}")))?;
    }
    let name = &keeper.claim.name;
    let before = env::var("PGOPTIONS").unwrap_or_default();
    let environment = [
        ("PG_LEASE_NAME", name.clone()),
        ("PG_LEASE_TOKEN", keeper.token.to_string()),
        ("PGOPTIONS", pgoptions(&before, name, keeper.token)),
    ];
    Ok((Job::start(&args.command, &environment)?, term))
}

/// The job of `lease_once` is the lease's name.
async fn begin_once(keeper: &mut Keeper, run: &str, by: Moment) -> Result<(), Exit> {
    let job = &keeper.claim.name;
    match keeper.link.begin_once(job, run, by).await {
        Ok(true) => Ok(()),
        Ok(false) => {
            let why = format!("run \"{run}\" of \"{job}\" was begun before: nothing is run");
            Err(Exit::new(BEGUN_BEFORE, why))
        }
        Err(failure) => {
            let why = format!("cannot begin run \"{run}\" of \"{job}\": {failure}");
            Err(Exit::new(UNAVAILABLE, why))
        }
    }
}

async fn report_done(args: &Args, keeper: &mut Keeper) {
    if let Some(run) = &args.once {
        let by = Moment::now() + PATIENCE;
        if let Err(failure) = keeper.link.once_done(&keeper.claim.name, run, by).await {
            let why = format!("run \"{run}\" is done, but that could not be reported: {failure}");
            keeper.say(Level::Error, &why);
        }
    }
}

/// What cannot be killed keeps the lease for as long as it lasts.
async fn give_back(keeper: &mut Keeper, outcome: &Outcome) {
    match (outcome.gone, outcome.all_dead) {
        (false, true) => keeper.release(Moment::now() + PATIENCE).await,
        (true, _) if outcome.status.is_some() => {
            keeper.say(Level::Error, "was lost while what the command left behind was ended");
        }
        _ => {}
    }
}

/// Names this process and no other, before or after.
fn incarnation() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let printable = |c: &char| !c.is_control();
    let host: String = host.to_string_lossy().chars().filter(printable).take(100).collect();
    let started = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    format!("{host}:{}:{started}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incarnation_is_an_owner_that_the_server_takes() {
        let owner = incarnation();
        assert!(owner.len() <= 200 && owner.split(':').count() >= 3, "{owner}");
    }
}
