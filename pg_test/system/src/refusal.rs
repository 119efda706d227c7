//! Pinning the SQLSTATE of what must be refused.

use anyhow::{Context, Result, ensure};
use postgres::Error;
use postgres::error::DbError;

pub const NOT_IN_STATE: &str = "55000";
pub const LOCK_NOT_AVAILABLE: &str = "55P03";
pub const READ_ONLY: &str = "25006";
pub const NOT_SUPPORTED: &str = "0A000";

/// The error of a call that must be refused under this SQLSTATE.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>, sqlstate: &str) -> Result<DbError> {
    let error = match outcome {
        Ok(answer) => anyhow::bail!("this was to be refused with {sqlstate}: {answer:?}"),
        Err(error) => error,
    };
    let told = error.as_db_error().context("the server gave no reason")?.clone();
    ensure!(told.code().code() == sqlstate, "{sqlstate} was expected, not {told:?}");
    Ok(told)
}

/// The SQLSTATE of an error that the server told.
pub fn sqlstate(error: &Error) -> &str {
    error.code().map_or("none", |state| state.code())
}
