//! The history of leases: whoever changes the ownership of one says so here, in its own transaction. A
//! row for lease.history, a notification, and the counters.

use super::counters::{Event, count};
use crate::pg::key::Key;
use crate::pg::rows::LeaseRow;
use crate::pg::{changes, clock, identity, notify, role, settings};
use crate::rules::change::{self, Change, Manner, Tenure, Why};
use crate::rules::time::Micros;

/// A grant, from the row as it was, if there was one, to the row as it is.
pub fn granted(key: &Key, before: Option<&LeaseRow>, after: &LeaseRow, manner: Manner) {
    let lease = before.map(|row| row.as_lease(identity::home()));
    let owner = after.owner.as_deref().unwrap_or_default();
    let (why, reason) = match manner {
        Manner::Asked => (change::why_granted(lease.as_ref(), owner), None),
        Manner::Forced(reason) => (Why::Forced, reason.map(change::cut_reason)),
    };
    let since = before.map_or(0, |row| row.since);
    record(
        key,
        &Change {
            at: after.since,
            name: &key.name,
            why,
            from: before.and_then(tenure),
            to: tenure(after),
            vacancy_us: change::vacancy_us(lease.as_ref(), since, after.since),
            role: &caller(),
            reason: reason.as_deref(),
            acquisitions: after.acquisitions,
        },
    );
    if change::is_to_tidy(after.token) {
        tidy();
    }
}

/// The end of a tenure after which nobody has the lease.
pub fn ended(key: &Key, before: &LeaseRow, at: Micros, why: Why) {
    record(
        key,
        &Change {
            at,
            name: &key.name,
            why,
            from: tenure(before),
            to: None,
            vacancy_us: None,
            role: &caller(),
            reason: None,
            acquisitions: before.acquisitions,
        },
    );
}

/// The role that does it. A name that is not UTF-8, in a database of another encoding, is told as far
/// as it is.
fn caller() -> String {
    role::name(role::caller()).unwrap_or_default().replace('\u{FFFD}', "?")
}

fn tenure(row: &LeaseRow) -> Option<Tenure<'_>> {
    let token = row.token;
    row.owner.as_deref().map(|owner| Tenure { owner, token })
}

fn record(key: &Key, change: &Change) {
    if settings::history_keep_us() > 0 {
        changes::add(change);
    }
    if settings::notify() {
        notify::send(change.payload(&notify::json_time(change.at)));
    }
    match change.why {
        Why::Dropped | Why::Voided => {}
        _ if change.to.is_none() => count(key, Event::Release),
        why => {
            count(key, Event::Grant);
            if why == Why::Forced {
                count(key, Event::Takeover);
            }
        }
    }
}

/// There is no background job: now and then a grant deletes a few rows that are too old, more than
/// grants add. Not in a transaction that keeps one snapshot, where that might fail.
fn tidy() {
    let keep = settings::history_keep_us();
    if keep > 0 && !identity::keeps_snapshot() {
        changes::delete_some(clock::now().saturating_sub(keep));
    }
}
