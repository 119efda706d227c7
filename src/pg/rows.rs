//! Rows of lease.lease and lease.fence, read and written below the executor.
//!
//! Why not SQL: a guard must see the newest state whatever the transaction's snapshot is, must not
//! leave predicate locks behind under SERIALIZABLE, and runs with the rights of whoever writes the
//! guarded table. SnapshotSelf does the first two: the row version that is committed now, or our own.

use super::catalog::{Objects, generation, objects};
use super::key::{Key, Place};
use super::raw;
use crate::rules::fence::Fence;
use crate::rules::lease::{self, Lease};
use crate::rules::time::{self, Micros};
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::cell::Cell;
use std::ptr::{addr_of_mut, null_mut};

/// A row of lease.lease.
#[derive(Clone, Debug)]
pub struct LeaseRow {
    tid: pg_sys::ItemPointerData,
    pub token: i64,
    pub expires_at: Micros,
    pub since: Micros,
    pub acquisitions: i64,
    pub home: i64,
    pub ttl_ms: i32,
    pub owner: Option<String>,
}

/// The columns of lease.lease that come first and are never null, as they lie in a tuple.
#[repr(C)]
struct LeaseColumns {
    token: i64,
    expires_at: i64,
    since: i64,
    acquisitions: i64,
    home: i64,
    ttl_ms: i32,
}
const LEASE_COLUMNS: usize = 8;
const LEASE_NAME: usize = 6;
const LEASE_OWNER: usize = 7;

/// The same of lease.fence.
#[repr(C)]
struct FenceColumns {
    token: i64,
    raised_at: i64,
}
const FENCE_COLUMNS: usize = 3;
const FENCE_NAME: usize = 2;

impl LeaseRow {
    /// Whether the caller, by these, still has the lease; allocates nothing.
    pub fn is_held_with(&self, owner: &str, token: i64, home: i64) -> bool {
        let void = self.home != home;
        lease::is_held_with(self.owner.as_deref(), self.token, void, owner, token)
    }

    pub fn as_lease(&self, home: i64) -> Lease {
        Lease {
            token: self.token,
            expires_at: self.expires_at,
            ttl_ms: self.ttl_ms,
            owner: self.owner.clone(),
            void: self.home != home,
        }
    }
}

/// A table of ours, open.
struct Open {
    relation: pg_sys::Relation,
    index: pg_sys::Oid,
    name_column: usize,
    place: fn(&Key) -> &Cell<Place>,
}

#[derive(Clone, Copy)]
enum Which {
    Lease,
    Fence,
}

/// Opens a table and leaves its lock in place until the end of the transaction.
fn with_table<R>(which: Which, lock: u32, f: impl FnOnce(&Open) -> R) -> R {
    let Objects { lease, lease_pkey, fence, fence_pkey, .. } = objects();
    let (table, index, name_column, columns) = match which {
        Which::Lease => (lease, lease_pkey, LEASE_NAME, LEASE_COLUMNS),
        Which::Fence => (fence, fence_pkey, FENCE_NAME, FENCE_COLUMNS),
    };
    let place: fn(&Key) -> &Cell<Place> = match which {
        Which::Lease => |key| &key.lease_place,
        Which::Fence => |key| &key.fence_place,
    };
    // SAFETY: opens a relation by OID or raises; if `f` raises, the resource owner closes it.
    unsafe {
        let relation = pg_sys::table_open(table, lock as i32);
        if (*(*relation).rd_att).natts as usize != columns {
            pgrx::error!("pg_lease: a table in schema lease has other columns than this version's");
        }
        let value = f(&Open { relation, index, name_column, place });
        raw::relation_close(relation, pg_sys::NoLock as i32);
        value
    }
}

/// A tuple on a page that is pinned and locked while this is lent.
struct Tuple<'a>(&'a pg_sys::HeapTupleData);

