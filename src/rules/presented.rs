//! The setting pg_lease.token: which tokens a session or a transaction presents.

use super::name;
use super::refusal::{self, Result};
use super::signature::{self, Signature};

/// The longest setting, in bytes: room for 3,200 leases with names of the greatest length, signed, or
/// for 20,000 with names of 30 characters, unsigned.
pub const MOST_BYTES: usize = 1_000_000;

/// What is presented for one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presented {
    pub lease: String,
    pub token: i64,
    pub signature: Option<Signature>,
}

/// Reads `lease=token,lease=token.signature`. Spaces around names, tokens and commas are ignored, an
/// empty text presents nothing.
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
    let (token, signature) = match token.split_once('.') {
        Some((token, signature)) => (token, Some(parse_signature(lease, signature)?)),
        None => (token, None),
    };
    let digits = !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit());
    match token.parse::<i64>() {
        Ok(token) if digits && token > 0 => {
            Ok(Presented { lease: lease.to_owned(), token, signature })
        }
        _ => Err(refusal::bad_setting(&format!(
            "The token of lease \"{lease}\" is not a whole number from 1 to {}",
            i64::MAX
        ))),
    }
}

fn parse_signature(lease: &str, text: &str) -> Result<Signature> {
    signature::parse(text).map_err(|_| {
        refusal::bad_setting(&format!(
            "What follows the token of lease \"{lease}\" is not a signature of 86 characters"
        ))
    })
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
        Presented { lease: lease.to_owned(), token, signature: None }
    }

    #[test]
    fn a_signature_follows_its_token() {
        let signature = "A".repeat(86);
        let signed = Presented { signature: Some([0; 64]), ..one("a", 1) };
        assert_eq!(parse(&format!("a=1.{signature}, b=2")), Ok(vec![signed, one("b", 2)]));
        for bad in ["a=1.", "a=.", "a=1.x", "a=1..", "a=1 .AA"] {
            assert!(parse(bad).is_err(), "{bad} was taken");
        }
        for bad in
            [format!("a=1.{signature}A"), format!("a=1. {signature}"), format!("a=.{signature}")]
        {
            assert!(parse(&bad).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn there_is_room_for_3200_signed_tokens_of_the_longest_names() {
        let names = (0..3_200).map(|at| format!("{at:0>200}"));
        let parts: Vec<_> =
            names.map(|name| format!("{name}={}.{}", i64::MAX, "A".repeat(86))).collect();
        assert_eq!(parse(&parts.join(",")).map(|found| found.len()), Ok(3_200));
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
        let long = format!("a={}", "1".repeat(1_000_000));
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
