//! What the system tests share.
//!
//! | module     | what it knows |
//! |------------|---------------|
//! | `shared`   | one server for all tests of a file, a database for each test |
//! | `lease`    | calling the lease functions and reading their answers |
//! | `refusal`  | pinning the SQLSTATE of what must be refused |
//! | `watch`    | waiting for what the server shows of its sessions |
//! | `waiter`   | sessions that wait for a lease |
//! | `program`  | client programs that can be frozen and killed |
//! | `fleet`    | workers of a fleet, as threads |
//! | `history`  | tokens that must all differ |

pub mod fleet;
pub mod history;
pub mod lease;
pub mod program;
pub mod refusal;
pub mod shared;
pub mod waiter;
pub mod watch;
