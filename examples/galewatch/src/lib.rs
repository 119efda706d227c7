//! Galewatch's April night: what its two programs, `mover` and `galewatch-demo`, share.
//!
//! | module    | what it knows |
//! |-----------|---------------|
//! | `event`   | what a mover did, or what was done to it |
//! | `log`     | events as lines of JSON, written and read |
//! | `night`   | one night as a whole: who held the lease, who wrote when, what was counted |
//! | `words`   | a night told in lines with times |
//! | `picture` | both nights drawn, one above the other |

pub mod event;
pub mod log;
pub mod night;
pub mod picture;
pub mod words;

/// The name of the lease that the night is about.
pub const LEASE: &str = "mover";
