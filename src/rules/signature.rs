//! Signatures of tokens: Ed25519, over the lease and the token. The database that grants holds the
//! private half of a key; a resource elsewhere holds the public half and can check, not sign.

use super::pattern;
use super::refusal::{self, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ed25519_dalek::{Signature as Ed25519, Signer, SigningKey, VerifyingKey};

/// The private half of a key, and the bytes that it is made from.
pub const SECRET_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;

/// A signature as it was presented, good or not.
pub type Signature = [u8; SIGNATURE_BYTES];

/// What is signed. The key stands for the database that granted; a name has no `=`, so no other
/// lease and token read the same.
fn message(lease: &str, token: i64) -> Vec<u8> {
    format!("pg_lease token 1:{lease}={token}").into_bytes()
}

/// The public half, as text.
pub fn public_half(secret: &[u8; SECRET_BYTES]) -> String {
    BASE64.encode(SigningKey::from_bytes(secret).verifying_key().as_bytes())
}

/// The signature of a token, as text.
pub fn sign(secret: &[u8; SECRET_BYTES], lease: &str, token: i64) -> String {
    BASE64.encode(SigningKey::from_bytes(secret).sign(&message(lease, token)).to_bytes())
}

/// Reads a signature: 86 characters of base64url.
pub fn parse(text: &str) -> Result<Signature> {
    bytes(text).ok_or_else(refusal::bad_signature)
}

/// Bytes of exactly this number, from base64url without padding.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let longest = N.div_ceil(3) * 4;
    (text.len() <= longest).then(|| BASE64.decode(text).ok()?.try_into().ok())?
}

/// A public half that this database trusts, and the leases that it may speak for.
#[derive(Clone, Debug)]
pub struct Trusted {
    key: VerifyingKey,
    pattern: String,
}

impl Trusted {
    /// Refuses what is no public half of a key, and halves that sign for anybody.
    pub fn new(public_key: &str, pattern: &str) -> Result<Self> {
        let key = bytes(public_key).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        match key.filter(|key| !key.is_weak()) {
            Some(key) => Ok(Self { key, pattern: pattern.to_owned() }),
            None => Err(refusal::bad_public_key(public_key)),
        }
    }

    /// Whether this key has signed the token, and may.
    pub fn vouches(&self, lease: &str, token: i64, signature: &Signature) -> bool {
        pattern::matches(&self.pattern, lease)
            && self
                .key
                .verify_strict(&message(lease, token), &Ed25519::from_bytes(signature))
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: [u8; SECRET_BYTES] = [7; SECRET_BYTES];

    fn trusted(pattern: &str) -> Trusted {
        Trusted::new(&public_half(&SECRET), pattern).unwrap_or_else(|e| unreachable!("{e:?}"))
    }

    fn signed(lease: &str, token: i64) -> Signature {
        parse(&sign(&SECRET, lease, token)).unwrap_or_else(|e| unreachable!("{e:?}"))
    }

    /// The first vector of RFC 8032, section 7.1: its secret makes this public half.
    #[test]
    fn the_keys_are_those_of_rfc_8032() {
        let secret = bytes("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
        let public = secret.map(|secret| public_half(&secret));
        assert_eq!(public.as_deref(), Some("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"));
    }

    #[test]
    fn a_signature_is_of_one_lease_one_token_and_one_key() {
        let signature = signed("mover", 17);
        assert!(trusted("*").vouches("mover", 17, &signature));
        assert!(!trusted("*").vouches("mover", 18, &signature));
        assert!(!trusted("*").vouches("mover2", 17, &signature));
        assert!(!trusted("*").vouches("move", 17, &signature));
        let other = Trusted::new(&public_half(&[8; SECRET_BYTES]), "*");
        assert!(!other.is_ok_and(|other| other.vouches("mover", 17, &signature)));
    }

    #[test]
    fn a_key_speaks_for_the_leases_it_is_trusted_for() {
        for (pattern, good) in [("*", true), ("mov*", true), ("mover", true), ("move", false)] {
            let vouches = trusted(pattern).vouches("mover", 17, &signed("mover", 17));
            assert_eq!(vouches, good, "{pattern}");
        }
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        // the neutral point: with it, one signature holds for every message
        let weak = BASE64.encode([&[1u8][..], &[0; 31]].concat());
        let public = public_half(&SECRET);
        let padded = format!("{public}=");
        for bad in ["", "x", &public[1..], &padded, &weak, &"A".repeat(1_000_000)] {
            assert!(Trusted::new(bad, "*").is_err(), "{}", &bad[..bad.len().min(50)]);
        }
    }

    #[test]
    fn what_is_no_signature_is_refused() {
        let good = sign(&SECRET, "mover", 17);
        assert_eq!(good.len(), 86);
        let padded = format!("{good}==");
        for bad in ["", "x", &good[1..], &padded, &good.replace(&good[..1], "+")] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_bit_is_seen(bit in 0usize..512, token in 1..=i64::MAX) {
            let mut signature = signed("mover", token);
            prop_assert!(trusted("*").vouches("mover", token, &signature));
            signature[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!trusted("*").vouches("mover", token, &signature));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = (parse(&text), Trusted::new(&text, "*"));
        }
    }
}
