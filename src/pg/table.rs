//! The tables lease.lease and lease.fence, below the executor: opened, looked up, written.
//!
//! Why not SQL: a guard must see the newest state whatever the transaction's snapshot is, must not
//! leave predicate locks behind under SERIALIZABLE, and runs with the rights of whoever writes the
//! guarded table. SnapshotSelf does the first two: the row version that is committed now, or our own.

use super::catalog::{Objects, generation, objects};
use super::key::{Key, Place};
use super::raw;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::cell::Cell;
use std::ptr::{addr_of_mut, null_mut};

/// The columns of lease.lease that come first and are never null, as they lie in a tuple.
#[repr(C)]
pub(super) struct LeaseColumns {
    pub(super) token: i64,
    pub(super) expires_at: i64,
    pub(super) since: i64,
    pub(super) acquisitions: i64,
    pub(super) home: i64,
    pub(super) ttl_ms: i32,
    pub(super) role: u32,
}
pub(super) const LEASE_COLUMNS: usize = 14;
const LEASE_OWNER: usize = 8;

/// The columns that come last, and are null where nobody has asked for them: most rows are without,
/// and short.
#[derive(Default)]
pub(super) struct LeaseTerms {
    pub(super) quiet_ms: Option<i32>,
    pub(super) stall_ms: Option<i32>,
    pub(super) progress: Option<i64>,
    pub(super) moved_at: Option<i64>,
    pub(super) late: Option<i32>,
}

/// The same of lease.fence.
#[repr(C)]
pub(super) struct FenceColumns {
    pub(super) token: i64,
    pub(super) raised_at: i64,
}
const FENCE_COLUMNS: usize = 3;

/// The same of lease.worker.
#[repr(C)]
pub(super) struct WorkerColumns {
    pub(super) heartbeat_at: i64,
    pub(super) steady_at: i64,
    pub(super) server: i64,
    pub(super) began_at: i64,
    pub(super) term: i64,
    pub(super) skew_us: i64,
    pub(super) jump_us: i64,
    pub(super) jumped_at: i64,
    pub(super) ttl_ms: i32,
    pub(super) live_for_ms: i32,
    pub(super) shards: i32,
    pub(super) role: u32,
}
pub(super) const WORKER_COLUMNS: usize = 16;

/// A table of ours, open.
pub(super) struct Open {
    pub(super) relation: pg_sys::Relation,
    index: pg_sys::Oid,
    /// Where its texts begin in a tuple.
    fixed: usize,
    place: fn(&Key) -> &Cell<Place>,
}

#[derive(Clone, Copy)]
pub enum Which {
    Lease,
    Fence,
    Worker,
}

/// Opens a table and leaves its lock in place until the end of the transaction.
pub(super) fn with_table<R>(which: Which, lock: u32, f: impl FnOnce(&Open) -> R) -> R {
    let Objects { lease, lease_pkey, fence, fence_pkey, worker, worker_pkey, .. } = objects();
    let (table, index, columns, fixed) = match which {
        Which::Lease => (lease, lease_pkey, LEASE_COLUMNS, LEASE_FIXED),
        Which::Fence => (fence, fence_pkey, FENCE_COLUMNS, FENCE_FIXED),
        Which::Worker => (worker, worker_pkey, WORKER_COLUMNS, WORKER_FIXED),
    };
    let place: fn(&Key) -> &Cell<Place> = match which {
        Which::Lease => |key| &key.lease_place,
        Which::Fence => |key| &key.fence_place,
        Which::Worker => |key| &key.worker_place,
    };
    // SAFETY: opens a relation by OID or raises; if `f` raises, the resource owner closes it.
    unsafe {
        let relation = pg_sys::table_open(table, lock as i32);
        if (*(*relation).rd_att).natts as usize != columns {
            pgrx::error!("pg_lease: a table in schema lease has other columns than this version's");
        }
        let value = f(&Open { relation, index, fixed, place });
        raw::relation_close(relation, pg_sys::NoLock as i32);
        value
    }
}

/// A tuple on a page that is pinned and locked while this is lent.
pub(super) struct Tuple<'a>(pub(super) &'a pg_sys::HeapTupleData);

