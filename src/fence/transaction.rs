//! What a transaction has to answer for at its commit.
//!
//! Everything here belongs to a subtransaction: rolled back, it is forgotten; released, it is its
//! parent's. Nothing outlives the transaction.

use super::positions::Positions;
use super::presented::Shown;
use crate::pg::cell::Backend;
use crate::pg::key::Key;
use crate::pg::xact::{self, SubId};
use crate::rules::signature::Signature;
use std::rc::Rc;

/// By what a token is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The lease's row here.
    Current,
    /// The same, and the lease has not expired.
    Live,
    /// The newest token obeyed here.
    Newest,
}

/// A token that this transaction has written under, as it was presented then.
#[derive(Clone)]
pub struct Entry {
    pub key: Rc<Key>,
    pub token: i64,
    pub rule: Rule,
    /// Who presented it.
    role: u32,
    pub by: SubId,
    /// Decided already, by the subtransaction that ended the token itself.
    pub settled_by: Option<SubId>,
}

/// Something that a subtransaction did to a lease.
struct Mark {
    key: Rc<Key>,
    token: i64,
    /// What a declared token came with.
    signature: Option<Signature>,
    by: SubId,
}

struct State {
    entries: Vec<Entry>,
    places: Positions,
    /// Presented by lease_fence_check.
    declared: Vec<Mark>,
    declared_places: Positions,
    /// Granted, or raised, in this transaction.
    granted: Vec<Mark>,
    /// Changes of ownership.
    changed: Vec<Mark>,
    /// Jobs of which it began a run that must never begin again.
    begun: Vec<Mark>,
    /// The commit check has run: what comes later is decided at once.
    deciding: bool,
    /// Rises with every change of the above that could make a check fail that has passed.
    version: u64,
}

/// Changes the state.
fn change<R>(f: impl FnOnce(&mut State) -> R) -> R {
    STATE.with(|state| {
        state.version += 1;
        f(state)
    })
}

/// While this stays the same, the transaction still answers for all that it answered for, and has
/// declared nothing else.
pub fn version() -> u64 {
    STATE.with(|state| state.version)
}

impl State {
    /// Items have been taken off the ends.
    fn keep_places(&mut self) {
        self.places.keep(self.entries.len());
        self.declared_places.keep(self.declared.len());
    }

    fn marks(&mut self) -> [&mut Vec<Mark>; 4] {
        [&mut self.declared, &mut self.granted, &mut self.changed, &mut self.begun]
    }
}

static STATE: Backend<State> = Backend::new(State {
    entries: Vec::new(),
    places: Positions::new(),
    declared: Vec::new(),
    declared_places: Positions::new(),
    granted: Vec::new(),
    changed: Vec::new(),
    begun: Vec::new(),
    deciding: false,
    version: 0,
});

/// Whether the transaction answers for this already, so that nothing need be read again.
pub fn answers_for(key: &Key, token: i64, rule: Rule, role: u32) -> bool {
    STATE.with(|state| {
        let wanted = |entry: &Entry| {
            entry.token == token
                && entry.rule == rule
                && entry.role == role
                && entry.settled_by.is_none()
                && *entry.key == *key
        };
        let hash_of = |entry: &Entry| entry.key.hash;
        state.places.find_last(&state.entries, key.hash, hash_of, wanted).is_some()
    })
}

/// From now on the commit depends on this.
pub fn answer_for(key: &Rc<Key>, token: i64, rule: Rule, role: u32) {
    let by = xact::current();
    let entry = Entry { key: Rc::clone(key), token, rule, role, by, settled_by: None };
    // what has passed before goes on passing: no change of version
    STATE.with(|state| state.entries.push(entry));
}

pub fn entries() -> usize {
    STATE.with(|state| state.entries.len())
}

/// An entry that the commit still depends on.
pub fn unsettled(at: usize) -> Option<Entry> {
    STATE.with(|state| state.entries.get(at).filter(|e| e.settled_by.is_none()).cloned())
}

pub fn count_unsettled() -> usize {
    STATE.with(|state| state.entries.iter().filter(|e| e.settled_by.is_none()).count())
}

/// Marks an entry as decided for good.
pub fn settle(at: usize) {
    let by = xact::current();
    change(|state| {
        if let Some(entry) = state.entries.get_mut(at) {
            entry.settled_by = Some(by);
        }
    });
}

