//! When to renew, when to stop, and when everything must be dead: plain arithmetic.

use crate::clock::Moment;
use std::time::Duration;

/// How much earlier than the lease's end everything is killed: a tenth of the ttl, for clocks that
/// do not run at the same pace, and time for a busy machine to do it.
const SHARE: u32 = 10;
const LEAST: Duration = Duration::from_millis(200);

/// Whoever hangs is given up after this, however long the ttl is.
const MOST_PATIENCE: Duration = Duration::from_secs(10);
const LEAST_PATIENCE: Duration = Duration::from_millis(100);

/// What one grant or renewal gives, counted from before it was asked for: the server has set the
/// lease's end no earlier than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    pub sent: Moment,
    pub renew_at: Moment,
    /// Without another renewal, the command is told to stop now.
    pub stop_at: Moment,
    /// Without another renewal, what still runs is killed now: the lease may soon be another's.
    pub kill_by: Moment,
}

impl Term {
    pub fn new(sent: Moment, ttl: Duration, renew_after: Duration, stop_after: Duration) -> Self {
        let margin = (ttl / SHARE).max(LEAST);
        let kill_after = ttl.saturating_sub(margin);
        let stop_after = stop_after.min(kill_after);
        Self {
            sent,
            renew_at: sent + renew_after.min(stop_after),
            stop_at: sent + stop_after,
            kill_by: sent + kill_after,
        }
    }

    /// When an attempt to renew is given up: after half of the time that is left, so that there is
    /// time for another one, and for another after that.
    pub fn give_up_at(&self, now: Moment) -> Moment {
        now + (self.stop_at.since(now) / 2).clamp(LEAST_PATIENCE, MOST_PATIENCE)
    }

    /// How long to wait after an attempt that failed at once.
    pub fn pause(&self, now: Moment) -> Duration {
        let (least, most) = (Duration::from_millis(50), Duration::from_secs(1));
        (self.stop_at.since(now) / 10).clamp(least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn term(ttl: u64) -> (Moment, Term) {
        let sent = Moment::now();
        (sent, Term::new(sent, ms(ttl), ms(ttl / 3), ms(ttl / 2)))
    }

    #[test]
    fn half_of_the_ttl_is_left_to_stop_and_a_tenth_to_be_dead() {
        let (sent, term) = term(30_000);
        assert_eq!(term.renew_at.since(sent), ms(10_000));
        assert_eq!(term.stop_at.since(sent), ms(15_000));
        assert_eq!(term.kill_by.since(sent), ms(27_000));
    }

    #[test]
    fn the_order_holds_for_every_ttl() {
        for ttl in [0, 1, 150, 300, 1_000, 2_000, 86_400_000] {
            let (sent, term) = term(ttl);
            assert!(term.renew_at <= term.stop_at && term.stop_at <= term.kill_by, "{ttl}");
            assert!(term.kill_by <= sent + ms(ttl), "{ttl}");
        }
    }

    #[test]
    fn a_server_that_says_more_than_the_ttl_is_not_believed() {
        let sent = Moment::now();
        let term = Term::new(sent, ms(1_000), ms(5_000), ms(9_000));
        assert_eq!(term.renew_at.since(sent), ms(800));
        assert_eq!(term.kill_by.since(sent), ms(800));
    }

    #[test]
    fn each_attempt_leaves_time_for_another() {
        let (_, term) = term(6_000);
        let mut now = term.renew_at;
        for left in [500, 250, 125] {
            now = term.give_up_at(now);
            assert_eq!(term.stop_at.since(now), ms(left));
        }
        assert_eq!(term.give_up_at(term.stop_at), term.stop_at + LEAST_PATIENCE);
        assert_eq!(term.pause(term.renew_at), ms(100));
    }
}