impl Tuple<'_> {
    fn columns<T>(&self) -> &T {
        // SAFETY: T mirrors the table's first columns, which are of fixed width and never null, so
        // they lie at t_hoff in this layout; `with_table` has checked the number of columns.
        unsafe { &*self.data().cast::<T>() }
    }

    fn data(&self) -> *const u8 {
        // SAFETY: t_hoff is where the data begins.
        unsafe { self.0.t_data.cast::<u8>().add((*self.0.t_data).t_hoff as usize) }
    }

    fn is_null(&self, column: usize) -> bool {
        // SAFETY: with HEAP_HASNULL the bitmap has a bit per column, 0 for null; a tuple with fewer
        // columns than the table is null in the rest.
        unsafe {
            let header = &*self.0.t_data;
            if usize::from(header.t_infomask2 & pg_sys::HEAP_NATTS_MASK as u16) <= column {
                return true;
            }
            if header.t_infomask & pg_sys::HEAP_HASNULL as u16 == 0 {
                return false;
            }
            let bits = header.t_bits.as_ptr();
            *bits.add(column >> 3) & (1 << (column & 7)) == 0
        }
    }

    /// The first text column, which begins where the fixed columns end.
    fn name(&self, fixed: usize) -> &[u8] {
        // SAFETY: the name column is never null and never toasted (at most 200 bytes); a short
        // varlena needs no alignment, a long one is found past the zero bytes that align it.
        unsafe {
            let mut at = self.data().add(fixed);
            if *at == 0 {
                at = at.add(at.align_offset(4));
            }
            let varlena = at.cast::<pg_sys::varlena>();
            let (data, size) =
                (pgrx::vardata_any(varlena).cast::<u8>(), pgrx::varsize_any_exhdr(varlena));
            std::slice::from_raw_parts(data, size)
        }
    }

    /// The owner, which follows the name.
    fn owner(&self, fixed: usize) -> Option<String> {
        if self.is_null(LEASE_OWNER) {
            return None;
        }
        let name = self.name(fixed);
        // SAFETY: as in `name`; the owner begins right after the name, aligned if it is long.
        unsafe {
            let mut at = name.as_ptr().add(name.len());
            if *at == 0 {
                let offset = at.offset_from(self.data()) as usize;
                at = at.add(offset.next_multiple_of(4) - offset);
            }
            let varlena = at.cast_mut().cast::<pg_sys::varlena>();
            let plain = pg_sys::pg_detoast_datum_packed(varlena);
            let (data, size) =
                (pgrx::vardata_any(plain).cast::<u8>(), pgrx::varsize_any_exhdr(plain));
            let bytes = std::slice::from_raw_parts(data, size);
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }

    fn lease_row(&self) -> LeaseRow {
        let c = self.columns::<LeaseColumns>();
        LeaseRow {
            tid: self.0.t_self,
            token: c.token,
            expires_at: c.expires_at,
            since: c.since,
            acquisitions: c.acquisitions,
            home: c.home,
            ttl_ms: c.ttl_ms,
            owner: self.owner(LEASE_FIXED),
        }
    }
}

const LEASE_FIXED: usize = 44;
const FENCE_FIXED: usize = 16;

impl Open {
    fn fixed(&self) -> usize {
        if self.name_column == LEASE_NAME { LEASE_FIXED } else { FENCE_FIXED }
    }

    /// The row's newest committed version, or our own, lent to `f` while its page is locked.
    ///
    /// An update that moves the row to another page while the index is read can hide both versions
    /// for a moment; a second and third look find it.
    fn find<R>(&self, key: &Key, f: impl Fn(&Tuple) -> R) -> Option<R> {
        if let Some(value) = self.find_where_it_was(key, &f) {
            return Some(value);
        }
        (0..3).find_map(|_| self.find_by_index(key, &f))
    }

    fn find_where_it_was<R>(&self, key: &Key, f: impl Fn(&Tuple) -> R) -> Option<R> {
        let place = (self.place)(key).get();
        if place.offset == 0 || place.generation != generation() {
            return None;
        }
        self.at_place(place, key, f).0
    }

    fn find_by_index<R>(&self, key: &Key, f: impl Fn(&Tuple) -> R) -> Option<R> {
        self.by_index(key, |place| self.at_place(place, key, &f))
    }