pub fn declare(key: &Rc<Key>, shown: Shown) {
    let mark = Mark { signature: shown.signature, ..mark(key, shown.token) };
    change(|state| state.declared.push(mark));
}

/// What lease_fence_check presented last for this lease.
pub fn declared(key: &Key) -> Option<Shown> {
    STATE.with(|state| {
        let hash_of = |mark: &Mark| mark.key.hash;
        let places = &mut state.declared_places;
        let mark = places.find_last(&state.declared, key.hash, hash_of, |m| *m.key == *key)?;
        Some(Shown { token: mark.token, signature: mark.signature })
    })
}

pub fn granted(key: &Rc<Key>, token: i64) {
    let mark = mark(key, token);
    change(|state| state.granted.push(mark));
}

pub fn was_granted_here(key: &Key, token: i64) -> bool {
    STATE.with(|state| state.granted.iter().any(|mark| mark.token == token && *mark.key == *key))
}

pub fn changed(key: &Rc<Key>) {
    let mark = mark(key, 0);
    change(|state| state.changed.push(mark));
}

pub fn has_changed_ownership() -> bool {
    STATE.with(|state| !state.changed.is_empty())
}

/// A lease whose ownership this transaction has changed, if any.
pub fn changed_lease() -> Option<String> {
    STATE.with(|state| state.changed.first().map(|mark| mark.key.name.clone()))
}

/// The leases whose ownership it has changed, one by one.
pub fn changed_at(at: usize) -> Option<Rc<Key>> {
    STATE.with(|state| state.changed.get(at).map(|mark| Rc::clone(&mark.key)))
}

/// Whether it has done anything yet that others, or its commit, have to do with.
pub fn is_empty() -> bool {
    STATE.with(|state| {
        state.entries.is_empty() && state.marks().into_iter().all(|marks| marks.is_empty())
    })
}

pub fn begun(job: &Rc<Key>) {
    let mark = mark(job, 0);
    change(|state| state.begun.push(mark));
}

/// A job of which this transaction began a run, if any.
pub fn begun_job() -> Option<String> {
    STATE.with(|state| state.begun.first().map(|mark| mark.key.name.clone()))
}

/// Whether what it did must outlive any crash, whatever the session's synchronous_commit says.
pub fn must_last() -> bool {
    STATE.with(|state| !state.changed.is_empty() || !state.begun.is_empty())
}

pub fn is_deciding() -> bool {
    STATE.with(|state| state.deciding)
}

pub fn start_deciding() {
    change(|state| state.deciding = true);
}

fn mark(key: &Rc<Key>, token: i64) -> Mark {
    Mark { key: Rc::clone(key), token, signature: None, by: xact::current() }
}

/// Room that is kept from one transaction to the next.
const ROOM: usize = 128;

pub fn forget() {
    change(|state| {
        state.entries.clear();
        state.entries.shrink_to(ROOM);
        for marks in state.marks() {
            marks.clear();
            marks.shrink_to(ROOM);
        }
        state.keep_places();
        state.deciding = false;
    });
}

pub fn hand_to_parent(mine: SubId, parent: SubId) {
    let hand = |by: &mut SubId| {
        if *by == mine {
            *by = parent;
        }
    };
    change(|state| {
        for entry in &mut state.entries {
            hand(&mut entry.by);
            if let Some(by) = entry.settled_by.as_mut() {
                hand(by);
            }
        }
        for marks in state.marks() {
            marks.iter_mut().for_each(|mark| hand(&mut mark.by));
        }
    });
}

pub fn undo(mine: SubId) {
    change(|state| {
        take_off(&mut state.entries, |entry| entry.by == mine);
        for entry in &mut state.entries {
            if entry.settled_by == Some(mine) {
                entry.settled_by = None;
            }
        }
        for marks in state.marks() {
            take_off(marks, |mark| mark.by == mine);
        }
        state.keep_places();
    });
}

/// Takes the items of a subtransaction off: the last ones, as while it was open nobody else added any.
fn take_off<T>(items: &mut Vec<T>, its: impl Fn(&T) -> bool) {
    let kept = items.iter().rposition(|item| !its(item)).map_or(0, |last| last + 1);
    items.truncate(kept);
}
