//! What callgrind writes: each function's own instructions, and each call's inclusive ones.

use anyhow::{Context, Result, ensure};
use std::collections::HashMap;

type Edge = (String, String);

/// Instructions by function and by call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    own: HashMap<String, f64>,
    calls: HashMap<Edge, f64>,
}

/// Where the parser is.
#[derive(Default)]
struct Place {
    names: HashMap<String, String>,
    function: String,
    callee: String,
    /// The next line is the cost of a call.
    in_call: bool,
}

impl Profile {
    pub fn parse(text: &str) -> Result<Self> {
        let (mut profile, mut place) = (Self::default(), Place::default());
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                place.function = place.resolve(name)?;
            } else if let Some(name) = line.strip_prefix("cfn=") {
                place.callee = place.resolve(name)?;
            } else if line.starts_with("calls=") {
                place.in_call = true;
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                profile.add(line, &mut place)?;
            }
        }
        ensure!(!profile.own.is_empty(), "callgrind wrote an empty profile");
        Ok(profile)
    }

    fn add(&mut self, line: &str, place: &mut Place) -> Result<()> {
        let cost = line.split_whitespace().nth(1).context("a line without a cost")?;
        let cost: f64 = cost.parse()?;
        if std::mem::take(&mut place.in_call) {
            let edge = (place.function.clone(), place.callee.clone());
            *self.calls.entry(edge).or_default() += cost;
        } else {
            *self.own.entry(place.function.clone()).or_default() += cost;
        }
        Ok(())
    }

    pub fn total(&self) -> f64 {
        self.own.values().sum()
    }

    /// What calls into any of `callees` cost, made by others of which `from` accepts the name.
    pub fn spent_in(&self, callees: &[&str], from: impl Fn(&str) -> bool) -> f64 {
        let among = |name: &str| callees.iter().any(|asked| is(name, asked));
        let calls = self.calls.iter().filter(|((by, to), _)| among(to) && !among(by) && from(by));
        calls.map(|(_, cost)| cost).sum()
    }

    pub fn less(mut self, other: &Self) -> Self {
        for (name, cost) in &other.own {
            *self.own.entry(name.clone()).or_default() -= cost;
        }
        for (edge, cost) in &other.calls {
            *self.calls.entry(edge.clone()).or_default() -= cost;
        }
        self
    }

    pub fn per(mut self, times: f64) -> Self {
        self.own.values_mut().chain(self.calls.values_mut()).for_each(|cost| *cost /= times);
        self
    }

    /// The functions whose own instructions differ most from another profile's: name, there, here.
    pub fn growth(&self, base: &Self, most: usize) -> Vec<(String, f64, f64)> {
        let there = |name: &str| base.own.get(name).copied().unwrap_or_default();
        let all = self.own.iter().map(|(name, cost)| (plain(name).to_owned(), there(name), *cost));
        let mut all: Vec<_> = all.filter(|(_, before, now)| now - before >= 1.0).collect();
        all.sort_by(|a, b| (b.2 - b.1).total_cmp(&(a.2 - a.1)));
        all.truncate(most);
        all
    }
}

/// Whether a function is the one that is asked for: by its last name, without Rust's hash, or by
/// all of a C name.
fn is(function: &str, asked: &str) -> bool {
    plain(function) == asked || plain(function).ends_with(&format!("::{asked}"))
}

/// Without the mark of a recursion and without the hash that Rust adds.
fn plain(function: &str) -> &str {
    let function = function.split('\'').next().unwrap_or(function);
    match function.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 => name,
        _ => function,
    }
}

impl Place {
    /// A name is written out once, as `(12) name`, and is `(12)` from then on.
    fn resolve(&mut self, text: &str) -> Result<String> {
        let (number, name) = text.split_once(')').context("a function without a number")?;
        if name.is_empty() {
            let known = self.names.get(number);
            return Ok(known.with_context(|| format!("no function {number})"))?.clone());
        }
        self.names.insert(number.into(), name.trim_start().into());
        Ok(name.trim_start().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "events: Ir\n\nfn=(1) main\n0 5\ncfn=(2) pg::read::h0123456789abcdef\n\
        calls=2 0\n0 40\n+3 7\n\nfn=(2)\n0 40\n";

    #[test]
    fn own_costs_and_calls_are_told_apart() -> Result<()> {
        let profile = Profile::parse(TEXT)?;
        assert_eq!(profile.total(), 52.0);
        assert_eq!(profile.spent_in(&["read"], |_| true), 40.0);
        assert_eq!(profile.spent_in(&["read"], |caller| caller != "main"), 0.0);
        let half = profile.clone().less(&Profile::parse("fn=(1) main\n0 2\n")?).per(2.0);
        assert_eq!(half.total(), 25.0);
        assert_eq!(profile.growth(&half, 1), [("pg::read".into(), 20.0, 40.0)]);
        Ok(())
    }

    #[test]
    fn an_empty_profile_is_an_error() {
        assert!(Profile::parse("events: Ir\n").is_err());
    }
}
