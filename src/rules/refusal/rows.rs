//! Refusals of row guards.

use super::{Code, Refusal, not_signed, nothing_presented, shown, unraised_in_snapshot};

pub fn without_lease() -> Refusal {
    Refusal::new(Code::NullValue, "a row names no lease")
        .detail("The lease column of a table with a row guard is null in it.")
        .hint("Give the column the name of the row's lease, without the guard's prefix.")
}

pub fn nothing_presented_for(lease: &str) -> Refusal {
    nothing_presented(lease, None)
        .detail("A row names this lease, and its table takes writes under a token of it only.")
}

pub fn unsigned(lease: &str, token: i64) -> Refusal {
    not_signed(lease, token, None)
        .detail("A row names this lease, and its table takes signed tokens of it only.")
}

pub fn unraised(lease: &str, token: i64) -> Refusal {
    unraised_in_snapshot(lease, token)
        .detail("A row that names its lease does not raise the newest token.")
}

pub fn truncated(table: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("table \"{table}\" cannot be truncated"))
        .detail("Each of its rows is under a lease of its own, and TRUNCATE looks at none of them.")
        .hint("Delete the rows under their leases, or call lease_unguard for the table first.")
}

pub fn lease_or_column() -> Refusal {
    Refusal::new(Code::InvalidValue, "a guard has either a lease or a lease_column")
        .detail("All rows are under one lease, or each is under the lease that a column names.")
        .hint("Give one of the two, and a prefix only with lease_column.")
}

pub fn bad_prefix(prefix: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid prefix \"{}\"", shown(prefix)))
        .detail(
            "A prefix begins lease names: up to 199 characters from A-Z, a-z, 0-9 and . _ : @ / -.",
        )
        .hint("Choose for instance 'chain:'.")
}

pub fn unknown_column(table: &str, column: &str) -> Refusal {
    Refusal::new(
        Code::UnknownColumn,
        format!("table \"{table}\" has no column \"{}\"", shown(column)),
    )
    .detail("Column names are taken as they are, without folding to lower case.")
    .hint("Name a column of the table.")
}

pub fn bad_column(table: &str, column: &str, why: &str) -> Refusal {
    Refusal::new(
        Code::WrongObjectType,
        format!("column \"{column}\" of table \"{table}\" cannot name leases"),
    )
    .detail(format!("{why}."))
    .hint("Name a column of type text, varchar, smallint, integer, bigint or uuid.")
}

pub fn other_guard(table: &str, there: &str, asked: &str) -> Refusal {
    Refusal::new(Code::DuplicateObject, format!("table \"{table}\" already has a row guard"))
        .detail(format!("The guard there is {there}; asked for was {asked}."))
        .hint("Call lease_unguard first, in the same transaction.")
}

pub fn disabled(table: &str, state: &str) -> Refusal {
    Refusal::new(Code::DuplicateObject, format!("the row guard of table \"{table}\" is {state}"))
        .detail("It lets writers through.")
        .hint("Call lease_unguard first, in the same transaction.")
}
