//! Counters in shared memory, where the library is preloaded. Atomics only: nobody waits for anybody,
//! and what two sessions do to one place at the same instant may be miscounted by one.

use super::call::{Args, Returns, text_datum};
use super::key::Key;
use super::{answer, clock};
use pgrx::atomics::PgAtomic;
use pgrx::{PGRXSharedMemory, pg_guard, pg_shmem_init, pg_sys};
use std::array::from_fn;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// What is counted, in the order of the columns of lease.counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Grant,
    Takeover,
    Renewal,
    Release,
    Held,
    Busy,
    Quiet,
    Stalled,
    Lost,
    RefusedAtStatement,
    RefusedAtCommit,
    Wait,
}
const EVENTS: usize = Event::Wait as usize + 1;

/// How many databases and leases of the whole server have a place, and among how many places one
/// looks for its own.
const DATABASES: usize = 64;
const LEASES: usize = 1_024;
const NEAR: usize = 8;

/// A lease name has at most 200 bytes.
const NAME_WORDS: usize = 25;

/// The counters of one database, or of one lease.
struct Place {
    /// A hash of the database and the name; EMPTY, or TAKEN while it changes hands.
    key: AtomicU64,
    database: AtomicU32,
    length: AtomicU32,
    name: [AtomicU64; NAME_WORDS],
    since: AtomicI64,
    used_at: AtomicI64,
    counts: [AtomicU64; EVENTS],
}
const EMPTY: u64 = 0;
const TAKEN: u64 = 1;

