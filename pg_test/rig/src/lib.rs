//! Private PostgreSQL servers for pg_lease's tests, demo and benchmarks.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! let server = rig::Server::start("primary")?;
//! server.create_extension("postgres")?;
//! let mut client = server.connect("postgres")?;
//! client.batch_execute("SELECT 1")?;
//! # Ok(()) }
//! ```
//!
//! | module    | what it knows |
//! |-----------|---------------|
//! | `home`    | where the checkout is, and where its private files lie |
//! | `tree`    | the private copy of the PostgreSQL installation |
//! | `install` | building the extension into that tree |
//! | `server`  | starting, stopping, crashing and promoting servers |
//! | `pooler`  | PgBouncer in front of a server |
//! | `wait`    | waiting for a state, never for a time |
//!
//! The rest is inside work: `user` (who runs a server when we are root), `port`, `process`, and
//! `site` with `interrupted` and `watchdog` (nothing stays behind, whatever way this process ends).

pub mod home;
pub mod install;
mod interrupted;
pub mod pg_config;
pub mod pooler;
pub mod port;
pub mod process;
pub mod server;
pub mod site;
pub mod tree;
pub mod user;
pub mod wait;
mod watchdog;
pub mod wheel;

pub use pooler::Pooler;
pub use server::{Builder, Server};
pub use tree::Tree;
pub use wait::wait_until;