    /// Tries each place that the index names, until `look` finds something. `look` also says whether
    /// all that it met is dead to everybody.
    fn by_index<R>(&self, key: &Key, look: impl Fn(Place) -> (Option<R>, bool)) -> Option<R> {
        // SAFETY: an index scan over our own table, ended below; if something raises in between, the
        // resource owner lets go of what it holds.
        unsafe {
            let index = pg_sys::index_open(self.index, pg_sys::AccessShareLock as i32);
            let mut condition: pg_sys::ScanKeyData = std::mem::zeroed();
            pg_sys::ScanKeyInit(
                &mut condition,
                1,
                pg_sys::BTEqualStrategyNumber as u16,
                pg_sys::Oid::from(pg_sys::F_TEXTEQ),
                key.datum(),
            );
            let scan = begin_scan(self.relation, index);
            pg_sys::index_rescan(scan, &mut condition, 1, null_mut(), 0);
            let mut found = None;
            while found.is_none() {
                let tid =
                    pg_sys::index_getnext_tid(scan, pg_sys::ScanDirection::ForwardScanDirection);
                if tid.is_null() {
                    break;
                }
                let place = place_of(*tid);
                let (value, all_dead) = look(place);
                (*scan).kill_prior_tuple = all_dead;
                found = value;
            }
            pg_sys::index_endscan(scan);
            pg_sys::index_close(index, pg_sys::NoLock as i32);
            found
        }
    }

    /// Follows the chain of heap-only versions that begins at `place`. Also says whether all of them
    /// are dead to everybody, so that the index may forget them.
    fn at_place<R>(&self, place: Place, key: &Key, f: impl Fn(&Tuple) -> R) -> (Option<R>, bool) {
        let mut tid = tid_of(place);
        // SAFETY: the table is open and locked, and never shrinks while it is (vacuum_truncate is
        // off), so the block exists; the page is pinned and locked while the tuple is lent. Inside
        // the guard nothing needs cleaning up by Rust.
        unsafe {
            let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
            let mut all_dead = false;
            let (buffer, seen) = pg_guard_ffi_boundary(|| {
                let buffer = raw::pin(self.relation, place.block, place.buffer);
                raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                let snapshot = addr_of_mut!(pg_sys::SnapshotSelfData);
                let seen = raw::heap_hot_search_buffer(
                    &mut tid,
                    self.relation,
                    buffer,
                    snapshot,
                    &mut tuple,
                    &mut all_dead,
                    true,
                );
                (buffer, seen)
            });
            let tuple = Tuple(&tuple);
            let ours = seen && tuple.name(self.fixed()) == key.name.as_bytes();
            let value = ours.then(|| f(&tuple));
            if ours && buffer != place.buffer {
                (self.place)(key).set(Place { buffer, ..place });
            }
            raw::UnlockReleaseBuffer(buffer);
            (value, all_dead)
        }
    }
}

fn tid_of(place: Place) -> pg_sys::ItemPointerData {
    let (bi_hi, bi_lo) = ((place.block >> 16) as u16, place.block as u16);
    let ip_blkid = pg_sys::BlockIdData { bi_hi, bi_lo };
    pg_sys::ItemPointerData { ip_blkid, ip_posid: place.offset }
}

fn place_of(tid: pg_sys::ItemPointerData) -> Place {
    let block = u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo);
    Place { block, offset: tid.ip_posid, buffer: 0, generation: generation() }
}

unsafe fn begin_scan(heap: pg_sys::Relation, index: pg_sys::Relation) -> pg_sys::IndexScanDesc {
    // SAFETY: both relations are open, the snapshot is static.
    unsafe {
        let snapshot = addr_of_mut!(pg_sys::SnapshotSelfData);
        #[cfg(not(feature = "pg18"))]
        return pg_sys::index_beginscan(heap, index, snapshot, 1, 0);
        #[cfg(feature = "pg18")]
        return pg_sys::index_beginscan(heap, index, snapshot, null_mut(), 1, 0);
    }
}

