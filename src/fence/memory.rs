//! Tokens that this backend knows to be good, so that it need not read them again.
//!
//! It is the server's own protocol for cached catalog entries: take the lock, take in what others have
//! committed to tell, then trust the cache. Whoever ends a token holds its lock exclusively; when that
//! transaction commits, its message is out before its locks are let go. So whoever has the lock shared
//! and has listened since, and has heard nothing, knows that the token still stands. At the statement,
//! without the lock, it is only as good a guess as a read.

use super::transaction;
use crate::pg::call::Args;
use crate::pg::catalog;
use crate::pg::key::Good;
use crate::rules::refusal::Result;
use std::cell::Cell;

/// What is known of the token, if it is known to be good.
pub fn knows(good: &Cell<Good>, token: i64) -> Option<Good> {
    let known = good.get();
    (known.token == token && known.ownership == catalog::ownership()).then_some(known)
}

/// A token that was read to be good. Its `ownership` is of before the read. A transaction that changes
/// ownership itself learns nothing: it may yet end the token, and tells of its changes only once.
pub fn learn(good: &Cell<Good>, seen: Good) {
    if !transaction::has_changed_ownership() {
        good.set(seen);
    }
}

/// The trigger lease.changed_by_hand: somebody has changed the rows past the functions.
pub fn changed_by_hand(_: &Args) -> Result<()> {
    catalog::tell_of_ownership();
    Ok(())
}
