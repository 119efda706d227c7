//! Who gets a lease. Decided on the row as it stands under its lock, with the time read after that.

use super::progress::Progress;
use super::refusal::{self, Result};
use super::time::{Micros, expiry};

/// What a row says of a lease, as far as the rules need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub token: i64,
    pub expires_at: Micros,
    pub ttl_ms: i32,
    /// For how long after the expiry nobody gets a new token.
    pub quiet_ms: i32,
    pub work: Progress,
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
    /// Expired, and not to be had yet: its holder's writes still pass.
    Quiet,
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
            Some(_) if self.quiet_until() > now => State::Quiet,
            Some(_) => State::Expired,
        }
    }

    /// When its quiet period ends, if it expires as it stands.
    pub fn quiet_until(&self) -> Micros {
        expiry(self.expires_at, self.quiet_ms)
    }

    /// When somebody else can have it, unless its holder does something more. None: at once.
    pub fn free_at(&self, now: Micros) -> Option<Micros> {
        match self.state(now) {
            State::Held if self.has_impossible_expiry(now) => {
                Some(expiry(expiry(now, self.ttl_ms), self.quiet_ms))
            }
            State::Held | State::Quiet => Some(self.quiet_until()),
            State::Expired | State::Free | State::Void => None,
        }
    }

    pub fn is_owned_by(&self, owner: &str) -> bool {
        !self.void && !self.foreign && self.owner.as_deref() == Some(owner)
    }

    /// The clock has stepped back: no expiry can be further away than the ttl that made it.
    fn has_impossible_expiry(&self, now: Micros) -> bool {
        self.expires_at > expiry(now, self.ttl_ms)
    }
}

/// What a lease is granted for. 0 is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub ttl_ms: i32,
    pub stall_ms: i32,
    pub quiet_ms: i32,
}

