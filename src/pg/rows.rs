//! Rows of lease.lease and lease.fence: what they say, and the few things that are done to them.

use super::catalog::objects;
use super::key::Key;
use super::raw;
pub use super::table::Which;
use super::table::{FenceColumns, LEASE_COLUMNS, LEASE_FIXED, LeaseColumns};
use super::table::{Open, Tuple, with_table};
use crate::mutant::{Mutant, is_on};
use crate::rules::fence::Fence;
use crate::rules::lease::{self, Lease};
use crate::rules::progress::Progress;
use crate::rules::time::{self, Micros};
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

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
    /// The role that took the lease.
    pub role: u32,
    pub quiet_ms: i32,
    pub work: Progress,
    /// How many renewals in a row came later than half the ttl.
    pub late: i32,
    pub owner: Option<String>,
}

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
            quiet_ms: self.quiet_ms,
            work: self.work,
            owner: self.owner.clone(),
            void: self.home != home,
            foreign: !super::role::acts_for(self.role),
        }
    }
}
/// The owner of one of our tables.
pub fn owner_of(relation: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: opens a relation by OID or raises.
    unsafe {
        let open = pg_sys::relation_open(relation, pg_sys::AccessShareLock as i32);
        let owner = (*(*open).rd_rel).relowner;
        // not kept: who only waits for a lease must not hold up lease_void_all
        pg_sys::relation_close(open, pg_sys::AccessShareLock as i32);
        owner
    }
}

// --- lease.lease ---------------------------------------------------------------------------------

/// Keeps `lock_all_leases`, and changes of the tables, out until the end of the transaction: for
/// whoever relies on what a row says, or said.
pub fn lock_for_looking(which: Which) {
    let table = match which {
        Which::Lease => objects().lease,
        Which::Fence => objects().fence,
        Which::Worker => objects().worker,
    };
    let mode = pg_sys::AccessShareLock as i32;
    // SAFETY: locks our own table by OID.
    unsafe { pg_sys::LockRelationOid(table, mode) }
}