/// The owner of one of our tables.
pub fn owner_of(relation: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: opens a relation by OID or raises.
    unsafe {
        let open = pg_sys::relation_open(relation, pg_sys::AccessShareLock as i32);
        let owner = (*(*open).rd_rel).relowner;
        pg_sys::relation_close(open, pg_sys::NoLock as i32);
        owner
    }
}

// --- lease.lease ---------------------------------------------------------------------------------

/// What a guard needs to know. Allocates nothing. `again`: this transaction has looked before, and
/// so has the table locked.
pub fn lease_fence(key: &Key, home: i64, again: bool) -> Option<Fence> {
    let lock = if again { pg_sys::NoLock } else { pg_sys::AccessShareLock };
    with_table(Which::Lease, lock, |table| {
        table.find(key, |tuple| {
            let c = tuple.columns::<LeaseColumns>();
            Fence {
                token: c.token,
                expires_at: c.expires_at,
                owned: !tuple.is_null(LEASE_OWNER),
                void: c.home != home,
            }
        })
    })
}

/// The token that this transaction's snapshot shows, for transactions that keep one.
pub fn token_in_snapshot(key: &Key) -> Option<i64> {
    with_table(Which::Lease, pg_sys::AccessShareLock, |table| {
        table.find_in_snapshot(key, |tuple| tuple.columns::<LeaseColumns>().token)
    })
}

/// The same of the newest token obeyed.
pub fn newest_in_snapshot(key: &Key) -> Option<i64> {
    with_table(Which::Fence, pg_sys::AccessShareLock, |table| {
        table.find_in_snapshot(key, |tuple| tuple.columns::<FenceColumns>().token)
    })
}

pub fn lease(key: &Key) -> Option<LeaseRow> {
    with_table(Which::Lease, pg_sys::AccessShareLock, |table| {
        table.find(key, |tuple| tuple.lease_row())
    })
}

/// The highest token in any row.
pub fn highest_token() -> i64 {
    with_table(Which::Lease, pg_sys::AccessShareLock, |table| {
        let mut highest = 0;
        table.scan(|tuple| highest = highest.max(tuple.columns::<LeaseColumns>().token));
        highest
    })
}

/// Locks everybody out of lease.lease until the end of the transaction: other calls, and every
/// transaction that has run a guarded statement. False if that took longer than `wait_ms`.
pub fn lock_all_leases(wait_ms: i32) -> bool {
    let (table, mode) = (objects().lease, pg_sys::AccessExclusiveLock as i32);
    // SAFETY: locks our own table by OID.
    super::subxact::within(wait_ms, || unsafe { pg_sys::LockRelationOid(table, mode) }).is_some()
}

/// Releases each lease that has an owner, and says how many. The caller has locked all of them.
pub fn release_all(now: Micros) -> i64 {
    with_table(Which::Lease, pg_sys::NoLock, |table| {
        let mut released = 0;
        // a new version, which the scan may meet, has no owner
        table.scan(|tuple| {
            let mut row = tuple.lease_row();
            if row.owner.is_some() {
                let name = String::from_utf8_lossy(tuple.name(LEASE_FIXED));
                let key = super::key::key(&name);
                (row.owner, row.expires_at, row.since) = (None, time::MINUS_INFINITY, now);
                table.update(&key, row.tid, &mut lease_values(&key, &row));
                released += 1;
            }
        });
        released
    })
}

/// What came of locking a lease's row.
pub enum Locked {
    Row(LeaseRow),
    /// The row as it stands was not wanted, and is not locked.
    Unwanted(LeaseRow),
    Missing,
    /// The number of the transaction that has the row.
    Busy(u32),
}

/// Locks the row until the end of the transaction, if it is `wanted`, waiting up to `wait_ms` (0: not
/// at all), and reads it as it then stands.
pub fn lock_lease(key: &Key, wait_ms: i32, wanted: impl Fn(&LeaseRow) -> bool) -> Locked {
    with_table(Which::Lease, pg_sys::RowExclusiveLock, |table| {
        table.lock_wanted(key, wait_ms, wanted)
    })
}

