//! SQL, for what is rare: with the rights of the extension's owner, arguments as parameters.

use super::role::as_owner;
use pgrx::Spi;
use pgrx::datum::DatumWithOid;

/// The first column of the first row, as text.
pub fn text(sql: &str, arguments: &[DatumWithOid]) -> Option<String> {
    as_owner(|| Spi::get_one_with_args::<String>(sql, arguments).ok().flatten())
}