impl Tuple<'_> {
    pub(super) fn columns<T>(&self) -> &T {
        // SAFETY: T mirrors the table's first columns, which are of fixed width and never null, so
        // they lie at t_hoff in this layout; `with_table` has checked the number of columns.
        unsafe { &*self.data().cast::<T>() }
    }

    fn data(&self) -> *const u8 {
        // SAFETY: t_hoff is where the data begins.
        unsafe { self.0.t_data.cast::<u8>().add((*self.0.t_data).t_hoff as usize) }
    }

    pub(super) fn has_owner(&self) -> bool {
        !self.is_null(LEASE_OWNER)
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

    /// The varlena with this number, of those that follow the fixed columns; none of them is null.
    pub(super) fn varlena(&self, fixed: usize, number: usize) -> *const pg_sys::varlena {
        // SAFETY: each begins where the one before it ends, aligned unless it is short; the zero
        // bytes between them are no varlena's first byte.
        unsafe {
            let mut at = self.data().add(fixed);
            for number in (0..=number).rev() {
                if *at == 0 {
                    let offset = at.offset_from(self.data()) as usize;
                    at = at.add(offset.next_multiple_of(4) - offset);
                }
                if number > 0 {
                    at = at.add(pgrx::varsize_any(at.cast()));
                }
            }
            at.cast()
        }
    }

    /// The same, of a text that is short enough never to be toasted.
    pub(super) fn text(&self, fixed: usize, number: usize) -> &[u8] {
        let varlena = self.varlena(fixed, number);
        // SAFETY: see `varlena`.
        unsafe {
            let (data, size) =
                (pgrx::vardata_any(varlena).cast::<u8>(), pgrx::varsize_any_exhdr(varlena));
            std::slice::from_raw_parts(data, size)
        }
    }

    /// The first text column, which begins where the fixed columns end.
    pub(super) fn name(&self, fixed: usize) -> &[u8] {
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
    pub(super) fn owner(&self, fixed: usize) -> Option<String> {
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
}

impl Tuple<'_> {
    /// The columns behind the owner. A lease without an owner has no use for them.
    pub(super) fn lease_terms(&self) -> LeaseTerms {
        let asked_for = (LEASE_OWNER + 1..LEASE_COLUMNS).any(|column| !self.is_null(column));
        if !asked_for || self.is_null(LEASE_OWNER) {
            return LeaseTerms::default();
        }
        let owner = self.varlena(LEASE_FIXED, 1);
        // SAFETY: the owner is not null, so it follows the name, and ends where this begins.
        let mut at = unsafe {
            owner.cast::<u8>().offset_from(self.data()) as usize + pgrx::varsize_any(owner)
        };
        LeaseTerms {
            quiet_ms: self.number(LEASE_OWNER + 1, &mut at),
            stall_ms: self.number(LEASE_OWNER + 2, &mut at),
            progress: self.number(LEASE_OWNER + 3, &mut at),
            moved_at: self.number(LEASE_OWNER + 4, &mut at),
            late: self.number(LEASE_OWNER + 5, &mut at),
        }
    }

    /// The number in a column that begins at `at`, but for its alignment. Goes on to the next.
    fn number<T: Copy>(&self, column: usize, at: &mut usize) -> Option<T> {
        if self.is_null(column) {
            return None;
        }
        let begins = at.next_multiple_of(size_of::<T>());
        *at = begins + size_of::<T>();
        // SAFETY: T is an integer as wide as the column, and the server aligns both by their width,
        // counted from where the data begins, which is itself aligned for all.
        Some(unsafe { self.data().add(begins).cast::<T>().read() })
    }
}

pub(super) const LEASE_FIXED: usize = 48;
const FENCE_FIXED: usize = 16;
pub(super) const WORKER_FIXED: usize = 80;

impl Open {
    /// The row's newest committed version, or our own, lent to `f` while its page is locked.
    ///
    /// An update that moves the row to another page while the index is read can hide both versions
    /// for a moment; a second and third look find it.
    pub(super) fn find<R>(&self, key: &Key, f: impl Fn(&Tuple) -> R) -> Option<R> {
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
            let page = (place.block, place.buffer);
            let (buffer, seen, all_dead) = pg_guard_ffi_boundary(|| {
                raw::newest_version(self.relation, page, &mut tid, &mut tuple)
            });
            let tuple = Tuple(&tuple);
            let ours = seen && tuple.name(self.fixed) == key.name.as_bytes();
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

pub(super) fn block_of(tid: pg_sys::ItemPointerData) -> u32 {
    u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo)
}

fn place_of(tid: pg_sys::ItemPointerData) -> Place {
    let block = block_of(tid);
    Place { block, offset: tid.ip_posid, buffer: 0, generation: generation() }
}

pub(super) unsafe fn begin_scan(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
) -> pg_sys::IndexScanDesc {
    // SAFETY: both relations are open, the snapshot is static.
    unsafe {
        let snapshot = addr_of_mut!(pg_sys::SnapshotSelfData);
        #[cfg(not(feature = "pg18"))]
        return pg_sys::index_beginscan(heap, index, snapshot, 1, 0);
        #[cfg(feature = "pg18")]
        return pg_sys::index_beginscan(heap, index, snapshot, null_mut(), 1, 0);
    }
}

impl Open {
    /// Lends each row to `f`.
    pub(super) fn scan(&self, mut f: impl FnMut(&Tuple)) {
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
    pub(super) fn find_in_snapshot<R>(&self, key: &Key, f: impl Fn(&Tuple) -> R) -> Option<R> {
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
                let ours = visible && tuple.name(self.fixed) == key.name.as_bytes();
                let value = ours.then(|| f(&tuple));
                raw::UnlockReleaseBuffer(buffer);
                (value, false)
            }
        })
    }

    /// Writes a new version of a row that this transaction has locked.
    pub(super) fn update(
        &self,
        key: &Key,
        tid: pg_sys::ItemPointerData,
        values: &mut [Option<pg_sys::Datum>],
    ) {
        if !self.write(key, tid, values, true) {
            pgrx::error!("pg_lease: the locked row of lease \"{}\" could not be changed", key.name);
        }
    }

    /// Writes a new version of a row, if this version is still the newest and nobody has it. Never
    /// waits.
    pub(super) fn try_update(
        &self,
        key: &Key,
        tid: pg_sys::ItemPointerData,
        values: &mut [Option<pg_sys::Datum>],
    ) -> bool {
        self.write(key, tid, values, false)
    }

    fn write(
        &self,
        key: &Key,
        tid: pg_sys::ItemPointerData,
        values: &mut [Option<pg_sys::Datum>],
        wait: bool,
    ) -> bool {
        let (mut datums, mut nulls) = split(values);
        let (block, seen) = (place_of(tid).block, (self.place)(key).get());
        let recent = if seen.block == block { seen.buffer } else { 0 };
        let mut tid = tid;
        // SAFETY: values has a datum per column, of the column's type. The index gets an entry when
        // the row moved. Inside the guard nothing needs cleaning up by Rust.
        let (result, heap_only, mut place) = unsafe {
            pg_guard_ffi_boundary(|| {
                // room on the page is what makes the update heap-only
                let buffer = raw::pin(self.relation, block, recent);
                raw::heap_page_prune_opt(self.relation, buffer);
                raw::ReleaseBuffer(buffer);
                let description = (*self.relation).rd_att;
                let tuple =
                    raw::heap_form_tuple(description, datums.as_mut_ptr(), nulls.as_mut_ptr());
                let result = raw::update(self.relation, &mut tid, tuple, wait);
                let heap_only = (*(*tuple).t_data).t_infomask2 & pg_sys::HEAP_ONLY_TUPLE as u16;
                let place = (*tuple).t_self;
                raw::heap_freetuple(tuple);
                (result, heap_only != 0, place)
            })
        };
        if result != pg_sys::TM_Result::TM_Ok {
            return false;
        }
        // SAFETY: see above.
        unsafe {
            if !heap_only {
                self.add_to_index(key, &mut place);
            }
            pg_sys::CommandCounterIncrement();
        }
        true
    }

    pub(super) fn insert(&self, key: &Key, values: &mut [Option<pg_sys::Datum>]) {
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

    pub(super) fn delete(&self, tid: pg_sys::ItemPointerData) {
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

/// The most columns that a table of ours has.
const MOST_COLUMNS: usize = WORKER_COLUMNS;

/// Values and null flags, with room for the columns of any of our tables.
fn split(
    values: &[Option<pg_sys::Datum>],
) -> ([pg_sys::Datum; MOST_COLUMNS], [bool; MOST_COLUMNS]) {
    let (mut datums, mut nulls) = ([pg_sys::Datum::null(); MOST_COLUMNS], [true; MOST_COLUMNS]);
    for (at, value) in values.iter().enumerate() {
        if let Some(value) = value {
            (datums[at], nulls[at]) = (*value, false);
        }
    }
    (datums, nulls)
}
