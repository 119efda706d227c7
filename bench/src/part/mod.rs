//! The parts, each of which can be run alone.

pub mod bulk;
pub mod cost;
pub mod guard;

use crate::report::Section;
use crate::scale::Scale;
use anyhow::Result;

/// A part: its name, and what runs it.
pub struct Part {
    pub name: &'static str,
    pub run: fn(Scale) -> Result<Section>,
}

pub const ALL: [Part; 3] = [
    Part { name: "guard", run: guard::run },
    Part { name: "bulk", run: bulk::run },
    Part { name: "cost", run: cost::run },
];
