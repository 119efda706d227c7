//! Locks of PostgreSQL's lock manager: in memory, no WAL, freed with the transaction.
//!
//! Their tags are those of advisory locks with a fourth field that the advisory functions never use.
//! A fence lock's tag is made of the lease *and* the token: who commits under a token takes it
//! shared, who ends or raises that token takes it exclusively. The same tag in ACCESS SHARE mode is
//! the presence lock, which nobody ever waits for: pg_locks shows who is in the middle of what.

use pgrx::pg_sys;

/// What a lock stands for: the fourth field of its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A lease granted here, under one token.
    Fence = 0x4c01,
    /// A lease granted elsewhere, as this database has obeyed it, under one token.
    Newest = 0x4c02,
    /// A name that has no row yet.
    Name = 0x4c03,
    /// The mint, while an incarnation starts.
    Mint = 0x4c04,
    /// All leases at once, for a transaction that wrote under many.
    All = 0x4c05,
    /// The guards of a lease, while one is made or the lease is dropped.
    Guards = 0x4c06,
    /// A worker that has no row yet.
    Worker = 0x4c07,
    /// The queue of those who wait for a lease: who has it is the head.
    Queue = 0x4c08,
}

/// A lock: a class and 64 bits that tell its members apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub class: Class,
    pub high: u32,
    pub low: u32,
}

impl Tag {
    /// Tokens are unique, so the low half tells those of one uptime apart; two that share it (about
    /// 71 minutes of microseconds apart) only wait for each other.
    pub fn of(class: Class, name_hash: u64, token: i64) -> Self {
        let high = (name_hash ^ (name_hash >> 32)) as u32;
        Self { class, high, low: token as u32 }
    }

    /// A lock of a name, whatever its token.
    pub fn of_name(class: Class, name_hash: u64) -> Self {
        Self { class, high: (name_hash >> 32) as u32, low: name_hash as u32 }
    }

    pub fn single(class: Class) -> Self {
        Self { class, high: 0, low: 0 }
    }

    fn locktag(self) -> pg_sys::LOCKTAG {
        pg_sys::LOCKTAG {
            // SAFETY: fixed when the backend starts.
            locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
            locktag_field2: self.high,
            locktag_field3: self.low,
            locktag_field4: self.class as u16,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        }
    }
}

/// Presence: conflicts with none of the others.
pub const PRESENCE: i32 = pg_sys::AccessShareLock as i32;
/// A commit under a token.
pub const COMMIT: i32 = pg_sys::RowShareLock as i32;
/// A taker's share of `Class::All`, a guard's of `Class::Guards`: conflicts with `EVERYTHING`, not with
/// itself.
pub const INTENT: i32 = pg_sys::RowExclusiveLock as i32;
/// A commit under more leases than are locked one by one; a drop, as for guards.
pub const EVERYTHING: i32 = pg_sys::ShareLock as i32;
/// Ending or raising a token.
pub const CHANGE: i32 = pg_sys::ExclusiveLock as i32;

/// Takes the lock until the end of the transaction, if it is free and nobody waits for it.
pub fn try_lock(tag: Tag, mode: i32) -> bool {
    acquire(tag, mode, true)
}

/// Takes the lock until the end of the transaction, waiting up to `wait_ms` (0: not at all).
pub fn lock_within(tag: Tag, mode: i32, wait_ms: i32) -> bool {
    let wait = || super::subxact::within(wait_ms, || acquire(tag, mode, false)).is_some();
    try_lock(tag, mode) || wait_ms > 0 && wait()
}

/// Runs `f` under the lock, which is let go afterwards.
pub fn briefly<R>(tag: Tag, mode: i32, f: impl FnOnce() -> R) -> R {
    acquire(tag, mode, false);
    let value = f();
    let locktag = tag.locktag();
    // SAFETY: this transaction took the lock above. If `f` raised, the transaction's end frees it.
    unsafe { pg_sys::LockRelease(&locktag, mode, false) };
    value
}

/// Sets the latches of those who have the lock in a mode that conflicts with this one. Raises no
/// error but for want of memory, so that it may be called after the commit, as NOTIFY does the like.
pub fn wake_holders(tag: Tag, mode: i32) {
    let locktag = tag.locktag();
    // SAFETY: the list is as long as it says, and ours. A latch is shared memory; setting that of a
    // process which has gone on to something else wakes it for nothing.
    unsafe {
        let mut count = 0;
        let holders = pg_sys::GetLockConflicts(&locktag, mode, &mut count);
        for at in 0..count as usize {
            if let Some(process) = super::raw::process_of(*holders.add(at)).as_mut() {
                pg_sys::SetLatch(&mut process.procLatch);
            }
        }
        pg_sys::pfree(holders.cast());
    }
}

fn acquire(tag: Tag, mode: i32, dont_wait: bool) -> bool {
    let locktag = tag.locktag();
    // SAFETY: the tag is well formed, and the lock manager copies it.
    let result = unsafe { pg_sys::LockAcquire(&locktag, mode, false, dont_wait) };
    result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// Who has the lock in a mode that others wait for, in words.
pub fn holders(tag: Tag) -> String {
    let found = super::spi::text(
        "SELECT pg_catalog.string_agg(CASE WHEN l.pid IS NULL THEN 'a prepared transaction' \
           ELSE 'process ' OPERATOR(pg_catalog.||) l.pid::pg_catalog.text END, ', ') \
         FROM pg_catalog.pg_locks l \
         WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted \
           AND l.database OPERATOR(pg_catalog.=) (SELECT oid FROM pg_catalog.pg_database \
                WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) \
           AND l.classid::pg_catalog.int8 OPERATOR(pg_catalog.=) $1 \
           AND l.objid::pg_catalog.int8 OPERATOR(pg_catalog.=) $2 \
           AND l.objsubid::pg_catalog.int8 OPERATOR(pg_catalog.=) $3 \
           AND l.mode OPERATOR(pg_catalog.<>) 'AccessShareLock' \
           AND NOT COALESCE(l.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid(), false)",
        &[
            i64::from(tag.high).into(),
            i64::from(tag.low).into(),
            i64::from(tag.class as u16).into(),
        ],
    );
    found.unwrap_or_else(|| "another session".to_owned())
}

/// Who runs the transaction with this number, in words.
pub fn holder_of_transaction(xid: u32) -> String {
    let found = super::spi::text(
        "SELECT CASE WHEN l.pid IS NULL THEN 'a prepared transaction' \
           ELSE 'process ' OPERATOR(pg_catalog.||) l.pid::pg_catalog.text END \
         FROM pg_catalog.pg_locks l \
         WHERE l.locktype OPERATOR(pg_catalog.=) 'transactionid' AND l.granted \
           AND l.transactionid::pg_catalog.text OPERATOR(pg_catalog.=) $1",
        &[xid.to_string().into()],
    );
    found.unwrap_or_else(|| "another session".to_owned())
}
