//! What pg_lease costs, measured side by side: `make bench`, explained in docs/performance.md.
//!
//! | module | what it knows |
//! |---|---|
//! | `part`     | the parts, each of which can be run alone |
//! | `bed`      | the private server of a part; refuses debug builds |
//! | `way`      | the variants: from no guard, over what people do today, to pg_lease |
//! | `op`       | what one does with leases, beside the plain statement |
//! | `writers`  | a stream of writers, and one who renews or takes over meanwhile |
//! | `pgbench`  | one cell of a comparison |
//! | `rounds`   | variants side by side, compared within the round |
//! | `callgrind` | counting instructions |
//! | `counters` | what a transaction leaves behind: WAL, dead rows, multixacts; what it reads |
//! | `mixed`    | variants side by side, transaction by transaction |
//! | `estimate` | a median and how sure one can be of it |
//! | `target`   | a number to reach, and the verdict |
//! | `scale`    | a full run, or a tiny one that shows that nothing rots |
//! | `machine`  | what the numbers were measured on |
//! | `report`   | report.md |
//! | `plot`     | its pictures |

pub mod bed;
pub mod callgrind;
pub mod counters;
pub mod estimate;
pub mod machine;
pub mod mixed;
pub mod op;
pub mod part;
pub mod pgbench;
pub mod plot;
pub mod report;
pub mod rounds;
pub mod scale;
pub mod target;
pub mod way;
pub mod writers;

use anyhow::{Result, bail};
use machine::Machine;
use report::Section;
use scale::Scale;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Runs the parts named, or all, and writes the report.
pub fn run(names: &[&str], scale: Scale) -> Result<PathBuf> {
    if let Some(unknown) = names.iter().find(|name| !part::ALL.iter().any(|p| p.name == **name)) {
        let all: Vec<_> = part::ALL.iter().map(|part| part.name).collect();
        bail!("there is no part \"{unknown}\": ONLY is one of {}, or tiny", all.join(", "));
    }
    let machine = Machine::look(Duration::from_millis(scale.pick(1_000, 10)))?;
    let chosen = part::ALL.iter().filter(|p| names.is_empty() || names.contains(&p.name));
    let mut sections: Vec<Section> = Vec::new();
    for part in chosen {
        let began = Instant::now();
        let mut section = (part.run)(scale)?;
        section.took = began.elapsed();
        eprintln!("bench: {} took {} s", part.name, section.took.as_secs());
        sections.push(section);
    }
    report::write(&sections, &machine, scale, &command(names, scale))
}

fn command(names: &[&str], scale: Scale) -> String {
    match (names, scale) {
        (_, Scale::Tiny) => "make bench ONLY=tiny".into(),
        ([], _) => "make bench".into(),
        _ => format!("make bench ONLY={}", names.join(",")),
    }
}
