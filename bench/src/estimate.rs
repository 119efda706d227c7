//! A median and how sure one can be of it.

/// The median of what the rounds gave, with the interval that holds the true one in nine of ten
/// cases (or more). It is read off the sorted values, so no shape of the noise is assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// 0 for a count.
    pub rounds: usize,
}

impl Estimate {
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rounds = sorted.len();
        let cut = trimmed(rounds);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let high = at(rounds.wrapping_sub(1 + cut));
        Self { median: quantile(&sorted, 0.5), low: at(cut), high, rounds }
    }

    /// Each round's value against the same round's base.
    pub fn of_ratios(values: &[f64], bases: &[f64]) -> Self {
        let ratios: Vec<f64> = values.iter().zip(bases).map(|(value, base)| value / base).collect();
        Self::of(&ratios)
    }

    /// One number that does not scatter: a count.
    pub fn exact(value: f64) -> Self {
        Self { median: value, low: value, high: value, rounds: 0 }
    }
}

/// A quantile of sorted values, between neighbours where it falls between them.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = share * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * part
}

/// How many values can be left out at either end so that the rest still spans the true median with
/// at least 90 % confidence: the chance that fewer than that many of the values lie on one side.
fn trimmed(rounds: usize) -> usize {
    let mut ways = 1.0;
    let mut tail = 0.0;
    let all = 2f64.powi(rounds as i32);
    for index in 0..rounds {
        tail += ways / all;
        if 2.0 * tail > 0.10 {
            return index.saturating_sub(1);
        }
        ways = ways * (rounds - index) as f64 / (index + 1) as f64;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_few_rounds_is_everything_seen() {
        let estimate = Estimate::of(&[3.0, 1.0, 2.0, 5.0, 4.0]);
        assert_eq!(estimate, Estimate { median: 3.0, low: 1.0, high: 5.0, rounds: 5 });
    }

    #[test]
    fn more_rounds_let_outliers_go() {
        assert_eq!([5, 7, 8, 10, 12, 20].map(trimmed), [0, 0, 1, 1, 2, 5]);
    }

    #[test]
    fn an_even_number_of_values_has_its_median_in_the_middle() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
