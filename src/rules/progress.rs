//! Whether the work under a lease moves: what a renewal says of it, and when one is refused because
//! nothing has moved for too long.

use super::time::Micros;

/// What a lease knows of its holder's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How long it may stand still; 0: for ever.
    pub stall_ms: i32,
    /// What the holder said last, if anything.
    pub value: Option<i64>,
    /// When that last changed, or the grant.
    pub moved_at: Micros,
}

impl Progress {
    pub fn begun(stall_ms: i32, now: Micros) -> Self {
        Self { stall_ms, value: None, moved_at: now }
    }

    /// Has stood still for too long: only a renewal that moves it is granted.
    pub fn is_stalled(&self, now: Micros) -> bool {
        let stall = i64::from(self.stall_ms) * 1_000;
        stall > 0 && now.saturating_sub(self.moved_at) >= stall
    }

    /// After a renewal that says `value`, or nothing. None: refused. A time that has not come yet is
    /// pulled in, as the clock must have stepped back.
    pub fn renewed(&self, value: Option<i64>, now: Micros) -> Option<Self> {
        match value {
            Some(_) if value != self.value => Some(Self { value, moved_at: now, ..*self }),
            _ if self.is_stalled(now) => None,
            _ => Some(Self { moved_at: self.moved_at.min(now), ..*self }),
        }
    }

    /// With another span. One that was off begins now.
    pub fn watched(&self, stall_ms: i32, now: Micros) -> Self {
        let since = if self.stall_ms == 0 { now } else { self.moved_at.min(now) };
        Self { stall_ms, moved_at: since, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    #[test]
    fn work_that_stands_still_for_as_long_as_it_may_is_stalled() {
        let begun = Progress::begun(10_000, 0);
        assert!(begun.renewed(None, 10 * SECOND - 1).is_some());
        assert_eq!(begun.renewed(None, 10 * SECOND), None);
        let said = begun.renewed(Some(7), SECOND);
        let again = |value, now| said.and_then(|work| work.renewed(value, now));
        assert_eq!(again(Some(7), 11 * SECOND - 1), said);
        assert_eq!(again(Some(7), 11 * SECOND), None);
        assert_eq!(again(None, 11 * SECOND), None);
    }

    #[test]
    fn work_that_moves_may_go_on_even_after_a_refusal_and_in_any_direction() {
        let moved = Progress::begun(10_000, 0).renewed(Some(7), 3_600 * SECOND);
        let at = 3_600 * SECOND;
        assert_eq!(moved, Some(Progress { stall_ms: 10_000, value: Some(7), moved_at: at }));
        let back = moved.and_then(|work| work.renewed(Some(-1), 4_000 * SECOND));
        assert_eq!(back.map(|work| work.moved_at), Some(4_000 * SECOND));
    }

    #[test]
    fn without_a_span_nothing_is_stalled() {
        let work = Progress::begun(0, 0);
        assert!(!work.is_stalled(Micros::MAX));
        assert!(work.renewed(None, Micros::MAX).is_some());
    }

    #[test]
    fn a_clock_that_steps_back_delays_the_refusal_by_one_span_at_most() {
        let work = Progress::begun(10_000, 3_600 * SECOND);
        let renewed = work.renewed(None, 0).map(|work| work.is_stalled(10 * SECOND));
        assert_eq!(renewed, Some(true));
    }

    #[test]
    fn a_watch_begins_when_it_is_set_and_is_not_begun_again_by_another_span() {
        let unwatched = Progress::begun(0, 0);
        assert!(!unwatched.watched(10_000, 60 * SECOND).is_stalled(69 * SECOND));
        let watched = Progress::begun(10_000, 0);
        assert!(watched.watched(20_000, 9 * SECOND).is_stalled(20 * SECOND));
        assert!(!watched.watched(0, 9 * SECOND).is_stalled(20 * SECOND));
    }
}
