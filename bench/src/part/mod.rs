//! The parts, each of which can be run alone.

mod bloat;
pub mod bulk;
pub mod cost;
pub mod growth;
pub mod guard;
pub mod lease;
pub mod starve;
pub mod wait;

use crate::report::Section;
use crate::scale::Scale;
use anyhow::Result;

/// A part: its name, and what runs it.
pub struct Part {
    pub name: &'static str,
    pub run: fn(Scale) -> Result<Section>,
}

pub const ALL: [Part; 7] = [
    Part { name: "guard", run: guard::run },
    Part { name: "bulk", run: bulk::run },
    Part { name: "cost", run: cost::run },
    Part { name: "lease", run: lease::run },
    Part { name: "starve", run: starve::run },
    Part { name: "wait", run: wait::run },
    Part { name: "growth", run: growth::run },
];
