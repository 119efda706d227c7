//! What a failed statement means.

use postgres::Error;
use postgres::error::SqlState;

/// Whether nobody answered: no connection, or a server that is going down or coming up.
pub fn unreachable(error: &Error) -> bool {
    let Some(code) = error.code() else { return true };
    let going =
        [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN, &SqlState::CANNOT_CONNECT_NOW];
    going.contains(&code)
}
