//! Two nights that were recorded, with most turbines left out.

use anyhow::Result;
use galewatch::log::parse;
use galewatch::night::{Counts, Night};

const UNGUARDED: &str = include_str!("../nights/unguarded.jsonl");
const GUARDED: &str = include_str!("../nights/guarded.jsonl");

pub fn nights() -> Result<[Night; 2]> {
    let turbine = || "AP-0163".to_owned();
    let whole = Counts { before: 957_600, of_turbine: 7_200, ..Counts::default() };
    let lost = Counts { lost: 7_200, ..whole };
    let kept = Counts { doubled: 1_000, on_shard3: 8_200, ..whole };
    Ok([
        Night::new(false, turbine(), parse(UNGUARDED)?, lost),
        Night::new(true, turbine(), parse(GUARDED)?, kept),
    ])
}
