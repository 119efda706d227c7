//! Variants side by side: A B C A B C …, so that what the machine does meanwhile hits all alike.

use crate::estimate::Estimate;
use anyhow::Result;

/// What each variant gave in each round in which it ran.
pub struct Rounds {
    /// By variant; one entry a round, NaN where the variant sat out.
    values: Vec<Vec<f64>>,
}

impl Rounds {
    /// Runs every variant in turn, `rounds` times. `every[v]` is 1 for a variant that takes part in
    /// each round, 2 for one that takes part in every other.
    pub fn run(
        rounds: usize,
        every: &[usize],
        mut cell: impl FnMut(usize, usize) -> Result<f64>,
    ) -> Result<Self> {
        let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); every.len()];
        for round in 0..rounds {
            for (variant, of_variant) in values.iter_mut().enumerate() {
                let takes_part = round.is_multiple_of(every[variant]);
                of_variant.push(if takes_part { cell(round, variant)? } else { f64::NAN });
            }
        }
        Ok(Self { values })
    }

    /// What was measured elsewhere: by variant, a value a round.
    pub fn of(values: Vec<Vec<f64>>) -> Self {
        Self { values }
    }

    pub fn median(&self, variant: usize) -> f64 {
        Estimate::of(&present(self.values[variant].iter().copied())).median
    }

    pub fn estimate(&self, variant: usize) -> Estimate {
        Estimate::of(&present(self.values[variant].iter().copied()))
    }

    /// `variant` against `base`, round by round.
    pub fn ratio(&self, variant: usize, base: usize) -> Estimate {
        let pairs = self.values[variant].iter().zip(&self.values[base]);
        Estimate::of(&present(pairs.map(|(value, base)| value / base)))
    }

    /// `variant` against whichever of `bases` was the best in the same round.
    pub fn ratio_to_best(&self, variant: usize, bases: &[usize]) -> Estimate {
        let ratios = self.values[variant].iter().enumerate().map(|(round, value)| {
            let best = bases.iter().map(|base| self.values[*base][round]).fold(f64::NAN, f64::max);
            value / best
        });
        Estimate::of(&present(ratios))
    }
}

fn present(values: impl Iterator<Item = f64>) -> Vec<f64> {
    values.filter(|value| value.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_take_turns_and_are_compared_within_the_round() -> Result<()> {
        let mut order = Vec::new();
        let rounds = Rounds::run(3, &[1, 2], |round, variant| {
            order.push((round, variant));
            Ok((round + 1) as f64 * if variant == 0 { 10.0 } else { 5.0 })
        })?;
        assert_eq!(order, [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)]);
        assert_eq!(rounds.ratio(1, 0), Estimate { median: 0.5, low: 0.5, high: 0.5, rounds: 2 });
        assert_eq!(rounds.median(0), 20.0);
        assert_eq!(rounds.ratio_to_best(0, &[1, 0]).median, 1.0);
        Ok(())
    }
}
