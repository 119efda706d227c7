//! What a mover did, or what was done to it.

use serde::{Deserialize, Serialize};

/// One thing that happened, when, and to whom: a line of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Microseconds since 1970, by the machine's clock.
    pub at_us: i64,
    pub who: String,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Asked for the lease; somebody else holds it.
    Held {
        owner: String,
    },
    /// The routing database did not answer.
    Unreachable {
        error: String,
    },
    Acquired {
        token: i64,
        expires_us: i64,
    },
    Renewed {
        expires_us: i64,
    },
    /// Could not renew for so long, and went on with the work.
    CarriedOn {
        tries: u32,
        after_ms: u64,
    },
    /// The turbine has nothing on the source any more.
    Skipped {
        turbine: String,
    },
    /// A batch of a turbine is committed on the target.
    Wrote {
        turbine: String,
        rows: u64,
    },
    /// The whole turbine is copied, and as much was written as was read.
    Verified {
        turbine: String,
        read: u64,
        written: u64,
    },
    /// The turbine is deleted from the source.
    Deleted {
        turbine: String,
        rows: u64,
    },
    /// A shard refused a statement.
    Refused {
        doing: Doing,
        turbine: String,
        error: Refusal,
    },
    /// The routing database says that the lease is somebody else's.
    Lost {
        error: Refusal,
    },
    /// The half-written turbine is deleted from the target.
    TidiedUp {
        turbine: String,
        rows: u64,
    },
    /// The list is done and the lease given back.
    Finished {
        turbines: u64,
    },
    /// The routing server was stopped, and started again.
    RoutingDown,
    RoutingUp,
    /// A mover's process was stopped where it was, and let go on.
    Paused {
        turbine: String,
        rows: u64,
    },
    Resumed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Copying,
    Deleting,
    TidyingUp,
}

/// An error as the database sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl Refusal {
    /// The database's error behind `error`, if there is one.
    pub fn behind(error: &anyhow::Error) -> Option<Self> {
        let postgres = error.chain().find_map(|cause| cause.downcast_ref::<postgres::Error>())?;
        let sent = postgres.as_db_error()?;
        Some(Self {
            sqlstate: sent.code().code().to_owned(),
            message: sent.message().to_owned(),
            detail: sent.detail().map(str::to_owned),
            hint: sent.hint().map(str::to_owned),
        })
    }

    /// Whether pg_lease says that the caller is no longer the holder.
    pub fn is_stale(&self) -> bool {
        self.sqlstate == "55000"
    }

    /// As psql shows it, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("ERROR:  {}: {}", self.sqlstate, self.message)];
        lines.extend(self.detail.iter().map(|detail| format!("DETAIL:  {detail}")));
        lines.extend(self.hint.iter().map(|hint| format!("HINT:  {hint}")));
        lines
    }
}