/// Locks the row as `lock_lease` does, lets `change` change it, and writes it.
pub fn change_lease(
    key: &Key,
    wait_ms: i32,
    wanted: impl Fn(&LeaseRow) -> bool,
    change: impl FnOnce(&mut LeaseRow),
) -> Locked {
    with_table(Which::Lease, pg_sys::RowExclusiveLock, |table| {
        let mut locked = table.lock_wanted(key, wait_ms, wanted);
        if let Locked::Row(row) = &mut locked {
            change(row);
            table.update(key, row.tid, &mut lease_values(key, row));
        }
        locked
    })
}

enum Lock {
    Row(LeaseRow),
    /// Another version of the row is the newest now, or none.
    Gone,
    WouldBlock(u32),
}

impl Open {
    /// Lends each row to `f`.
    fn scan(&self, mut f: impl FnMut(&Tuple)) {
        // SAFETY: a scan of our own table; each tuple is valid until the next is asked for.
        unsafe {
            let snapshot = addr_of_mut!(pg_sys::SnapshotSelfData);
            let none = pg_sys::InvalidOid;
            let scan =
                pg_sys::systable_beginscan(self.relation, none, false, snapshot, 0, null_mut());
            loop {
                let tuple = pg_sys::systable_getnext(scan);
                if tuple.is_null() {
                    break;
                }
                f(&Tuple(&*tuple));
            }
            pg_sys::systable_endscan(scan);
        }
    }

    /// What the transaction's own snapshot shows of the row. Tests each version itself, as an
    /// ordinary read would leave predicate locks behind under SERIALIZABLE.
    fn find_in_snapshot<R>(&self, key: &Key, f: impl Fn(&Tuple) -> R) -> Option<R> {
        self.by_index(key, |place| {
            let mut tid = tid_of(place);
            // SAFETY: as in at_place.
            unsafe {
                let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
                let snapshot = pg_sys::GetTransactionSnapshot();
                let seen = pg_guard_ffi_boundary(|| {
                    let any = addr_of_mut!(pg_sys::SnapshotAnyData);
                    let buffer = raw::pin(self.relation, place.block, 0);
                    raw::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                    let mut first = true;
                    let (relation, dead) = (self.relation, null_mut());
                    while raw::heap_hot_search_buffer(
                        &mut tid, relation, buffer, any, &mut tuple, dead, first,
                    ) {
                        first = false;
                        if raw::HeapTupleSatisfiesVisibility(&mut tuple, snapshot, buffer) {
                            return (buffer, true);
                        }
                    }
                    (buffer, false)
                });
                let (buffer, visible) = seen;
                let tuple = Tuple(&tuple);
                let ours = visible && tuple.name(self.fixed()) == key.name.as_bytes();
                let value = ours.then(|| f(&tuple));
                raw::UnlockReleaseBuffer(buffer);
                (value, false)
            }
        })
    }

    fn lock_wanted(&self, key: &Key, wait_ms: i32, wanted: impl Fn(&LeaseRow) -> bool) -> Locked {
        loop {
            let attempt = match self.find(key, |tuple| tuple.lease_row()) {
                None => Some(Locked::Missing),
                Some(row) if !wanted(&row) => Some(Locked::Unwanted(row)),
                Some(row) => self.lock_within(row.tid, wait_ms, &wanted),
            };
            match attempt {
                Some(result) => return result,
                None => super::xact::check_for_interrupts(),
            }
        }
    }

    /// None where another version of the row is the newest now. A row that is no longer wanted after
    /// a wait is let go.
    fn lock_within(
        &self,
        tid: pg_sys::ItemPointerData,
        wait_ms: i32,
        wanted: impl Fn(&LeaseRow) -> bool,
    ) -> Option<Locked> {
        let xid = match self.lock(tid, pg_sys::LockWaitPolicy::LockWaitSkip) {
            Lock::Gone => return None,
            Lock::Row(row) => return Some(Locked::Row(row)),
            Lock::WouldBlock(xid) if wait_ms == 0 => return Some(Locked::Busy(xid)),
            Lock::WouldBlock(xid) => xid,
        };
        let wait = pg_sys::LockWaitPolicy::LockWaitBlock;
        let keep = |lock: &Lock| matches!(lock, Lock::Row(row) if wanted(row));
        match super::subxact::within_if(wait_ms, || self.lock(tid, wait), keep) {
            None => Some(Locked::Busy(xid)),
            Some(Lock::Row(row)) if wanted(&row) => Some(Locked::Row(row)),
            Some(Lock::Row(row)) => Some(Locked::Unwanted(row)),
            Some(_) => None,
        }
    }

