//! One server for all tests of a file, and a database of its own for each test.

use anyhow::Result;
use postgres::Client;
use rig::Server;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A server that the first test to ask for it starts. The rig's watchdog ends it with the process.
pub struct Shared {
    server: OnceLock<Server>,
    starting: Mutex<()>,
}

impl Shared {
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { server: OnceLock::new(), starting: Mutex::new(()) }
    }

    pub fn server(&self) -> Result<&Server> {
        let _one_at_a_time = locked(&self.starting);
        if let Some(server) = self.server.get() {
            return Ok(server);
        }
        let server = Server::start("shared")?;
        Ok(self.server.get_or_init(|| server))
    }

    /// The server, and a new database on it with the extension.
    pub fn database(&self, name: &str) -> Result<(&Server, Client)> {
        let server = self.server()?;
        Ok((server, database(server, name)?))
    }
}

/// A new database with the extension, and a connection to it.
pub fn database(server: &Server, name: &str) -> Result<Client> {
    server.create_database(name)?;
    server.create_extension(name)?;
    server.connect(name)
}

/// For tests that measure time or disturb the whole server: one of them at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    locked(&ALONE)
}

fn locked(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
