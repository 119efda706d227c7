//! Every benchmark runs, from the first table to the last plot. What it measures is not looked at.

use anyhow::Result;
use bench::scale::Scale;

#[test]
fn every_part_runs_once_tiny() -> Result<()> {
    let report = std::fs::read_to_string(bench::run(&[], Scale::Tiny)?)?;
    assert!(report.contains("Its figures mean nothing"));
    for part in &bench::part::ALL {
        assert!(report.contains(&format!("(`ONLY={}`)", part.name)), "{} is missing", part.name);
    }
    Ok(())
}

#[test]
fn an_unknown_part_is_refused() {
    let refused = bench::run(&["speed"], Scale::Tiny).map_err(|e| e.to_string());
    assert!(refused.is_err_and(|message| message.contains("there is no part \"speed\"")));
}
