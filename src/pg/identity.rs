//! Which database this is, and which incarnation of it.

use super::catalog;
use super::cell::Backend;
use crate::rules::hash;
use pgrx::pg_sys;

/// The home, and the catalog generation that it was computed in.
static HOME: Backend<(u64, i64)> = Backend::new((0, 0));

/// When the server's shared memory was set up, once known.
static SET_UP: Backend<Option<i64>> = Backend::new(None);

/// The part of an identity that a copy of the database does not share: a dump restored elsewhere and
/// CREATE DATABASE … TEMPLATE get another one, a restart and a promotion keep it.
pub fn home() -> i64 {
    let (of, home) = HOME.get();
    if home != 0 && of == catalog::generation() {
        return home;
    }
    let home = compute_home();
    HOME.set((catalog::generation(), home));
    home
}

fn compute_home() -> i64 {
    // SAFETY: both are fixed when the backend starts.
    let (system, database) = unsafe { (pg_sys::GetSystemIdentifier(), pg_sys::MyDatabaseId) };
    let relation = catalog::objects().lease;
    hash::positive(&[system, u64::from(database.to_u32()), u64::from(relation.to_u32())])
}

/// The incarnation: changes with a restart, a crash, a promotion, a clone, an upgrade.
pub fn incarnation() -> i64 {
    // SAFETY: only called where the server is not in recovery, so that the timeline is settled. It is
    // read from the WAL insertion point: the control file lags behind a promotion.
    let (started, timeline) = unsafe { (pg_sys::PgStartTime, pg_sys::GetWALInsertionTimeLine()) };
    hash::positive(&[
        home().cast_unsigned(),
        started.cast_unsigned(),
        set_up().cast_unsigned(),
        u64::from(timeline),
    ])
}

/// After a crash of one backend the postmaster stays, but WAL that was not on disk is lost all the
/// same. The checkpointer lives exactly as long as the shared memory; 0 where there is none.
fn set_up() -> i64 {
    if let Some(set_up) = SET_UP.get() {
        return set_up;
    }
    let found = super::spi::text(
        "SELECT (pg_catalog.date_part('epoch', a.backend_start) \
             OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8::pg_catalog.text \
         FROM pg_catalog.pg_stat_activity a \
         WHERE a.backend_type OPERATOR(pg_catalog.=) 'checkpointer'",
        &[],
    );
    let set_up = found.and_then(|text| text.parse().ok()).unwrap_or(0);
    SET_UP.set(Some(set_up));
    set_up
}

pub fn in_recovery() -> bool {
    // SAFETY: reads shared state.
    unsafe { super::raw::RecoveryInProgress() }
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
