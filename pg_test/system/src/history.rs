//! Tokens: handed out once each, and rising.

use anyhow::{Result, ensure};
use std::collections::BTreeSet;

/// Fails if a number is there twice.
pub fn all_differ(tokens: &[i64]) -> Result<()> {
    let different: BTreeSet<&i64> = tokens.iter().collect();
    ensure!(different.len() == tokens.len(), "a token was granted twice: {tokens:?}");
    Ok(())
}

/// Fails unless every number of `later` is above every number of `earlier`.
pub fn all_above(later: &[i64], earlier: &[i64]) -> Result<()> {
    let (lowest, highest) = (later.iter().min(), earlier.iter().max());
    ensure!(lowest.is_some() && lowest > highest, "{later:?} is not above {earlier:?}");
    Ok(())
}
