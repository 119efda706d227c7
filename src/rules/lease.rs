//! Who gets a lease. Decided on the row as it stands under its lock, with the time read after that.

use super::refusal::{self, Result};
use super::time::{Micros, expiry};

/// What a row says of a lease, as far as the rules need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub token: i64,
    pub expires_at: Micros,
    pub ttl_ms: i32,
    /// None after a release.
    pub owner: Option<String>,
    /// Granted in another copy of this database: nobody holds it here.
    pub void: bool,
    /// Taken by a role that the caller is not a member of.
    pub foreign: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Somebody has it and it has not expired.
    Held,
    /// Expired, and nobody has taken it yet: its holder's writes still pass.
    Expired,
    /// Released.
    Free,
    /// Granted in another copy of this database.
    Void,
}

impl Lease {
    pub fn state(&self, now: Micros) -> State {
        match &self.owner {
            None => State::Free,
            Some(_) if self.void => State::Void,
            Some(_) if self.expires_at > now => State::Held,
            Some(_) => State::Expired,
        }
    }

    fn is_owned_by(&self, owner: &str) -> bool {
        !self.void && !self.foreign && self.owner.as_deref() == Some(owner)
    }

    /// The clock has stepped back: no expiry can be further away than the ttl that made it.
    fn has_impossible_expiry(&self, now: Micros) -> bool {
        self.expires_at > expiry(now, self.ttl_ms)
    }
}

/// What becomes of the token when its owner acquires the lease again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepToken {
    /// Kept while the lease is live; a lapsed lease that is claimed again gets a new one (Nuthatch).
    WhileLive,
    /// Kept as long as nobody else took the lease (Better Compute).
    WhileOwner,
    /// Every acquire is a new token: a restarted process fences its former self.
    Never,
}

impl KeepToken {
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "while_live" => Ok(Self::WhileLive),
            "while_owner" => Ok(Self::WhileOwner),
            "never" => Ok(Self::Never),
            _ => Err(refusal::bad_choice(
                "keep_token",
                text,
                &["while_live", "while_owner", "never"],
            )),
        }
    }
}

/// The answer to an acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquire {
    /// A new token.
    Grant,
    /// The owner's token goes on, with a full ttl.
    Keep,
    /// Somebody else has it.
    Held,
    /// Somebody else has it, until an impossible time that is to be pulled in.
    PullIn,
}

pub fn acquire(row: Option<&Lease>, owner: &str, keep: KeepToken, now: Micros) -> Acquire {
    let Some(lease) = row else {
        return Acquire::Grant;
    };
    let live = lease.state(now) == State::Held;
    if lease.is_owned_by(owner) {
        let kept = match keep {
            KeepToken::WhileLive => live,
            KeepToken::WhileOwner => true,
            KeepToken::Never => false,
        };
        return if kept { Acquire::Keep } else { Acquire::Grant };
    }
    match (live, lease.has_impossible_expiry(now)) {
        (false, _) => Acquire::Grant,
        (true, false) => Acquire::Held,
        (true, true) => Acquire::PullIn,
    }
}

/// A renewal and a release need the caller's own, current token; an expiry that nobody used is no
/// obstacle.
pub fn is_held_with(
    holder: Option<&str>,
    current: i64,
    void: bool,
    owner: &str,
    token: i64,
) -> bool {
    !void && current == token && holder == Some(owner)
}

/// Where an incarnation starts its tokens: above the present microsecond, the mint's last number and
/// every row. None at the end of bigint.
pub fn incarnation_start(present: i64, last: i64, highest: i64) -> Option<i64> {
    let above = last.max(highest).checked_add(1)?;
    Some(above.max(present))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(owner: &str, expires_at: Micros) -> Lease {
        let owner = Some(owner.to_owned());
        Lease { token: 41, expires_at, ttl_ms: 10, owner, void: false, foreign: false }
    }

    #[test]
    fn a_live_lease_stays_with_its_owner_and_an_expired_one_moves() {
        let lease = held("a", 1_000);
        let take = |now| acquire(Some(&lease), "b", KeepToken::WhileLive, now);
        assert_eq!(take(999), Acquire::Held);
        assert_eq!(take(1_000), Acquire::Grant);
        assert_eq!(take(31_536_000_000_000), Acquire::Grant);
    }

    #[test]
    fn keep_token_has_three_values() {
        let lease = held("a", 1_000);
        let again = |keep, now| acquire(Some(&lease), "a", keep, now);
        assert_eq!(again(KeepToken::WhileLive, 999), Acquire::Keep);
        assert_eq!(again(KeepToken::WhileLive, 1_000), Acquire::Grant);
        assert_eq!(again(KeepToken::WhileOwner, 999_999), Acquire::Keep);
        assert_eq!(again(KeepToken::Never, 999), Acquire::Grant);
        assert!(KeepToken::parse("sometimes").is_err());
    }

    #[test]
    fn released_and_void_leases_are_free_to_take_under_a_new_token() {
        let released = Lease { owner: None, ..held("a", i64::MIN) };
        let void = Lease { void: true, ..held("a", 1_000) };
        for lease in [released, void] {
            assert_eq!(acquire(Some(&lease), "a", KeepToken::WhileOwner, 5), Acquire::Grant);
            assert!(!is_held_with(lease.owner.as_deref(), 41, lease.void, "a", 41));
        }
    }

    #[test]
    fn the_owners_name_is_nothing_without_its_role() {
        let foreign = Lease { foreign: true, ..held("a", 1_000) };
        let again = |now| acquire(Some(&foreign), "a", KeepToken::WhileOwner, now);
        assert_eq!(again(999), Acquire::Held);
        assert_eq!(again(1_000), Acquire::Grant);
    }

    #[test]
    fn an_expiry_further_away_than_the_ttl_is_pulled_in() {
        let lease = held("a", 3_600_000_000);
        assert_eq!(acquire(Some(&lease), "b", KeepToken::WhileLive, 0), Acquire::PullIn);
        let at_most = held("a", 10_000);
        assert_eq!(acquire(Some(&at_most), "b", KeepToken::WhileLive, 0), Acquire::Held);
    }

    #[test]
    fn an_incarnation_starts_above_everything_granted() {
        assert_eq!(incarnation_start(100, 5, 7), Some(100));
        assert_eq!(incarnation_start(100, 500, 7), Some(501));
        assert_eq!(incarnation_start(100, 5, 700), Some(701));
        assert_eq!(incarnation_start(100, i64::MAX, 0), None);
    }
}
