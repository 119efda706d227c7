//! What lease_evict returns, and the call of the function in SQL that does it.

use super::answer::materialize;
use super::call::{Args, Returns, text_datum};
use super::role::as_owner;
use pgrx::datum::TimestampWithTimeZone;
use pgrx::spi::{SpiHeapTupleData, SpiResult};
use pgrx::{IntoDatum, Spi};

/// A session that was told to end, or a prepared transaction.
pub struct Evicted {
    /// None for a prepared transaction.
    pub pid: Option<i32>,
    pub token: Option<i64>,
    pub ended: bool,
    pub role: Option<String>,
    pub application: Option<String>,
    state: Option<String>,
    since: Option<TimestampWithTimeZone>,
    gid: Option<String>,
    advice: Option<String>,
}

const EVICT: &str = "SELECT e.pid, e.token, e.ended, e.role, e.application, e.state, e.since, \
     e.gid, e.advice FROM lease.evict($1) AS e";

/// Ends what is stale under this lease, with the rights of the extension's owner.
pub fn evict(lease: &str) -> Vec<Evicted> {
    let found = || {
        Spi::connect(|client| {
            let rows = client.select(EVICT, None, &[lease.into()])?;
            rows.map(|row| Evicted::read(&row)).collect::<SpiResult<Vec<_>>>()
        })
    };
    match as_owner(found) {
        Ok(evicted) => evicted,
        Err(error) => pgrx::error!("pg_lease: {error}"),
    }
}

impl Evicted {
    fn read(row: &SpiHeapTupleData) -> SpiResult<Self> {
        Ok(Self {
            pid: row.get(1)?,
            token: row.get(2)?,
            ended: row.get(3)?.unwrap_or(false),
            role: row.get(4)?,
            application: row.get(5)?,
            state: row.get(6)?,
            since: row.get(7)?,
            gid: row.get(8)?,
            advice: row.get(9)?,
        })
    }
}

impl Returns for Vec<Evicted> {
    fn datum(self, args: &Args) -> pgrx::pg_sys::Datum {
        let text = |of: &Option<String>| of.as_deref().map(text_datum);
        let row = |one: &Evicted| {
            [
                one.pid.map(|pid| pid.into()),
                one.token.map(|token| token.into()),
                Some(one.ended.into()),
                text(&one.role),
                text(&one.application),
                text(&one.state),
                one.since.and_then(|since| since.into_datum()),
                text(&one.gid),
                text(&one.advice),
            ]
        };
        materialize(args, self.iter().map(row))
    }
}
