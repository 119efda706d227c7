//! The fence: look early, decide at commit.

pub mod attach;
pub mod attach_rows;
pub mod check;
pub mod commit;
pub mod guard;
pub mod memory;
pub mod newest;
mod positions;
pub mod presented;
pub mod row;
pub mod signature;
pub mod transaction;
