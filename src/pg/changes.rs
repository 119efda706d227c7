//! lease.change, the rows behind lease.history: added and thinned out below the executor. Neither
//! waits for anybody.

use super::call::{interval_datum, text_datum};
use super::catalog::objects;
use super::raw;
use super::table::{begin_scan, block_of};
use crate::rules::change::Change;
use crate::rules::time::Micros;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::ptr::null_mut;

const COLUMNS: usize = 11;

/// Adds a row. What it takes of memory is given back at once: lease_void_all adds one for each lease.
pub fn add(change: &Change) {
    let mut context = PgMemoryContexts::new("pg_lease change");
    // SAFETY: nothing that is allocated inside is used after it.
    unsafe { context.switch_to(|_| insert(values(change))) }
}

fn values(change: &Change) -> [Option<pg_sys::Datum>; COLUMNS] {
    let token = |tenure: crate::rules::change::Tenure| tenure.token.into();
    let owner = |tenure: crate::rules::change::Tenure| text_datum(tenure.owner);
    [
        Some(change.at.into()),
        Some(change.acquisitions.into()),
        change.from.map(token),
        change.to.map(token),
        change.vacancy_us.map(interval_datum),
        Some(text_datum(change.name)),
        Some(text_datum(change.why.name())),
        change.from.map(owner),
        change.to.map(owner),
        Some(text_datum(change.role)),
        change.reason.map(text_datum),
    ]
}

fn insert(values: [Option<pg_sys::Datum>; COLUMNS]) {
    let mut datums = values.map(|value| value.unwrap_or(pg_sys::Datum::null()));
    let mut nulls = values.map(|value| value.is_none());
    with_table(|relation| {
        // SAFETY: a datum per column, of the column's type; the table's indexes are plain ones.
        unsafe {
            let description = (*relation).rd_att;
            let tuple =
                pg_sys::heap_form_tuple(description, datums.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::CatalogTupleInsert(relation, tuple);
        }
    });
}

/// Opens the table and leaves its lock in place until the end of the transaction.
fn with_table<R>(f: impl FnOnce(pg_sys::Relation) -> R) -> R {
    // SAFETY: opens a relation by OID or raises; if `f` raises, the resource owner closes it.
    unsafe {
        let relation = pg_sys::table_open(objects().change, pg_sys::RowExclusiveLock as i32);
        if (*(*relation).rd_att).natts as usize != COLUMNS {
            pgrx::error!("pg_lease: lease.change has other columns than this version's");
        }
        let value = f(relation);
        raw::relation_close(relation, pg_sys::NoLock as i32);
        value
    }
}

/// How many rows are deleted at a time, and how many entries of the index are looked at for that: the
/// rows of former deletions stand there too, as long as some snapshot may still see them.
const MOST_DELETED: usize = 64;
const MOST_VISITED: usize = 256;

/// Deletes some of the rows from before that time, oldest first; not those that others have locked.
pub fn delete_some(before: Micros) {
    with_table(|relation| {
        let mut deleted = 0;
        for mut tid in oldest(relation, before) {
            if deleted < MOST_DELETED && lock(relation, tid) {
                // SAFETY: the row is locked by us.
                unsafe { pg_sys::simple_heap_delete(relation, &mut tid) };
                deleted += 1;
            }
        }
    });
}

/// Rows from before that time, as far as the index is looked at.
fn oldest(relation: pg_sys::Relation, before: Micros) -> Vec<pg_sys::ItemPointerData> {
    let mut found = Vec::new();
    // SAFETY: an index scan over our own table, ended below; if something raises in between, the
    // resource owner lets go of what it holds.
    unsafe {
        let index = pg_sys::index_open(objects().change_at, pg_sys::AccessShareLock as i32);
        let mut condition: pg_sys::ScanKeyData = std::mem::zeroed();
        pg_sys::ScanKeyInit(
            &mut condition,
            1,
            pg_sys::BTLessStrategyNumber as u16,
            pg_sys::Oid::from(pg_sys::F_TIMESTAMPTZ_LT),
            before.into(),
        );
        let scan = begin_scan(relation, index);
        pg_sys::index_rescan(scan, &mut condition, 1, null_mut(), 0);
        for _ in 0..MOST_VISITED {
            let tid = pg_sys::index_getnext_tid(scan, pg_sys::ScanDirection::ForwardScanDirection);
            if tid.is_null() {
                break;
            }
            let (is_there, all_dead) = look(relation, *tid);
            (*scan).kill_prior_tuple = all_dead;
            if is_there {
                found.push(*tid);
            }
        }
        pg_sys::index_endscan(scan);
        pg_sys::index_close(index, pg_sys::NoLock as i32);
    }
    found
}

/// Whether there is a row at `tid`, and if not, whether it is gone for everybody.
fn look(relation: pg_sys::Relation, mut tid: pg_sys::ItemPointerData) -> (bool, bool) {
    let page = (block_of(tid), 0);
    // SAFETY: the table is open and locked, and never shrinks while it is (vacuum_truncate is off), so
    // the block exists; the page is pinned and locked meanwhile. Inside the guard nothing needs
    // cleaning up by Rust.
    unsafe {
        let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
        pg_guard_ffi_boundary(|| {
            let (buffer, seen, all_dead) =
                raw::newest_version(relation, page, &mut tid, &mut tuple);
            raw::UnlockReleaseBuffer(buffer);
            (seen, all_dead)
        })
    }
}

/// Locks a row that was there a moment ago, unless another has it or it has gone. It cannot have been
/// cleaned away since: this transaction's snapshot is older.
fn lock(relation: pg_sys::Relation, tid: pg_sys::ItemPointerData) -> bool {
    // SAFETY: the table is open; heap_lock_tuple pins the tuple's page, which is let go. Inside the
    // guard nothing needs cleaning up by Rust.
    unsafe {
        let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
        tuple.t_self = tid;
        let result = pg_guard_ffi_boundary(|| {
            let mode = pg_sys::LockTupleMode::LockTupleExclusive;
            let skip = pg_sys::LockWaitPolicy::LockWaitSkip;
            let (result, buffer) = raw::lock(relation, &mut tuple, mode, skip);
            raw::ReleaseBuffer(buffer);
            result
        });
        result == pg_sys::TM_Result::TM_Ok
    }
}
