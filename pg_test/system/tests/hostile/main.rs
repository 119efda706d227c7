//! What somebody does who means harm, or does not look: random arguments, random queries, calls from
//! every place that SQL has, and the same a hundred thousand times over.
//!
//! The functions are read from the catalog, so that a new one is covered from the day on which it
//! is there. `make hostile` runs all of it longer, with `HOSTILE=full`.

mod arguments;
mod bypasses;
mod call;
mod memory;
mod places;
mod plpgsql;
mod sqlsmith;

/// How much to do: little in `make test`, much in `make hostile`.
fn amount(little: u32, much: u32) -> u32 {
    if std::env::var("HOSTILE").is_ok_and(|how| how == "full") { much } else { little }
}
