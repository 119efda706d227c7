//! The move: copy a turbine, verify the count, renew the lease, delete it from the source.

use crate::claim::{Claim, Standing};
use crate::shards::Shards;
use anyhow::{Error, Result, ensure};
use galewatch::event::{Doing, Event, Refusal};
use galewatch::log::Log;
use std::io::Write;

/// How the work ended.
pub enum End {
    Finished,
    Lost,
}

/// Moves every turbine of the list, from the top, or stops when the lease is lost.
pub fn move_all(claim: &mut Claim, shards: &mut Shards, log: &mut Log<impl Write>) -> Result<End> {
    let mut turbines = 0;
    for turbine in claim.list()? {
        if move_one(&turbine, claim, shards, log)? == Standing::Lost {
            tidy_up(&turbine, shards, log)?;
            return Ok(End::Lost);
        }
        turbines += 1;
    }
    claim.release()?;
    log.note(Event::Finished { turbines })?;
    Ok(End::Finished)
}

fn move_one(
    turbine: &str,
    claim: &mut Claim,
    shards: &mut Shards,
    log: &mut Log<impl Write>,
) -> Result<Standing> {
    let name = turbine.to_owned();
    let copied = match shards.copy(turbine, log) {
        Ok(copied) => copied,
        Err(error) => return refused(Doing::Copying, turbine, error, claim, log),
    };
    let (read, written) = (copied.read, copied.written);
    if read == 0 {
        log.note(Event::Skipped { turbine: name })?;
        return Ok(Standing::Kept);
    }
    ensure!(read == written, "{turbine}: read {read} readings but wrote {written}");
    log.note(Event::Verified { turbine: name.clone(), read, written })?;
    if claim.renew(log)? == Standing::Lost {
        return Ok(Standing::Lost);
    }
    match shards.delete_from_source(turbine) {
        Ok(rows) => log.note(Event::Deleted { turbine: name, rows }).map(|()| Standing::Kept),
        Err(error) => refused(Doing::Deleting, turbine, error, claim, log),
    }
}

/// A shard refused. Whether the lease is lost is for the routing database to say.
fn refused(
    doing: Doing,
    turbine: &str,
    failed: Error,
    claim: &mut Claim,
    log: &mut Log<impl Write>,
) -> Result<Standing> {
    let Some(error) = Refusal::behind(&failed).filter(Refusal::is_stale) else {
        return Err(failed);
    };
    log.note(Event::Refused { doing, turbine: turbine.to_owned(), error })?;
    match claim.renew(log)? {
        Standing::Lost => Ok(Standing::Lost),
        Standing::Kept => Err(failed),
    }
}

/// What a responsible program does with a half-written turbine that is no longer its own.
fn tidy_up(turbine: &str, shards: &mut Shards, log: &mut Log<impl Write>) -> Result<()> {
    let turbine = turbine.to_owned();
    let failed = match shards.delete_from_target(&turbine) {
        Ok(rows) => return log.note(Event::TidiedUp { turbine, rows }),
        Err(failed) => failed,
    };
    let Some(error) = Refusal::behind(&failed).filter(Refusal::is_stale) else {
        return Err(failed);
    };
    log.note(Event::Refused { doing: Doing::TidyingUp, turbine, error })
}
