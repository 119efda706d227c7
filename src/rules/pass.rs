//! What a worker's pass does about a lease: keep it, take it, let it go or leave it. Decided on the
//! row as it was seen; taking and letting go decide again under the row's lock.

use super::lease::{Lease, State};
use super::roster::{Patience, Roster, parts};
use super::shard;
use super::time::{Micros, expiry};

/// Who is to have a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// The worker that passes.
    Me,
    /// A worker that is silent: whoever comes first when the lease is free.
    Orphan,
    Other,
}

/// What a pass is to do about one lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Leave,
    /// Renew it: the token stays.
    Keep,
    /// A new token.
    Take,
    LetGo,
    /// A former incarnation of the worker has it: its token ends, and if the lease is due to the
    /// worker, it is taken at once.
    EndFormer {
        take: bool,
    },
}

/// The worker that passes, and what it knows of the others.
pub struct Passer<'a> {
    pub owner: &'a str,
    /// Its first pass, or its first after its row was deleted: it holds nothing under an old token.
    pub is_new: bool,
    pub roster: &'a Roster,
    pub patience: Patience,
}

impl Passer<'_> {
    pub fn step(&self, due: Due, row: Option<&Lease>, now: Micros) -> Step {
        let wanted = due != Due::Other;
        let take = if wanted { Step::Take } else { Step::Leave };
        let Some(lease) = row else { return take };
        let state = lease.state(now);
        let Some(holder) = lease.owner.as_deref().filter(|_| state != State::Void) else {
            return take;
        };
        let same_worker = parts(holder).0 == parts(self.owner).0;
        if holder == self.owner && !lease.foreign {
            return match (wanted, self.is_new) {
                (true, false) => Step::Keep,
                (true, true) => Step::Take,
                (false, _) => Step::LetGo,
            };
        }
        // not even a former incarnation's: it may be alive, and the quiet period is there for that
        if state == State::Quiet {
            return Step::Leave;
        }
        if same_worker && !lease.foreign {
            return Step::EndFormer { take: wanted };
        }
        // a clock that was set back: whoever takes it finds out and pulls the expiry in
        let impossible = lease.expires_at > expiry(now, lease.ttl_ms);
        let awaited = !same_worker && self.roster.is_awaited(holder, self.patience);
        let free = state == State::Expired && !awaited;
        if free || impossible { take } else { Step::Leave }
    }

    /// To whom each shard is due: by rendezvous among the live, `owner`'s worker among them.
    pub fn dues(&self, fleet: &str, shards: u32) -> Vec<Due> {
        let me = parts(self.owner).0;
        let others = self.roster.live(fleet, self.patience).filter(|seen| seen.worker() != me);
        let (mut workers, mut dues) = (vec![me], vec![Due::Me]);
        for seen in others {
            workers.push(seen.worker());
            dues.push(if seen.age > self.patience.ttl { Due::Orphan } else { Due::Other });
        }
        shard::owners(&workers, 0..shards).into_iter().map(|at| dues[at]).collect()
    }
}

/// Which shards a worker held at the end of its last pass: a bit a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held(pub Vec<u8>);

impl Held {
    pub fn has(&self, shard: u32) -> bool {
        self.0.get(shard as usize / 8).is_some_and(|byte| byte & (1 << (shard % 8)) != 0)
    }

    pub fn add(&mut self, shard: u32) {
        let at = shard as usize / 8;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (shard % 8);
    }

    pub fn all(&self) -> impl Iterator<Item = u32> {
        (0..self.0.len() as u32 * 8).filter(|shard| self.has(*shard))
    }
}
