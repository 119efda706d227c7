//! The mint: where all tokens come from (section "The mint" of docs/design.md).
//!
//! One sequence numbers all grants of all leases, so that no two ever share a number. Each
//! incarnation of the database (restart, promotion, restore, clone, upgrade) starts it at the present
//! microsecond, above everything that a history it has lost may have granted: grants come far slower
//! than microseconds.

use crate::mutant::{Mutant, is_on};
use crate::pg::catalog::{generation, objects};
use crate::pg::cell::Backend;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::{clock, identity, rows, sequence};
use crate::rules::lease::incarnation_start;
use crate::rules::refusal::{self, Result};
use crate::rules::time::token_at;

/// The incarnation for which this backend has seen the sequence started, and the catalog generation.
static CONFIRMED: Backend<(u64, i64)> = Backend::new((0, 0));

/// A token above `above`, never given to anybody before.
pub fn next(lease: &str, above: i64) -> Result<i64> {
    let incarnation = identity::incarnation();
    if CONFIRMED.get() != (generation(), incarnation) {
        confirm(lease, incarnation)?;
    }
    let used_up = || refusal::tokens_used_up(lease);
    let token = sequence::next(objects().token).ok_or_else(used_up)?;
    if token > above {
        return Ok(token);
    }
    // a row from elsewhere, or a sequence that was set back by hand
    locks::briefly(Tag::single(Class::Mint), locks::CHANGE, || start(lease, incarnation, above))?;
    sequence::next(objects().token).filter(|token| *token > above).ok_or_else(used_up)
}

fn confirm(lease: &str, incarnation: i64) -> Result<()> {
    if !is_started(incarnation) {
        locks::briefly(Tag::single(Class::Mint), locks::CHANGE, || {
            if is_started(incarnation) { Ok(()) } else { start(lease, incarnation, 0) }
        })?;
    }
    CONFIRMED.set((generation(), incarnation));
    Ok(())
}

fn is_started(incarnation: i64) -> bool {
    is_on(Mutant::Incarnation) || sequence::last(objects().seal) == incarnation
}

/// Starts the sequence for this incarnation. The seal comes last: a crash in between starts again.
fn start(lease: &str, incarnation: i64, above: i64) -> Result<()> {
    let objects = objects();
    let present = token_at(clock::server_now());
    let highest = rows::highest_token().max(above);
    let first = incarnation_start(present, sequence::last(objects.token), highest)
        .ok_or_else(|| refusal::tokens_used_up(lease))?;
    sequence::set(objects.token, first - 1);
    sequence::next(objects.incarnations);
    sequence::set(objects.seal, incarnation);
    Ok(())
}
