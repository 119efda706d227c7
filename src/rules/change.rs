//! Changes of ownership: why a lease changed hands, and how long nobody had held it.

use super::lease::{Lease, State};
use super::time::Micros;
use serde_json::json;

/// Why a lease changed hands, or what ended a tenure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was new, free or void.
    Acquired,
    /// Its holder had let it run out, and another took it.
    Expired,
    /// Its own holder asked for a new token.
    Reacquired,
    /// lease_takeover.
    Forced,
    Released,
    /// lease_drain.
    Drained,
    /// lease_worker_leave.
    Left,
    /// A newer incarnation of the worker ended what its former one held.
    Fenced,
    Dropped,
    /// lease_void_all.
    Voided,
}

impl Why {
    pub fn name(self) -> &'static str {
        match self {
            Self::Acquired => "acquired",
            Self::Expired => "expired",
            Self::Reacquired => "reacquired",
            Self::Forced => "forced",
            Self::Released => "released",
            Self::Drained => "drained",
            Self::Left => "left",
            Self::Fenced => "fenced",
            Self::Dropped => "dropped",
            Self::Voided => "voided",
        }
    }
}

/// How a grant came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner<'a> {
    /// By the rules.
    Asked,
    /// By an operator, whoever held the lease, with the reason that was given.
    Forced(Option<&'a str>),
}

/// One period of ownership: an owner, and its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure<'a> {
    pub owner: &'a str,
    pub token: i64,
}

/// A change of ownership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    pub at: Micros,
    pub name: &'a str,
    pub why: Why,
    /// What ends.
    pub from: Option<Tenure<'a>>,
    /// What begins.
    pub to: Option<Tenure<'a>>,
    /// How long nobody had held the lease when it was granted.
    pub vacancy_us: Option<i64>,
    /// Who did it.
    pub role: &'a str,
    pub reason: Option<&'a str>,
    pub acquisitions: i64,
}

/// PostgreSQL takes no notification of 8,000 bytes or more.
const MOST_OF_A_PAYLOAD: usize = 7_999;

impl Change<'_> {
    /// What is notified of it: JSON without other characters than ASCII, which every encoding has. A
    /// reason that there is no room for is cut, and marked. `at`: the time, as JSON has it.
    pub fn payload(&self, at: &str) -> String {
        let mut reason = self.reason.map(str::to_owned);
        loop {
            let payload = ascii(&self.json(at, reason.as_deref()));
            match &reason {
                Some(long) if payload.len() > MOST_OF_A_PAYLOAD => {
                    let half = long.chars().count() / 2;
                    reason = Some(long.chars().take(half).chain("...".chars()).collect());
                }
                _ => return payload,
            }
        }
    }

    fn json(&self, at: &str, reason: Option<&str>) -> String {
        let told = json!({
            "at": at,
            "name": self.name,
            "why": self.why.name(),
            "old_owner": self.from.map(|tenure| tenure.owner),
            "old_token": self.from.map(|tenure| tenure.token),
            "new_owner": self.to.map(|tenure| tenure.owner),
            "new_token": self.to.map(|tenure| tenure.token),
            "vacancy_s": self.vacancy_us.map(|us| us as f64 / 1e6),
            "role": self.role,
            "reason": reason,
            "acquisitions": self.acquisitions,
        });
        told.to_string()
    }
}

/// JSON in which other characters than those of ASCII, which are in strings only, are escaped.
fn ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            let units = c.encode_utf16(&mut [0; 2]).to_vec();
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    escaped
}

/// Why a lease that nobody forces is granted to `owner`.
pub fn why_granted(before: Option<&Lease>, owner: &str) -> Why {
    match before {
        Some(lease) if lease.is_owned_by(owner) => Why::Reacquired,
        Some(lease) if lease.owner.is_some() && !lease.void => Why::Expired,
        _ => Why::Acquired,
    }
}

/// How long nobody had held the lease at `now`: from its release or its expiry. 0 if somebody did hold
/// it; None if it is new, or was held in another copy of the database.
pub fn vacancy_us(before: Option<&Lease>, since: Micros, now: Micros) -> Option<i64> {
    let lease = before?;
    let from = match lease.state(now) {
        State::Held => now,
        State::Expired | State::Quiet => lease.expires_at,
        State::Free => since,
        State::Void => return None,
    };
    Some(now.saturating_sub(from).max(0))
}

/// How many characters of a reason are kept.
const MOST_OF_A_REASON: usize = 1_000;

/// A reason of a length that a row and a notification have room for. What was cut off is marked.
pub fn cut_reason(reason: &str) -> std::borrow::Cow<'_, str> {
    match reason.char_indices().nth(MOST_OF_A_REASON) {
        None => reason.into(),
        Some((end, _)) => format!("{}...", &reason[..end]).into(),
    }
}

