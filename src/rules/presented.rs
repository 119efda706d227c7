//! The setting pg_lease.token: which tokens a session or a transaction presents.

use super::name;
use super::refusal::{self, Result};

/// The longest setting, in bytes: room for 250 leases with names of the greatest length.
pub const MOST_BYTES: usize = 56_000;

/// One `lease=token`, as a range of the text and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    pub lease: String,
    pub token: i64,
}

/// Reads `lease=token,lease=token`. Spaces around names, tokens and commas are ignored, an empty
/// text presents nothing.
pub fn parse(text: &str) -> Result<Vec<Presented>> {
    if text.len() > MOST_BYTES {
        return Err(refusal::bad_setting(&format!(
            "It has {} bytes; at most {MOST_BYTES} are taken",
            text.len()
        )));
    }
    let mut found = Vec::new();
    if text.trim().is_empty() {
        return Ok(found);
    }
    for part in text.split(',') {
        found.push(parse_one(part)?);
    }
    refuse_twice(&found)?;
    Ok(found)
}

fn parse_one(part: &str) -> Result<Presented> {
    let (lease, token) = part.split_once('=').ok_or_else(|| {
        refusal::bad_setting("A part of it has no lease name before an equals sign")
    })?;
    let (lease, token) = (lease.trim(), token.trim());
    name::check_lease(lease)
        .map_err(|_| refusal::bad_setting("A lease name in it is not valid"))?;
    let digits = !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit());
    match token.parse::<i64>() {
        Ok(token) if digits && token > 0 => Ok(Presented { lease: lease.to_owned(), token }),
        _ => Err(refusal::bad_setting(&format!(
            "The token of lease \"{lease}\" is not a whole number from 1 to {}",
            i64::MAX
        ))),
    }
}

fn refuse_twice(found: &[Presented]) -> Result<()> {
    let mut names: Vec<&str> = found.iter().map(|p| p.lease.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(refusal::bad_setting(&format!("Lease \"{}\" is in it twice", pair[0]))),
        None => Ok(()),
    }
}

#[cfg(test)]
impl From<refusal::Refusal> for proptest::test_runner::TestCaseError {
    fn from(refusal: refusal::Refusal) -> Self {
        Self::fail(refusal.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(lease: &str, token: i64) -> Presented {
        Presented { lease: lease.to_owned(), token }
    }

    #[test]
    fn an_empty_setting_presents_nothing() {
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse("  "), Ok(vec![]));
    }

    #[test]
    fn names_and_tokens_are_read_with_spaces_around() {
        assert_eq!(parse(" a = 1 "), Ok(vec![one("a", 1)]));
        assert_eq!(
            parse("arbitrum=41,site:7=9223372036854775807"),
            Ok(vec![one("arbitrum", 41), one("site:7", i64::MAX)])
        );
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("a={}", "1".repeat(100_000));
        let bad = [
            "41",
            "a=",
            "a=x",
            "a=1,a=2",
            "a=99999999999999999999",
            "a=-1",
            "a=0",
            "a=+1",
            "=1",
            "a=1,",
            ",a=1",
            "a b=1",
            "a=1 2",
            "a=1;b=2",
            "é=1",
            "a==1",
            &long,
        ];
        for text in bad {
            assert!(parse(text).is_err(), "{} was taken", &text[..text.len().min(40)]);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read(tokens in proptest::collection::btree_map(
            "[A-Za-z0-9._:@/-]{1,20}", 1..=i64::MAX, 0..8)) {
            let text: Vec<_> = tokens.iter().map(|(l, t)| format!("{l}={t}")).collect();
            let read = parse(&text.join(","))?;
            let expected: Vec<_> = tokens.iter().map(|(l, t)| one(l, *t)).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
