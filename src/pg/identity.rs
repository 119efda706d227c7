//! Which database this is, and which incarnation of it.

use crate::rules::hash;
use pgrx::pg_sys;

/// The part of an identity that a copy of the database does not share: a dump restored elsewhere and
/// CREATE DATABASE … TEMPLATE get another one, a restart and a promotion keep it.
pub fn home() -> i64 {
    // SAFETY: both are fixed when the backend starts.
    let (system, database) = unsafe { (pg_sys::GetSystemIdentifier(), pg_sys::MyDatabaseId) };
    let relation = super::catalog::objects().lease;
    hash::positive(&[system, u64::from(database.to_u32()), u64::from(relation.to_u32())])
}

/// The incarnation: changes with a restart, a promotion, a clone, an upgrade.
pub fn incarnation() -> i64 {
    // SAFETY: only called where the server is not in recovery, so that the timeline is settled. It is
    // read from the WAL insertion point: the control file lags behind a promotion.
    let (started, timeline) =
        unsafe { (pg_sys::PgStartTime, pg_sys::GetWALInsertionTimeLine()) };
    hash::positive(&[home().cast_unsigned(), started.cast_unsigned(), u64::from(timeline)])
}

pub fn in_recovery() -> bool {
    // SAFETY: reads shared state.
    unsafe { pg_sys::RecoveryInProgress() }
}

pub fn read_only() -> bool {
    // SAFETY: one thread.
    unsafe { pg_sys::XactReadOnly }
}

/// Whether this transaction keeps one snapshot (REPEATABLE READ and SERIALIZABLE).
pub fn keeps_snapshot() -> bool {
    // SAFETY: one thread.
    unsafe { pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 }
}