impl Terms {
    pub fn only(ttl_ms: i32) -> Self {
        Self { ttl_ms, stall_ms: 0, quiet_ms: 0 }
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
    /// It is the caller's, and its work has stood still for too long: it runs out.
    Stalled,
    /// It has expired, and nobody gets it yet.
    Quiet,
}

impl Acquire {
    /// Nothing is written, and nothing is locked for it.
    pub fn is_refused(self) -> bool {
        matches!(self, Self::Held | Self::Stalled | Self::Quiet)
    }
}

pub fn acquire(row: Option<&Lease>, owner: &str, keep: KeepToken, now: Micros) -> Acquire {
    let Some(lease) = row else {
        return Acquire::Grant;
    };
    let state = lease.state(now);
    if lease.is_owned_by(owner) {
        match (keep, state == State::Held, lease.work.is_stalled(now)) {
            (KeepToken::Never, true, _) => return Acquire::Grant,
            (_, true, true) => return Acquire::Stalled,
            (_, true, false) | (KeepToken::WhileOwner, false, false) => return Acquire::Keep,
            // without a token to keep, its owner is like anybody else
            (_, false, _) => {}
        }
    }
    match state {
        State::Held if lease.has_impossible_expiry(now) => Acquire::PullIn,
        State::Held => Acquire::Held,
        State::Quiet => Acquire::Quiet,
        State::Expired | State::Free | State::Void => Acquire::Grant,
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

/// How many renewals in a row came later than half the ttl, after one at `now` of a lease that would
/// have expired at `expires_at`. One that comes so late now and then is nothing; a holder that always
/// does loses the lease to the first hiccup.
pub fn late_in_a_row(before: i32, expires_at: Micros, ttl_ms: i32, now: Micros) -> i32 {
    let half = i64::from(ttl_ms) * 500;
    if expires_at.saturating_sub(now) < half { before.saturating_add(1) } else { 0 }
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
        Lease {
            token: 41,
            expires_at,
            ttl_ms: 10,
            quiet_ms: 0,
            work: Progress::begun(0, expires_at),
            owner: Some(owner.to_owned()),
            void: false,
            foreign: false,
        }
    }

    const KEEP: [KeepToken; 3] = [KeepToken::WhileLive, KeepToken::WhileOwner, KeepToken::Never];

    #[test]
    fn late_renewals_are_counted_as_long_as_they_are_late() {
        let at = |now| late_in_a_row(2, 20_000, 10, now);
        assert_eq!((at(10_000), at(15_000)), (0, 0), "by half of the ttl");
        assert_eq!((at(15_001), at(20_000), at(90_000)), (3, 3, 3));
        assert_eq!(late_in_a_row(i32::MAX, 0, 10, 1), i32::MAX);
        assert_eq!(late_in_a_row(5, Micros::MIN, 10, Micros::MAX), 6);
    }

    #[test]
    fn after_an_expiry_nobody_gets_a_new_token_before_the_quiet_period_is_over() {
        let lease = Lease { quiet_ms: 5, ..held("a", 1_000) };
        for (owner, keep) in KEEP
            .map(|keep| ("b", keep))
            .into_iter()
            .chain([("a", KeepToken::WhileLive), ("a", KeepToken::Never)])
        {
            let take = |now| acquire(Some(&lease), owner, keep, now);
            assert_eq!(take(1_000), Acquire::Quiet, "{owner} {keep:?}");
            assert_eq!(take(5_999), Acquire::Quiet, "{owner} {keep:?}");
            assert_eq!(take(6_000), Acquire::Grant, "{owner} {keep:?}");
        }
        let goes_on = acquire(Some(&lease), "a", KeepToken::WhileOwner, 1_000);
        assert_eq!(goes_on, Acquire::Keep, "the same token may go on");
    }

    #[test]
    fn a_quiet_period_follows_an_expiry_and_nothing_else() {
        let lease = Lease { quiet_ms: 5, ..held("a", 1_000) };
        let released = Lease { owner: None, ..lease.clone() };
        let void = Lease { void: true, ..lease.clone() };
        for free in [released, void] {
            assert_eq!(acquire(Some(&free), "b", KeepToken::WhileLive, 1_000), Acquire::Grant);
        }
        assert_eq!(acquire(Some(&lease), "a", KeepToken::Never, 999), Acquire::Grant);
    }

    #[test]
    fn a_clock_that_steps_back_does_not_freeze_a_quiet_period() {
        let lease = Lease { quiet_ms: 5, ..held("a", 3_600_000_000) };
        assert_eq!(acquire(Some(&lease), "b", KeepToken::WhileLive, 0), Acquire::PullIn);
        assert_eq!(lease.free_at(0), Some(15_000));
    }

    #[test]
    fn when_somebody_else_can_have_it_is_known() {
        let lease = Lease { quiet_ms: 5, ..held("a", 10_000) };
        assert_eq!([0, 10_000, 14_999].map(|now| lease.free_at(now)), [Some(15_000); 3]);
        assert_eq!(lease.free_at(15_000), None);
        assert_eq!(Lease { owner: None, ..lease.clone() }.free_at(0), None);
        assert_eq!(Lease { void: true, ..lease }.free_at(0), None);
    }

    #[test]
    fn a_stalled_lease_runs_out_whatever_its_owner_asks() {
        let lease = Lease { work: Progress::begun(10, 0), ..held("a", 20_000) };
        let again = |keep, now| acquire(Some(&lease), "a", keep, now);
        assert_eq!(KEEP.map(|keep| again(keep, 9_999)), {
            [Acquire::Keep, Acquire::Keep, Acquire::Grant]
        });
        assert_eq!(KEEP.map(|keep| again(keep, 10_000)), {
            [Acquire::Stalled, Acquire::Stalled, Acquire::Grant]
        });
        assert_eq!(KEEP.map(|keep| again(keep, 20_000)), [Acquire::Grant; 3]);
        assert_eq!(acquire(Some(&lease), "b", KeepToken::WhileLive, 10_000), Acquire::Held);
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
