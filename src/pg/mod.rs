//! The PostgreSQL side: the only place with unsafe code. Each file is a door to one thing of the
//! server's, with a safe face: what it returns is owned by Rust, and errors of the server come
//! through as unwinding that pgrx turns back into errors at the outermost function.
#![allow(unsafe_code)]

pub mod allowed;
pub mod answer;
pub mod call;
pub mod catalog;
pub mod cell;
pub mod changes;
pub mod client;
pub mod clock;
pub mod counters;
pub mod ddl;
pub mod evicted;
pub mod fleet_rows;
pub mod identity;
pub mod key;
pub mod keys;
pub mod latch;
pub mod locks;
pub mod members;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod notify;
mod ops_settings;
mod raw;
pub mod report;
pub mod role;
mod row_condition;
pub mod row_triggers;
pub mod rows;
pub mod sequence;
pub mod settings;
pub mod spi;
pub mod subxact;
mod table;
pub mod trigger;
pub mod xact;
