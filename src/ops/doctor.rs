//! What lease_doctor cannot ask in SQL. The rest of it is in sql/doctor.sql.

use crate::pg::call::Args;
use crate::pg::{identity, spi};
use crate::rules::refusal::Result;

/// lease.incarnation: what lease.seal is once a token was granted in this incarnation. A standby has
/// none.
pub fn incarnation(_: &Args) -> Result<i64> {
    Ok(if identity::in_recovery() { 0 } else { identity::incarnation() })
}

/// Notes the guards of these tables, for lease_doctor.
pub fn note_guards(relations: &[u32]) {
    spi::run("SELECT lease.note_guards($1)", &[oids(relations).into()]);
}

/// Forgets those that are not there any more; returns how many.
pub fn forget_guards(relations: &[u32]) -> i64 {
    spi::first("SELECT lease.forget_guards($1)", &[oids(relations).into()]).unwrap_or(0)
}

fn oids(relations: &[u32]) -> Vec<pgrx::pg_sys::Oid> {
    relations.iter().map(|relation| pgrx::pg_sys::Oid::from(*relation)).collect()
}
