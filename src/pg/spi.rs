//! SQL, for what is rare: with the rights of the extension's owner, arguments as parameters.

use super::role::as_owner;
use pgrx::Spi;
use pgrx::datum::DatumWithOid;

/// The first column of the first row, as text.
pub fn text(sql: &str, arguments: &[DatumWithOid]) -> Option<String> {
    as_owner(|| Spi::get_one_with_args::<String>(sql, arguments).ok().flatten())
}

/// The first column of the first row, as a bigint, from a statement that writes.
pub fn write(sql: &str) -> i64 {
    as_owner(|| {
        let written = Spi::connect_mut(|client| {
            client.update(sql, None, &[]).map(|table| table.len() as i64)
        });
        match written {
            Ok(rows) => rows,
            Err(error) => pgrx::error!("pg_lease: {error}"),
        }
    })
}