    fn lock(&self, tid: pg_sys::ItemPointerData, wait: pg_sys::LockWaitPolicy::Type) -> Lock {
        // SAFETY: the table is open; heap_lock_tuple pins the tuple's page, which is let go below.
        // Inside the guards nothing needs cleaning up by Rust.
        unsafe {
            let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
            tuple.t_self = tid;
            let mut buffer: pg_sys::Buffer = 0;
            let mut failure: pg_sys::TM_FailureData = std::mem::zeroed();
            let result = pg_guard_ffi_boundary(|| {
                raw::heap_lock_tuple(
                    self.relation,
                    &mut tuple,
                    raw::GetCurrentCommandId(false),
                    pg_sys::LockTupleMode::LockTupleNoKeyExclusive,
                    wait,
                    false,
                    &mut buffer,
                    &mut failure,
                )
            });
            let lock = match result {
                pg_sys::TM_Result::TM_Ok => Lock::Row(Tuple(&tuple).lease_row()),
                pg_sys::TM_Result::TM_WouldBlock => {
                    Lock::WouldBlock((*tuple.t_data).t_choice.t_heap.t_xmax.into_inner())
                }
                _ => Lock::Gone,
            };
            pg_guard_ffi_boundary(|| {
                raw::heap_page_prune_opt(self.relation, buffer);
                raw::ReleaseBuffer(buffer);
            });
            lock
        }
    }

    /// Writes a new version of a row that this transaction has locked.
    fn update(
        &self,
        key: &Key,
        tid: pg_sys::ItemPointerData,
        values: &mut [Option<pg_sys::Datum>],
    ) {
        let (mut datums, mut nulls) = split(values);
        let mut tid = tid;
        // SAFETY: values has a datum per column, of the column's type; the row is locked by us, so
        // that the update neither waits nor loses. The index gets an entry when the row moved.
        // Inside the guard nothing needs cleaning up by Rust.
        let (result, heap_only, mut place) = unsafe {
            pg_guard_ffi_boundary(|| {
                let description = (*self.relation).rd_att;
                let tuple =
                    raw::heap_form_tuple(description, datums.as_mut_ptr(), nulls.as_mut_ptr());
                let result = raw::update(self.relation, &mut tid, tuple);
                let heap_only = (*(*tuple).t_data).t_infomask2 & pg_sys::HEAP_ONLY_TUPLE as u16;
                let place = (*tuple).t_self;
                raw::heap_freetuple(tuple);
                (result, heap_only != 0, place)
            })
        };
        if result != pg_sys::TM_Result::TM_Ok {
            pgrx::error!("pg_lease: the locked row of lease \"{}\" could not be changed", key.name);
        }
        // SAFETY: see above.
        unsafe {
            if !heap_only {
                self.add_to_index(key, &mut place);
            }
            pg_sys::CommandCounterIncrement();
        }
    }

    fn insert(&self, key: &Key, values: &mut [Option<pg_sys::Datum>]) {
        let (mut datums, mut nulls) = split(values);
        // SAFETY: as in update.
        unsafe {
            let description = (*self.relation).rd_att;
            let tuple =
                pg_sys::heap_form_tuple(description, datums.as_mut_ptr(), nulls.as_mut_ptr());
            let command = pg_sys::GetCurrentCommandId(true);
            pg_sys::heap_insert(self.relation, tuple, command, 0, null_mut());
            self.add_to_index(key, &mut (*tuple).t_self);
            pg_sys::heap_freetuple(tuple);
            pg_sys::CommandCounterIncrement();
        }
    }