impl Place {
    fn new() -> Self {
        Self {
            key: AtomicU64::new(EMPTY),
            database: AtomicU32::new(0),
            length: AtomicU32::new(0),
            name: from_fn(|_| AtomicU64::new(0)),
            since: AtomicI64::new(0),
            used_at: AtomicI64::new(0),
            counts: from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn is(&self, key: u64) -> bool {
        self.key.load(Ordering::Acquire) == key
    }

    /// Gives the place to another, unless somebody else does so just now.
    fn take(&self, from: u64, key: u64, name: &str, now: i64) -> bool {
        let (done, failed) = (Ordering::AcqRel, Ordering::Acquire);
        if from == TAKEN || self.key.compare_exchange(from, TAKEN, done, failed).is_err() {
            return false;
        }
        // SAFETY: fixed when the backend starts.
        let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
        self.database.store(database, Ordering::Relaxed);
        self.length.store(name.len() as u32, Ordering::Relaxed);
        for (word, bytes) in self.name.iter().zip(name.as_bytes().chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
        self.since.store(now, Ordering::Relaxed);
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        self.key.store(key, Ordering::Release);
        true
    }

    /// What it says, if it is this database's and nobody changed it meanwhile.
    fn read(&self, database: u32) -> Option<Counted> {
        let key = self.key.load(Ordering::Acquire);
        if key == EMPTY || key == TAKEN || self.database.load(Ordering::Relaxed) != database {
            return None;
        }
        let words = self.name.iter().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        let bytes: Vec<u8> = words.flatten().collect();
        let length = (self.length.load(Ordering::Relaxed) as usize).min(bytes.len());
        let name = String::from_utf8_lossy(&bytes[..length]).into_owned();
        let counts = from_fn(|at| self.counts[at].load(Ordering::Relaxed).cast_signed());
        let since = self.since.load(Ordering::Relaxed);
        self.is(key).then_some(Counted { name: Some(name), counts, since: Some(since), note: None })
    }
}

struct Counters {
    databases: [Place; DATABASES],
    leases: [Place; LEASES],
}

// SAFETY: it holds atomics only, and no pointers.
unsafe impl PGRXSharedMemory for Counters {}

// SAFETY: nobody else has shared memory of this name.
static COUNTERS: PgAtomic<Counters> = unsafe { PgAtomic::new(c"pg_lease counters") };

static PRELOADED: super::cell::Backend<bool> = super::cell::Backend::new(false);

/// Asks for the shared memory, if the library is loaded while the server starts.
#[allow(unexpected_cfgs)] // the macro asks for versions that this crate has no feature for
pub fn define() {
    // SAFETY: called from _PG_init; a plain variable of the server's.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        pg_shmem_init!(
            COUNTERS = Counters {
                databases: from_fn(|_| Place::new()),
                leases: from_fn(|_| Place::new()),
            }
        );
        PRELOADED.set(true);
    }
}

/// Counts an event of a lease. It stays counted if the transaction is rolled back.
pub fn count(key: &Key, event: Event) {
    if !PRELOADED.get() {
        return;
    }
    let (counters, now) = (COUNTERS.get(), clock::server_now());
    // SAFETY: fixed when the backend starts.
    let database = u64::from(unsafe { pg_sys::MyDatabaseId }.to_u32());
    add(&counters.databases, spread(database), "", event, now);
    add(&counters.leases, spread(database ^ key.hash), &key.name, event, now);
}

/// A hash that is neither EMPTY nor TAKEN.
fn spread(number: u64) -> u64 {
    crate::rules::hash::positive(&[number]).cast_unsigned().max(TAKEN + 1)
}

fn add(places: &[Place], key: u64, name: &str, event: Event, now: i64) {
    if let Some(place) = place(places, key, name, now) {
        place.used_at.store(now, Ordering::Relaxed);
        place.counts[event as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// The place of `key`: of those that it may have, the one that it has, an empty one, or the one that
/// was used longest ago.
fn place<'a>(places: &'a [Place], key: u64, name: &str, now: i64) -> Option<&'a Place> {
    let first = key as usize % places.len();
    let near = || (0..NEAR).map(|step| &places[(first + step) % places.len()]);
    if let Some(own) = near().find(|place| place.is(key)) {
        return Some(own);
    }
    let used = |place: &&Place| match place.key.load(Ordering::Acquire) {
        EMPTY => i64::MIN,
        _ => place.used_at.load(Ordering::Relaxed),
    };
    let oldest = near().min_by_key(used)?;
    let from = oldest.key.load(Ordering::Acquire);
    oldest.take(from, key, name, now).then_some(oldest)
}

/// A row of lease.counters.
pub struct Counted {
    /// None for the whole database.
    name: Option<String>,
    counts: [i64; EVENTS],
    since: Option<i64>,
    note: Option<&'static str>,
}

/// What was counted in this database: in all, and for each lease that has a place.
pub fn counted() -> Vec<Counted> {
    if !PRELOADED.get() {
        let note = Some("pg_lease is not in shared_preload_libraries: nothing is counted");
        return vec![Counted { name: None, counts: [0; EVENTS], since: None, note }];
    }
    // SAFETY: fixed when the backend starts.
    let database = unsafe { pg_sys::MyDatabaseId }.to_u32();
    let in_all = COUNTERS.get().databases.iter().filter_map(|place| place.read(database));
    let leases = COUNTERS.get().leases.iter().filter_map(|place| place.read(database));
    let all = in_all.map(|all| Counted { name: None, ..all }).next().unwrap_or(Counted {
        name: None,
        counts: [0; EVENTS],
        since: None,
        note: Some("nothing has happened yet"),
    });
    std::iter::once(all).chain(leases).collect()
}

impl Returns for Vec<Counted> {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        let row = |counted: &Counted| {
            let mut columns = [None; EVENTS + 3];
            columns[0] = counted.name.as_deref().map(text_datum);
            for (column, count) in columns[1..=EVENTS].iter_mut().zip(counted.counts) {
                *column = counted.since.map(|_| count.into());
            }
            columns[EVENTS + 1] = counted.since.map(pg_sys::Datum::from);
            columns[EVENTS + 2] = counted.note.map(text_datum);
            columns
        };
        answer::materialize(args, self.iter().map(row))
    }
}
