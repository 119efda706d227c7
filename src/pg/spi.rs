//! SQL, for what is rare: with the rights of the extension's owner, arguments as parameters.

use super::role::as_owner;
use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, IntoDatum, Spi};

/// Runs a statement.
pub fn run(sql: &str, arguments: &[DatumWithOid]) {
    if let Err(error) = as_owner(|| Spi::run_with_args(sql, arguments)) {
        pgrx::error!("pg_lease: {error}");
    }
}

/// The first column of the first row, as text.
pub fn text(sql: &str, arguments: &[DatumWithOid]) -> Option<String> {
    first(sql, arguments)
}

/// The first column of the first row.
pub fn first<T: FromDatum + IntoDatum>(sql: &str, arguments: &[DatumWithOid]) -> Option<T> {
    as_owner(|| Spi::get_one_with_args::<T>(sql, arguments).ok().flatten())
}

/// Runs a statement that writes, and says how many rows it wrote.
pub fn change(sql: &str, arguments: &[DatumWithOid]) -> usize {
    let run = || Spi::connect_mut(|client| client.update(sql, None, arguments).map(|t| t.len()));
    as_owner(run).unwrap_or(0)
}