/// What a guard needs to know. Allocates nothing. The caller has locked the table.
pub fn lease_fence(key: &Key, home: i64) -> Option<Fence> {
    let fence = |tuple: &Tuple| {
        let c = tuple.columns::<LeaseColumns>();
        Fence {
            token: c.token,
            expires_at: c.expires_at,
            owned: tuple.has_owner(),
            void: c.home != home,
            role: c.role,
        }
    };
    with_table(Which::Lease, pg_sys::NoLock, |table| match is_on(Mutant::Snapshot) {
        true => table.find_in_snapshot(key, fence),
        false => table.find(key, fence),
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

/// The rows of several names, with one opening of the table.
pub fn leases<'a>(keys: impl Iterator<Item = &'a std::rc::Rc<Key>>) -> Vec<Option<LeaseRow>> {
    with_table(Which::Lease, pg_sys::AccessShareLock, |table| {
        keys.map(|key| table.find(key, |tuple| tuple.lease_row())).collect()
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

/// Releases each lease that has an owner, after telling `tell` of it, and says how many. The caller
/// has locked all of them.
pub fn release_all(now: Micros, tell: impl Fn(&Key, &LeaseRow)) -> i64 {
    with_table(Which::Lease, pg_sys::NoLock, |table| {
        let mut released = 0;
        // a new version, which the scan may meet, has no owner
        table.scan(|tuple| {
            let mut row = tuple.lease_row();
            if row.owner.is_some() {
                let name = String::from_utf8_lossy(tuple.name(LEASE_FIXED));
                let key = super::key::key(&name);
                tell(&key, &row);
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

/// Lets `change` change the row, if it is `wanted`, and writes it. A row that somebody has is locked
/// first, as `lock_lease` does, and `change` then starts from what it says after the wait.
pub fn change_lease(
    key: &Key,
    wait_ms: i32,
    wanted: impl Fn(&LeaseRow) -> bool,
    change: impl Fn(&mut LeaseRow),
) -> Locked {
    with_table(Which::Lease, pg_sys::RowExclusiveLock, |table| {
        let row = table.find(key, |tuple| tuple.lease_row()).filter(&wanted);
        if let Some(row) = row.map(|row| changed(row, &change))
            && table.try_update(key, row.tid, &mut lease_values(key, &row))
        {
            return Locked::Row(row);
        }
        match table.lock_wanted(key, wait_ms, wanted) {
            Locked::Row(row) => {
                let row = changed(row, change);
                table.update(key, row.tid, &mut lease_values(key, &row));
                Locked::Row(row)
            }
            other => other,
        }
    })
}

fn changed(mut row: LeaseRow, change: impl Fn(&mut LeaseRow)) -> LeaseRow {
    change(&mut row);
    row
}

pub(super) enum Lock<R = LeaseRow> {
    Row(R),
    /// Another version of the row is the newest now, or none.
    Gone,
    WouldBlock(u32),
}

impl Open {
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
        let xid =
            match self.lock(tid, pg_sys::LockWaitPolicy::LockWaitSkip, |tuple| tuple.lease_row()) {
                Lock::Gone => return None,
                Lock::Row(row) => return Some(Locked::Row(row)),
                Lock::WouldBlock(xid) if wait_ms == 0 => return Some(Locked::Busy(xid)),
                Lock::WouldBlock(xid) => xid,
            };
        let wait = pg_sys::LockWaitPolicy::LockWaitBlock;
        let keep = |lock: &Lock| matches!(lock, Lock::Row(row) if wanted(row));
        match super::subxact::within_if(
            wait_ms,
            || self.lock(tid, wait, |tuple| tuple.lease_row()),
            keep,
        ) {
            None => Some(Locked::Busy(xid)),
            Some(Lock::Row(row)) if wanted(&row) => Some(Locked::Row(row)),
            Some(Lock::Row(row)) => Some(Locked::Unwanted(row)),
            Some(_) => None,
        }
    }

    /// Locks the version at `tid` until the end of the transaction, and reads it.
    pub(super) fn lock<R>(
        &self,
        tid: pg_sys::ItemPointerData,
        wait: pg_sys::LockWaitPolicy::Type,
        read: impl Fn(&Tuple) -> R,
    ) -> Lock<R> {
        // SAFETY: the table is open; heap_lock_tuple pins the tuple's page, which is let go below.
        // Inside the guards nothing needs cleaning up by Rust.
        unsafe {
            let mut tuple: pg_sys::HeapTupleData = std::mem::zeroed();
            tuple.t_self = tid;
            let mode = pg_sys::LockTupleMode::LockTupleNoKeyExclusive;
            let (result, buffer) =
                pg_guard_ffi_boundary(|| raw::lock(self.relation, &mut tuple, mode, wait));
            let lock = match result {
                pg_sys::TM_Result::TM_Ok => Lock::Row(read(&Tuple(&tuple))),
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
}

fn lease_values(key: &Key, row: &LeaseRow) -> [Option<pg_sys::Datum>; LEASE_COLUMNS] {
    let LeaseRow { quiet_ms, late, work: Progress { stall_ms, value, moved_at }, .. } = *row;
    let kept = |asked_for: bool| asked_for && row.owner.is_some();
    [
        Some(row.token.into()),
        Some(row.expires_at.into()),
        Some(row.since.into()),
        Some(row.acquisitions.into()),
        Some(row.home.into()),
        Some(row.ttl_ms.into()),
        Some(pg_sys::Oid::from(row.role).into()),
        Some(key.datum()),
        row.owner.as_deref().map(super::call::text_datum),
        kept(quiet_ms > 0).then(|| quiet_ms.into()),
        kept(stall_ms > 0).then(|| stall_ms.into()),
        value.filter(|_| kept(true)).map(pg_sys::Datum::from),
        kept(stall_ms > 0 || value.is_some()).then(|| moved_at.into()),
        kept(late > 0).then(|| late.into()),
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
        role: 0,
        quiet_ms: 0,
        work: Progress::begun(0, 0),
        late: 0,
        owner: None,
    }
}

// --- lease.fence ---------------------------------------------------------------------------------

/// The newest token that this database has obeyed; 0 where it has obeyed none.
pub fn newest_token(key: &Key) -> i64 {
    with_table(Which::Fence, pg_sys::AccessShareLock, |table| {
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

impl Tuple<'_> {
    fn lease_row(&self) -> LeaseRow {
        let (c, terms) = (self.columns::<LeaseColumns>(), self.lease_terms());
        LeaseRow {
            tid: self.0.t_self,
            token: c.token,
            expires_at: c.expires_at,
            since: c.since,
            acquisitions: c.acquisitions,
            home: c.home,
            ttl_ms: c.ttl_ms,
            role: c.role,
            quiet_ms: terms.quiet_ms.unwrap_or(0),
            work: Progress {
                stall_ms: terms.stall_ms.unwrap_or(0),
                value: terms.progress,
                moved_at: terms.moved_at.unwrap_or(c.since),
            },
            late: terms.late.unwrap_or(0),
            owner: self.owner(LEASE_FIXED),
        }
    }
}
