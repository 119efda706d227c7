//! Sequences as cells that no rollback takes back. Every write is on disk before it is used: a crash
//! would otherwise hand the same numbers out again.

use super::role::as_owner;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::{PgSqlErrorCode, PgTryBuilder};

unsafe extern "C-unwind" {
    // of commands/sequence.h, which pgrx does not bind
    fn nextval_internal(relid: pg_sys::Oid, check_permissions: bool) -> i64;
}

/// The next number, or None when the sequence has none left.
pub fn next(sequence: pg_sys::Oid) -> Option<i64> {
    // SAFETY: the OID is of a sequence of ours; no permission is checked.
    let next = || unsafe { pg_guard_ffi_boundary(|| nextval_internal(sequence, false)) };
    let before = last_wal();
    let value = PgTryBuilder::new(|| Some(next()))
        .catch_when(PgSqlErrorCode::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED, |_: CaughtError| {
            None
        })
        .execute();
    // the server logs one number in thirty-two, ahead of time
    if last_wal() != before {
        flush();
    }
    value
}

/// The last number given out or set.
pub fn last(sequence: pg_sys::Oid) -> i64 {
    const PG_SEQUENCE_LAST_VALUE: u32 = 4032;
    // SAFETY: pg_sequence_last_value(regclass) reads a sequence of ours; the install script has
    // called setval on each, so the answer is not null.
    as_owner(|| unsafe {
        let function = pg_sys::Oid::from(PG_SEQUENCE_LAST_VALUE);
        let argument = pg_sys::Datum::from(sequence);
        pg_sys::OidFunctionCall1Coll(function, pg_sys::InvalidOid, argument).value() as i64
    })
}

/// Makes `value` the last number given out.
pub fn set(sequence: pg_sys::Oid, value: i64) {
    const SETVAL: u32 = 1576;
    // SAFETY: setval(regclass, bigint) writes a sequence of ours.
    as_owner(|| unsafe {
        let function = pg_sys::Oid::from(SETVAL);
        let (sequence, value) = (pg_sys::Datum::from(sequence), pg_sys::Datum::from(value));
        pg_sys::OidFunctionCall2Coll(function, pg_sys::InvalidOid, sequence, value);
    });
    flush();
}

/// Where this transaction's WAL ends so far.
fn last_wal() -> u64 {
    // SAFETY: one thread.
    unsafe { pg_sys::XactLastRecEnd }
}

/// Writes this transaction's WAL to disk.
fn flush() {
    // SAFETY: waits for WAL that this backend has inserted.
    unsafe { pg_sys::XLogFlush(last_wal()) }
}
