//! Which token is good.

use super::refusal::{self, Result};
use super::time::Micros;

/// How a guard, or lease_fence_check, judges a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The token is the lease's current one, expired or not (Nuthatch).
    Current,
    /// The same, and the lease has not expired (Better Compute).
    Live,
    /// No higher token was obeyed here; the lease lives elsewhere (Galewatch's shards).
    Newest,
}

impl Mode {
    pub fn parse(text: &str) -> Result<Self> {
        Self::known(text.as_bytes())
            .ok_or_else(|| refusal::bad_choice("mode", text, &["current", "live", "newest"]))
    }

    pub fn known(text: &[u8]) -> Option<Self> {
        match text {
            b"current" => Some(Self::Current),
            b"live" => Some(Self::Live),
            b"newest" => Some(Self::Newest),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Live => "live",
            Self::Newest => "newest",
        }
    }
}

/// What the fence says of a lease now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub token: i64,
    pub expires_at: Micros,
    pub owned: bool,
    pub void: bool,
    /// The role that took the lease.
    pub role: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// The lease does not exist.
    Unknown,
    /// Another token is current.
    Stale,
    /// The token was given back.
    Ended,
    /// Granted in another copy of this database.
    Void,
    /// Current, but expired, and a live lease was asked for.
    Expired,
}

/// Judges a presented token by the lease's row. `now` is read only for a live lease.
pub fn judge(
    fence: Option<&Fence>,
    token: i64,
    live: bool,
    now: impl FnOnce() -> Micros,
) -> Verdict {
    let Some(fence) = fence else {
        return Verdict::Unknown;
    };
    if fence.token != token {
        return Verdict::Stale;
    }
    if !fence.owned {
        return Verdict::Ended;
    }
    if fence.void {
        return Verdict::Void;
    }
    if live && fence.expires_at <= now() {
        return Verdict::Expired;
    }
    Verdict::Good
}

/// How a token stands to the newest one that a resource has obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Below,
    Equal,
    Above,
}

pub fn standing(newest: i64, token: i64) -> Standing {
    match token.cmp(&newest) {
        std::cmp::Ordering::Less => Standing::Below,
        std::cmp::Ordering::Equal => Standing::Equal,
        std::cmp::Ordering::Greater => Standing::Above,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Fence = Fence { token: 41, expires_at: 100, owned: true, void: false, role: 10 };

    fn at(fence: Fence, token: i64, live: bool, now: Micros) -> Verdict {
        judge(Some(&fence), token, live, || now)
    }

    #[test]
    fn an_expired_lease_still_protects_its_holder_unless_a_live_one_is_asked_for() {
        assert_eq!(at(GOOD, 41, false, 1_000), Verdict::Good);
        assert_eq!(at(GOOD, 41, true, 99), Verdict::Good);
        assert_eq!(at(GOOD, 41, true, 100), Verdict::Expired);
    }

    #[test]
    fn what_cannot_be_confirmed_is_not_good() {
        assert_eq!(judge(None, 41, false, || 0), Verdict::Unknown);
        assert_eq!(at(GOOD, 40, false, 0), Verdict::Stale);
        assert_eq!(at(GOOD, 42, false, 0), Verdict::Stale);
        assert_eq!(at(Fence { owned: false, ..GOOD }, 41, false, 0), Verdict::Ended);
        assert_eq!(at(Fence { void: true, ..GOOD }, 41, false, 0), Verdict::Void);
    }

    #[test]
    fn modes_have_names() {
        for mode in [Mode::Current, Mode::Live, Mode::Newest] {
            assert_eq!(Mode::parse(mode.name()), Ok(mode));
        }
        assert!(Mode::parse("Current").is_err());
    }

    #[test]
    fn a_token_is_below_at_or_above_the_newest() {
        assert_eq!(standing(17, 16), Standing::Below);
        assert_eq!(standing(17, 17), Standing::Equal);
        assert_eq!(standing(17, 18), Standing::Above);
    }
}
