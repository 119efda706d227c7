//! Writes that the fence refuses: counted, and told in the server's log.

use super::counters::{Event, count};
use crate::pg::key::Key;
use crate::pg::{report, role, settings};
use crate::rules::refusal::Refusal;

/// At the statement. `token`: what was presented, if anything.
pub fn at_statement(key: &Key, token: Option<i64>, refusal: Refusal) -> Refusal {
    count(key, Event::RefusedAtStatement);
    tell(key, token, "at the statement", &refusal);
    refusal
}

/// At the commit.
pub fn at_commit(key: &Key, token: i64, refusal: Refusal) -> Refusal {
    count(key, Event::RefusedAtCommit);
    tell(key, Some(token), "at the commit", &refusal);
    refusal
}

fn tell(key: &Key, token: Option<i64>, when: &str, refusal: &Refusal) {
    let Some(level) = settings::log_refusals() else { return };
    let role = role::name(role::caller()).unwrap_or_default();
    let token = token.map_or_else(|| "no token".to_owned(), |token| format!("token {token}"));
    report::log_at(
        level,
        format!("refused {when}: lease \"{}\", {token}, role \"{role}\"", key.name),
        format!("The client was told: {}.", refusal.message),
    );
}
