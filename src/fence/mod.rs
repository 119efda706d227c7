//! The fence: look early, decide at commit.

pub mod attach;
pub mod check;
pub mod commit;
pub mod guard;
pub mod memory;
pub mod newest;
pub mod presented;
pub mod signature;
pub mod transaction;
