//! What the functions of the fleet return: rows of shards and of workers.

use super::answer::materialize;
use super::call::{Args, Returns, interval_datum, text_datum};
use crate::rules::time::Micros;
use pgrx::pg_sys;

/// A shard, and the worker that it goes to.
pub struct ShardOwner {
    pub shard: i32,
    pub owner: String,
}

impl Returns for Vec<ShardOwner> {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        let row = |of: &ShardOwner| [Some(of.shard.into()), Some(text_datum(&of.owner))];
        materialize(args, self.iter().map(row))
    }
}

/// What a pass did to a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Kept,
    Gained,
    /// Gained while its owner is silent.
    Orphan,
    Released,
    Lost,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Gained => "gained",
            Self::Orphan => "orphan",
            Self::Released => "released",
            Self::Lost => "lost",
        }
    }

    /// Whether the worker has the lease now.
    pub fn holds(self) -> bool {
        matches!(self, Self::Kept | Self::Gained | Self::Orphan)
    }
}

/// A lease that a worker holds after its pass, or has just lost.
#[derive(Clone, Debug)]
pub struct Passed {
    /// None for a singleton.
    pub shard: Option<u32>,
    pub name: String,
    pub token: Option<i64>,
    pub expires_at: Option<Micros>,
    pub change: Change,
}

impl Passed {
    pub fn lost(shard: Option<u32>, name: String) -> Self {
        Self { shard, name, token: None, expires_at: None, change: Change::Lost }
    }
}

/// What a pass answers.
pub struct PassAnswer {
    pub owner: String,
    pub now: Micros,
    pub passed: Vec<Passed>,
}

impl Returns for PassAnswer {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        let owner = text_datum(&self.owner);
        let row = |p: &Passed| {
            [
                p.shard.map(|shard| (shard as i32).into()),
                Some(text_datum(&p.name)),
                p.token.map(pg_sys::Datum::from),
                p.expires_at.map(pg_sys::Datum::from),
                Some(text_datum(p.change.name())),
                Some(owner),
                Some(self.now.into()),
            ]
        };
        materialize(args, self.passed.iter().map(row))
    }
}

/// A worker, as people look at it.
pub struct WorkerShown {
    pub worker: String,
    pub incarnation: String,
    pub state: &'static str,
    pub silent_us: Micros,
    pub shards: i64,
    pub due: i64,
    pub orphaned: i64,
    pub singletons: i64,
    /// 0 for none.
    pub skew_us: i64,
    pub heartbeat_at: Micros,
    /// 0 for none.
    pub jump_us: i64,
    pub jumped_at: Micros,
}

impl Returns for Vec<WorkerShown> {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        let unless_zero = |us: i64| (us != 0).then(|| interval_datum(us));
        let row = |w: &WorkerShown| {
            [
                Some(text_datum(&w.worker)),
                Some(text_datum(&w.incarnation)),
                Some(text_datum(w.state)),
                Some(interval_datum(w.silent_us)),
                Some(w.shards.into()),
                Some(w.due.into()),
                Some(w.orphaned.into()),
                Some(w.singletons.into()),
                unless_zero(w.skew_us),
                Some(w.heartbeat_at.into()),
                unless_zero(w.jump_us),
                (w.jump_us != 0).then(|| w.jumped_at.into()),
            ]
        };
        materialize(args, self.iter().map(row))
    }
}
