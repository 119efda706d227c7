//! Names of leases and owners, and of what else has a name.

use super::refusal::{self, Result};

/// The longest name or owner, in characters.
pub const MOST_CHARACTERS: usize = 200;

/// Accepts what matches `^[A-Za-z0-9._:@/-]{1,200}$` (Better Compute's rule), refuses the rest.
pub fn check_lease(name: &str) -> Result<()> {
    if is_name(name) { Ok(()) } else { Err(refusal::bad_name(name)) }
}

/// Accepts what can begin a lease's name, with room for one more character; also nothing.
pub fn check_prefix(prefix: &str) -> Result<()> {
    let ok = prefix.is_empty() || is_name(prefix) && prefix.len() < MOST_CHARACTERS;
    if ok { Ok(()) } else { Err(refusal::rows::bad_prefix(prefix)) }
}

/// The same rule for what is not a lease: a job, a queue.
pub fn check_name(argument: &str, name: &str) -> Result<()> {
    if is_name(name) { Ok(()) } else { Err(refusal::bad_other_name(argument, name)) }
}

fn is_name(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"._:@/-".contains(&b);
    (1..=MOST_CHARACTERS).contains(&name.len()) && name.bytes().all(legal)
}

/// Accepts 1 to 200 characters without control characters.
pub fn check_owner(owner: &str) -> Result<()> {
    if is_label(owner) { Ok(()) } else { Err(refusal::bad_owner(owner)) }
}

/// The same rule for what is not an owner: a run, a key, a worker.
pub fn check_label(argument: &str, text: &str) -> Result<()> {
    if is_label(text) { Ok(()) } else { Err(refusal::bad_label(argument, text)) }
}

fn is_label(text: &str) -> bool {
    let length = text.chars().take(MOST_CHARACTERS + 1).count();
    (1..=MOST_CHARACTERS).contains(&length) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_to_two_hundred_legal_characters_are_taken() {
        for name in ["a", "shard:0", "gateway:gw_1", "a/b@c-d.e", &"x".repeat(200)] {
            assert_eq!(check_lease(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn all_other_names_are_refused() {
        let long = ["x".repeat(201), "x".repeat(8_000), "x".repeat(1_000_000)];
        let bad = ["", " a", "a ", "a b", "a%", "é", "a\n", "\n", "'; drop table x; --", "a\0"];
        for name in bad.into_iter().chain(long.iter().map(String::as_str)) {
            assert!(check_lease(name).is_err(), "{name:?} was taken");
        }
    }

    #[test]
    fn owners_may_be_any_text_without_control_characters() {
        for owner in ["w", "host é 12 日本", &"é".repeat(200)] {
            assert_eq!(check_owner(owner), Ok(()));
        }
        for owner in ["", "a\tb", "a\u{7f}", "a\u{85}b", &"é".repeat(201)] {
            assert!(check_owner(owner).is_err(), "{owner:?} was taken");
        }
    }
}
