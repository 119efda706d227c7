//! Rows of lease.worker: what they say, and the few things that are done to them. Read and written
//! below the executor, for the reasons given in `table`; nothing here waits for another session.

use super::call::text_datum;
use super::key::{Key, key};
use super::raw;
use super::rows::Lock;
use super::table::{Tuple, WORKER_COLUMNS, WORKER_FIXED, Which, WorkerColumns, with_table};
use crate::rules::pass::Held;
use crate::rules::roster::{Heard, Member};
use crate::rules::time::Micros;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

/// A row of lease.worker.
#[derive(Clone, Debug)]
pub struct WorkerRow {
    pub member: Member,
    pub heartbeat_at: Micros,
    pub skew_us: i64,
    pub jump_us: i64,
    pub jumped_at: Micros,
    pub ttl_ms: i32,
    pub live_for_ms: i32,
}

/// The row of the worker that passes, locked, and what it held at the end of its last pass.
pub struct Own {
    tid: pg_sys::ItemPointerData,
    pub row: WorkerRow,
    pub singletons: Vec<String>,
    pub held: Held,
}

/// Each member of each fleet. A row that is written during the scan may hide its old version and its
/// new one, or show both: a second scan finds it, and the newer one counts.
pub fn all() -> Vec<WorkerRow> {
    let mut found: Vec<WorkerRow> = Vec::new();
    with_table(Which::Worker, pg_sys::AccessShareLock, |table| {
        table.scan(|tuple| found.push(tuple.worker_row()));
        table.scan(|tuple| found.push(tuple.worker_row()));
    });
    let order = |row: &WorkerRow| (row.member.owner.clone(), row.heartbeat_at);
    found.sort_by_key(|row| std::cmp::Reverse(order(row)));
    found.dedup_by(|later, first| later.member.owner == first.member.owner);
    found
}

pub enum Found {
    Missing,
    Busy,
    Own(Box<Own>),
}

/// Locks a worker's row until the end of the transaction, if nobody else has it.
pub fn lock(key: &Key) -> Found {
    with_table(Which::Worker, pg_sys::RowExclusiveLock, |table| {
        loop {
            let Some(tid) = table.find(key, |tuple| tuple.0.t_self) else {
                return Found::Missing;
            };
            match table.lock(tid, pg_sys::LockWaitPolicy::LockWaitSkip, |tuple| tuple.packed()) {
                Lock::Row(own) => return Found::Own(Box::new(own.unpacked())),
                Lock::WouldBlock(_) => return Found::Busy,
                Lock::Gone => super::xact::check_for_interrupts(),
            }
        }
    })
}

/// The singletons that a worker held after its last pass.
pub fn singletons(owner: &str) -> Vec<String> {
    with_table(Which::Worker, pg_sys::AccessShareLock, |table| {
        let packed = table.find(&key(owner), |tuple| tuple.packed());
        packed.map_or_else(Vec::new, |packed| packed.unpacked().singletons)
    })
}

/// Writes a row that `lock` has locked.
pub fn update(own: &Own) {
    let key = key(&own.row.member.owner);
    with_table(Which::Worker, pg_sys::NoLock, |table| {
        table.update(&key, own.tid, &mut values(&key, own));
    });
}

/// Adds the row of a new worker. The caller has locked the name.
pub fn insert(row: WorkerRow, singletons: Vec<String>, held: Held) {
    let own = Own { tid: pg_sys::ItemPointerData::default(), row, singletons, held };
    let key = key(&own.row.member.owner);
    with_table(Which::Worker, pg_sys::RowExclusiveLock, |table| {
        table.insert(&key, &mut values(&key, &own));
    });
}

/// Deletes a worker's row, unless somebody else has it or there is none.
pub fn delete(owner: &str) {
    if let Found::Own(own) = lock(&key(owner)) {
        with_table(Which::Worker, pg_sys::NoLock, |table| table.delete(own.tid));
    }
}

fn values(key: &Key, own: &Own) -> [Option<pg_sys::Datum>; WORKER_COLUMNS] {
    let WorkerRow { member, .. } = &own.row;
    [
        Some(own.row.heartbeat_at.into()),
        Some(member.heard.at.into()),
        Some(member.heard.server.into()),
        Some(member.heard.began.into()),
        Some(member.term.into()),
        Some(own.row.skew_us.into()),
        Some(own.row.jump_us.into()),
        Some(own.row.jumped_at.into()),
        Some(own.row.ttl_ms.into()),
        Some(own.row.live_for_ms.into()),
        Some((member.shards as i32).into()),
        Some(pg_sys::Oid::from(super::role::caller()).into()),
        Some(key.datum()),
        Some(text_datum(&member.fleet)),
        Some(text_datum(&own.singletons.join(" "))),
        Some(super::call::bytea_datum(&own.held.0)),
    ]
}

/// The texts of a row that may be long, as they lie in it, until the row's page is let go.
struct Packed {
    own: Own,
    singletons: *mut pg_sys::varlena,
    held: *mut pg_sys::varlena,
}

impl Packed {
    fn unpacked(self) -> Own {
        let bytes = |value: *mut pg_sys::varlena| super::call::bytes(pg_sys::Datum::from(value));
        let singletons = String::from_utf8_lossy(bytes(self.singletons)).into_owned();
        let singletons = singletons.split(' ').filter(|name| !name.is_empty());
        Own {
            singletons: singletons.map(str::to_owned).collect(),
            held: Held(bytes(self.held).to_vec()),
            ..self.own
        }
    }
}

impl Tuple<'_> {
    fn worker_row(&self) -> WorkerRow {
        let c = self.columns::<WorkerColumns>();
        let text = |number| String::from_utf8_lossy(self.text(WORKER_FIXED, number)).into_owned();
        WorkerRow {
            member: Member {
                owner: text(0),
                fleet: text(1),
                term: c.term,
                heard: Heard { at: c.steady_at, server: c.server, began: c.began_at },
                shards: c.shards.unsigned_abs(),
                foreign: !super::role::acts_for(c.role),
            },
            heartbeat_at: c.heartbeat_at,
            skew_us: c.skew_us,
            jump_us: c.jump_us,
            jumped_at: c.jumped_at,
            ttl_ms: c.ttl_ms,
            live_for_ms: c.live_for_ms,
        }
    }

    fn packed(&self) -> Packed {
        let own = Own {
            tid: self.0.t_self,
            row: self.worker_row(),
            singletons: Vec::new(),
            held: Held::default(),
        };
        // SAFETY: inside the guard nothing needs cleaning up by Rust.
        let copy = |number| unsafe {
            pg_guard_ffi_boundary(|| raw::copy_varlena(self.varlena(WORKER_FIXED, number)))
        };
        Packed { own, singletons: copy(2), held: copy(3) }
    }
}
