//! Choices that come from the seed alone, so that a run can be played again.

use std::time::Duration;

/// A source of choices.
pub struct Dice(fastrand::Rng);

impl Dice {
    /// The choices of `who` in the run with this seed.
    pub fn of(seed: u64, who: &str) -> Self {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(fastrand::Rng::with_seed(who.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix)))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit.max(1))
    }

    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.u32(..100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }

    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(self.0.u64(from..=to.max(from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let choices = |seed, who| {
            let mut dice = Dice::of(seed, who);
            (0..20).map(|_| dice.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(choices(7, "w1"), choices(7, "w1"));
        assert_ne!(choices(7, "w1"), choices(8, "w1"));
        assert_ne!(choices(7, "w1"), choices(7, "w2"));
    }
}