    fn delete(&self, tid: pg_sys::ItemPointerData) {
        let mut tid = tid;
        // SAFETY: the row is locked by us.
        unsafe {
            pg_sys::simple_heap_delete(self.relation, &mut tid);
            pg_sys::CommandCounterIncrement();
        }
    }

    unsafe fn add_to_index(&self, key: &Key, tid: pg_sys::ItemPointer) {
        // SAFETY: the index has one column, the name.
        unsafe {
            let index = pg_sys::index_open(self.index, pg_sys::RowExclusiveLock as i32);
            let (mut value, mut is_null) = (key.datum(), false);
            pg_sys::index_insert(
                index,
                &mut value,
                &mut is_null,
                tid,
                self.relation,
                pg_sys::IndexUniqueCheck::UNIQUE_CHECK_YES,
                false,
                pg_sys::BuildIndexInfo(index),
            );
            pg_sys::index_close(index, pg_sys::NoLock as i32);
        }
    }
}

/// Values and null flags, with room for the columns of any of our tables.
fn split(values: &[Option<pg_sys::Datum>]) -> ([pg_sys::Datum; 8], [bool; 8]) {
    let (mut datums, mut nulls) = ([pg_sys::Datum::null(); LEASE_COLUMNS], [true; LEASE_COLUMNS]);
    for (at, value) in values.iter().enumerate() {
        if let Some(value) = value {
            (datums[at], nulls[at]) = (*value, false);
        }
    }
    (datums, nulls)
}

fn lease_values(key: &Key, row: &LeaseRow) -> [Option<pg_sys::Datum>; LEASE_COLUMNS] {
    [
        Some(row.token.into()),
        Some(row.expires_at.into()),
        Some(row.since.into()),
        Some(row.acquisitions.into()),
        Some(row.home.into()),
        Some(row.ttl_ms.into()),
        Some(key.datum()),
        row.owner.as_deref().map(super::call::text_datum),
    ]
}

/// Writes a row that `lock_lease` has locked in this transaction, and the table with it.
pub fn update_lease(key: &Key, row: &LeaseRow) {
    with_table(Which::Lease, pg_sys::NoLock, |table| {
        table.update(key, row.tid, &mut lease_values(key, row));
    });
}

/// Adds the row of a new name. The caller has locked the name.
pub fn insert_lease(key: &Key, row: &LeaseRow) {
    with_table(Which::Lease, pg_sys::RowExclusiveLock, |table| {
        table.insert(key, &mut lease_values(key, row));
    });
}

/// Removes a row that `lock_lease` has locked in this transaction.
pub fn delete_lease(row: &LeaseRow) {
    with_table(Which::Lease, pg_sys::RowExclusiveLock, |table| table.delete(row.tid));
}

/// A row that is not in the table yet.
pub fn new_lease() -> LeaseRow {
    LeaseRow {
        tid: pg_sys::ItemPointerData::default(),
        token: 0,
        expires_at: crate::rules::time::MINUS_INFINITY,
        since: 0,
        acquisitions: 0,
        home: 0,
        ttl_ms: 1,
        owner: None,
    }
}

// --- lease.fence ---------------------------------------------------------------------------------

/// The newest token that this database has obeyed; 0 where it has obeyed none. `again`: as above.
pub fn newest_token(key: &Key, again: bool) -> i64 {
    let lock = if again { pg_sys::NoLock } else { pg_sys::AccessShareLock };
    with_table(Which::Fence, lock, |table| {
        table.find(key, |tuple| tuple.columns::<FenceColumns>().token).unwrap_or(0)
    })
}

/// Stores a higher token. The caller holds the lock on the old one.
pub fn raise_newest(key: &Key, token: i64, now: Micros) {
    with_table(Which::Fence, pg_sys::RowExclusiveLock, |table| {
        let mut values = [Some(token.into()), Some(now.into()), Some(key.datum())];
        match table.find(key, |tuple| tuple.0.t_self) {
            Some(tid) => table.update(key, tid, &mut values),
            None => table.insert(key, &mut values),
        }
    });
}