/// Whether the grant of this token is one of those that also delete old changes: one in sixteen,
/// whichever tokens are used for other things.
pub fn is_to_tidy(token: i64) -> bool {
    super::hash::positive(&[token.cast_unsigned()]) % 16 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::progress::Progress;

    fn lease(owner: Option<&str>, expires_at: Micros) -> Lease {
        Lease {
            token: 7,
            expires_at,
            ttl_ms: 1_000,
            quiet_ms: 0,
            work: Progress::begun(0, 0),
            owner: owner.map(str::to_owned),
            void: false,
            foreign: false,
        }
    }

    #[test]
    fn a_grant_is_told_by_what_it_found() {
        let (held, free) = (lease(Some("a"), 50), lease(None, Micros::MIN));
        let void = Lease { void: true, ..held.clone() };
        let foreign = Lease { foreign: true, ..held.clone() };
        assert_eq!(why_granted(None, "a"), Why::Acquired);
        assert_eq!(why_granted(Some(&free), "a"), Why::Acquired);
        assert_eq!(why_granted(Some(&void), "a"), Why::Acquired);
        assert_eq!(why_granted(Some(&held), "b"), Why::Expired);
        assert_eq!(why_granted(Some(&held), "a"), Why::Reacquired);
        assert_eq!(why_granted(Some(&foreign), "a"), Why::Expired);
    }

    #[test]
    fn a_vacancy_begins_with_the_release_or_the_expiry_and_is_never_negative() {
        let (held, free) = (lease(Some("a"), 50), lease(None, Micros::MIN));
        let void = Lease { void: true, ..held.clone() };
        assert_eq!(vacancy_us(None, 0, 80), None);
        assert_eq!(vacancy_us(Some(&held), 0, 80), Some(30));
        assert_eq!(vacancy_us(Some(&held), 0, 50), Some(0));
        assert_eq!(vacancy_us(Some(&Lease { quiet_ms: 1, ..held.clone() }), 0, 80), Some(30));
        assert_eq!(vacancy_us(Some(&held), 0, 10), Some(0));
        assert_eq!(vacancy_us(Some(&free), 60, 80), Some(20));
        assert_eq!(vacancy_us(Some(&free), 90, 80), Some(0), "the clock has stepped back");
        assert_eq!(vacancy_us(Some(&void), 0, 80), None);
        assert_eq!(vacancy_us(Some(&free), Micros::MIN, Micros::MAX), Some(i64::MAX));
    }

    #[test]
    fn a_long_reason_is_cut_at_a_character_and_marked() {
        assert_eq!(cut_reason("maintenance"), "maintenance");
        let long = "é".repeat(1_000);
        assert_eq!(cut_reason(&long), long);
        let cut = cut_reason(&(long.clone() + "x")).into_owned();
        assert_eq!(cut, long + "...");
    }

    fn forced<'a>(owner: &'a str, reason: Option<&'a str>) -> Change<'a> {
        Change {
            at: 0,
            name: "job",
            why: Why::Forced,
            from: Some(Tenure { owner, token: 41 }),
            to: Some(Tenure { owner, token: 42 }),
            vacancy_us: Some(1_500_000),
            role: "ops",
            reason,
            acquisitions: 2,
        }
    }

    #[test]
    fn a_notification_is_json_of_ascii_that_says_it_all() {
        let payload = forced("é\"🂡", Some("a\nb\\")).payload("2026-11-29T00:00:00+00:00");
        assert!(payload.is_ascii());
        let read: serde_json::Value = serde_json::from_str(&payload).unwrap_or_default();
        assert_eq!(read["at"], "2026-11-29T00:00:00+00:00");
        assert_eq!(read["name"], "job");
        assert_eq!(read["why"], "forced");
        assert_eq!(read["old_owner"], "é\"🂡");
        assert_eq!(read["old_token"], 41);
        assert_eq!(read["new_token"], 42);
        assert_eq!(read["vacancy_s"], 1.5);
        assert_eq!(read["role"], "ops");
        assert_eq!(read["reason"], "a\nb\\");
        assert_eq!(read["acquisitions"], 2);
        let acquired = Change { from: None, reason: None, ..forced("a", None) };
        let read: serde_json::Value =
            serde_json::from_str(&acquired.payload("")).unwrap_or_default();
        assert!(read["old_owner"].is_null() && read["reason"].is_null());
    }

    #[test]
    fn a_notification_is_never_too_long() {
        let owner = "🂡".repeat(200);
        for reason in ["\u{1}".repeat(1_003), "🂡".repeat(1_003), "x".repeat(1_003)] {
            let payload = forced(&owner, Some(&reason)).payload("2026-11-29T00:00:00+00:00");
            assert!(payload.len() <= MOST_OF_A_PAYLOAD, "{} bytes", payload.len());
            let read: serde_json::Value = serde_json::from_str(&payload).unwrap_or_default();
            assert_eq!(read["new_owner"], owner.as_str());
            let kept = read["reason"].as_str().unwrap_or_default();
            assert!(kept == reason || kept.ends_with("..."));
        }
    }

    #[test]
    fn one_grant_in_sixteen_tidies_whatever_the_step_between_tokens() {
        for step in [1, 2, 16, 1_000] {
            let tidying =
                (1..=16_000).filter(|n| is_to_tidy(28_684_800_000_000 + n * step)).count();
            assert!((800..1_200).contains(&tidying), "step {step}: {tidying}");
        }
    }
}
