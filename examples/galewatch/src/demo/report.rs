//! What the demo prints.

use anyhow::Result;
use galewatch::event::Doing;
use galewatch::night::Night;
use galewatch::words::{grouped, tell};
use std::path::Path;

const NEXT: &str = include_str!("../../next.sql");

/// One night: its timeline, box 2's error, and what was counted.
pub fn night(night: &Night) {
    let guard = "lease_guard('readings', 'mover', mode => 'newest') on both shards";
    match night.guarded {
        false => println!("\nFIRST NIGHT: nothing guards the shards"),
        true => println!("\nSECOND NIGHT: the same programs; {guard}"),
    }
    println!("{:>8}", "seconds");
    for line in tell(night) {
        println!("{:>8.2}  {}", line.seconds, line.text);
    }
    for (doing, what) in [(Doing::Copying, "batch"), (Doing::TidyingUp, "tidy-up")] {
        if let Some(error) = night.refusal(doing) {
            println!("\n          What box 2 got for its {what}:");
            error.lines().iter().for_each(|line| println!("          {line}"));
        }
    }
    counts(night);
}

fn counts(night: &Night) {
    let counts = night.counts;
    println!("\n          Counted in the databases:");
    println!("          {:>10}  readings before the night", grouped(counts.before));
    println!("          {:>10}  lost", grouped(counts.lost));
    println!("          {:>10}  rows of {} on shard 1", grouped(counts.on_shard1), night.turbine);
    println!("          {:>10}  rows of {} on shard 3", grouped(counts.on_shard3), night.turbine);
    println!("          {:>10}  rows too many, to be cleared up", grouped(counts.doubled));
}

/// Who held the lease in the second night, as its database remembers it.
pub fn handovers(lines: &[String], svg: &Path) {
    println!("\nWHO HELD THE LEASE in the second night: SELECT lease_timeline('mover')\n");
    lines.iter().for_each(|line| println!("{line}"));
    println!("\nThe same as a picture is {}", svg.display());
}

/// Both nights side by side, and what to do next.
pub fn end(nights: &[Night], svg: &Path) {
    println!("\nREADINGS LOST");
    for night in nights {
        let name = if night.guarded { "guarded" } else { "unguarded" };
        println!("{:>10}  {}", name, grouped(night.counts.lost));
    }
    println!("\nThe picture is {}", svg.display());
    println!("\nNEXT: `make server`, then `make psql`, and these ten lines\n\n{}", NEXT.trim_end());
}

/// Whether both nights went as the story goes. Says what did not.
pub fn verdict(nights: &[Night]) -> Result<bool> {
    let gaps =
        nights.iter().flat_map(|night| night.gaps().into_iter().map(move |gap| (night, gap)));
    let mut all_well = true;
    for (night, gap) in gaps {
        let name = if night.guarded { "guarded" } else { "unguarded" };
        eprintln!("demo: the {name} night did not come out: {gap}");
        all_well = false;
    }
    Ok(all_well)
}
