//! A number to reach, and what a run says about it.

use crate::estimate::Estimate;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Want {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Reached,
    Missed,
    /// The spread is larger than the difference between the target and what was measured.
    Noisy,
    /// A tiny run.
    OnceOnly,
    NotMeasured,
}

/// One line of the table of targets.
#[derive(Clone, Debug)]
pub struct Target {
    pub what: String,
    pub want: Want,
    pub reached: Option<Estimate>,
    /// Why there is no number.
    pub note: String,
}

impl Target {
    pub fn new(what: impl Into<String>, want: Want, reached: Estimate) -> Self {
        Self { what: what.into(), want, reached: Some(reached), note: String::new() }
    }

    pub fn not_measured(what: impl Into<String>, want: Want, why: impl Into<String>) -> Self {
        Self { what: what.into(), want, reached: None, note: why.into() }
    }

    pub fn verdict(&self) -> Verdict {
        let Some(estimate) = self.reached.filter(|e| e.median.is_finite()) else {
            return Verdict::NotMeasured;
        };
        match (self.want.holds(estimate.low), self.want.holds(estimate.high)) {
            _ if estimate.rounds == 1 => Verdict::OnceOnly,
            (true, true) => Verdict::Reached,
            (false, false) => Verdict::Missed,
            _ => Verdict::Noisy,
        }
    }

    pub fn row(&self) -> String {
        let reached = match &self.reached {
            Some(estimate) => shown(estimate),
            None => self.note.clone(),
        };
        format!("| {} | {} | {reached} | {} |", self.what, self.want, self.verdict_in_words())
    }

    fn verdict_in_words(&self) -> &'static str {
        let median = self.reached.map_or(f64::NAN, |estimate| estimate.median);
        match self.verdict() {
            Verdict::Reached => "reached",
            Verdict::Missed => "**missed**",
            Verdict::Noisy if self.want.holds(median) => "too noisy to tell; the median reaches it",
            Verdict::Noisy => "too noisy to tell; the median misses it",
            Verdict::OnceOnly => "one round tells nothing",
            Verdict::NotMeasured => "not measured",
        }
    }
}

impl Want {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
            Self::Below(bound) => value < bound,
        }
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, "≥ {bound}"),
            Self::AtMost(bound) => write!(f, "≤ {bound}"),
            Self::Below(bound) => write!(f, "< {bound}"),
        }
    }
}

/// A median with its interval.
pub fn shown(estimate: &Estimate) -> String {
    let Estimate { median, low, high, rounds } = *estimate;
    if rounds < 2 {
        return number(median);
    }
    format!("{} ({} to {})", number(median), number(low), number(high))
}

pub fn of_clients(count: u32) -> String {
    if count == 1 { "1 client".into() } else { format!("{count} clients") }
}

/// A number with as many digits as it is worth.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => thousands(value.round() as i64),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        0.0 => "0".into(),
        size if size < 0.01 => format!("{value:.4}"),
        _ => format!("{value:.3}"),
    }
}

/// A whole number.
pub fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(median: f64, low: f64, high: f64) -> Verdict {
        Target::new("", Want::AtLeast(0.95), Estimate { median, low, high, rounds: 5 }).verdict()
    }

    #[test]
    fn a_target_inside_the_spread_is_neither_reached_nor_missed() {
        assert_eq!(verdict(0.97, 0.96, 0.98), Verdict::Reached);
        assert_eq!(verdict(0.97, 0.94, 0.98), Verdict::Noisy);
        assert_eq!(verdict(0.93, 0.90, 0.96), Verdict::Noisy);
        assert_eq!(verdict(0.93, 0.90, 0.94), Verdict::Missed);
        assert_eq!(
            Target::new("", Want::AtLeast(0.95), Estimate::of(&[1.0])).verdict(),
            Verdict::OnceOnly
        );
        assert_eq!(verdict(f64::NAN, f64::NAN, f64::NAN), Verdict::NotMeasured);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(number(1234567.2), "1,234,567");
        assert_eq!([0.0, 0.912345, 12.345, 0.0012].map(number), ["0", "0.912", "12.3", "0.0012"]);
    }
}
