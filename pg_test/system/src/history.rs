//! Tokens: handed out once each, and rising.

use anyhow::{Result, ensure};
use std::collections::BTreeSet;

/// Fails if a number is there twice.
pub fn all_differ(tokens: &[i64]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let twice = tokens.iter().find(|token| !seen.insert(**token));
    ensure!(twice.is_none(), "token {twice:?} was granted twice");
    Ok(())
}

/// Fails unless every number of `later` is above every number of `earlier`.
pub fn all_above(later: &[i64], earlier: &[i64]) -> Result<()> {
    let (lowest, highest) = (later.iter().min(), earlier.iter().max());
    ensure!(lowest.is_some() && lowest > highest, "{lowest:?} is not above {highest:?}");
    Ok(())
}
