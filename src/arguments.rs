//! What the functions that are written in SQL ask of their arguments, and how they refuse: one face
//! of `rules/` for PL/pgSQL, so that all functions say the same of the same mistake.

use crate::fence::transaction;
use crate::lease::{self, mint};
use crate::pg::call::Args;
use crate::pg::key::key;
use crate::rules::refusal::{self, Result};
use crate::rules::{name, number};

/// lease.check_writable: refuses on a standby and in a read-only transaction.
pub fn check_writable(args: &Args) -> Result<()> {
    lease::check_writable(args.text(0, "function")?)
}

/// lease.check_name: a name as leases have.
pub fn check_name(args: &Args) -> Result<()> {
    let argument = args.text(0, "argument")?;
    name::check_name(argument, args.text(1, argument)?)
}

/// lease.check_label: any text of a sensible length.
pub fn check_label(args: &Args) -> Result<()> {
    let argument = args.text(0, "argument")?;
    name::check_label(argument, args.text(1, argument)?)
}

/// lease.check_span: a length of time as ttls have.
pub fn check_span(args: &Args) -> Result<()> {
    let argument = args.text(0, "argument")?;
    args.span_ms(1, argument).map(drop)
}

/// lease.check_number: a number between two others.
pub fn check_number(args: &Args) -> Result<()> {
    let argument = args.text(0, "argument")?;
    let (least, most) = (args.bigint(2, "least")?, args.bigint(3, "most")?);
    number::check(argument, args.bigint(1, argument)?, least, most)
}

/// lease.check_time: a time that comes.
pub fn check_time(args: &Args) -> Result<()> {
    let argument = args.text(0, "argument")?;
    match args.bigint(1, argument)? {
        i64::MIN | i64::MAX => Err(refusal::infinite_time(argument)),
        _ => Ok(()),
    }
}

/// lease.next_generation: a number that no key of the queue has had.
pub fn next_generation(args: &Args) -> Result<i64> {
    lease::check_writable("lease.next_generation")?;
    mint::next(args.text(0, "queue")?, 0)
}

/// lease.refuse_run: of a run that nobody began.
pub fn refuse_run(args: &Args) -> Result<()> {
    Err(refusal::run_not_begun(args.text(0, "job")?, args.text(1, "run")?))
}

/// lease.refuse_claim: of a claim that is over. `worker` has the key now, if anybody.
pub fn refuse_claim(args: &Args) -> Result<()> {
    let (queue, key) = (args.text(0, "queue")?, args.text(1, "key")?);
    let generation = args.bigint(2, "generation")?;
    Err(refusal::claim_lost(queue, key, generation, args.optional_text(3)))
}

/// lease.check_pairs: two arrays of one length.
pub fn check_pairs(args: &Args) -> Result<()> {
    let first = (args.text(0, "first")?, args.bigint(1, "first_length")?);
    let second = (args.text(2, "second")?, args.bigint(3, "second_length")?);
    if first.1 == second.1 { Ok(()) } else { Err(refusal::unequal_arrays(first, second)) }
}

/// lease.begun: from now on this transaction commits durably, and cannot be prepared.
pub fn begun(args: &Args) -> Result<()> {
    lease::check_writable("lease.begun")?;
    transaction::begun(&key(args.text(0, "job")?));
    Ok(())
}
