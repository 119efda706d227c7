//! Which token a transaction presents for a lease: what lease_fence_check declared, else the setting.

use super::transaction;
use crate::pg::cell::Backend;
use crate::pg::key::Key;
use crate::pg::settings;
use crate::rules::presented::{self, Presented};
use crate::rules::refusal::{self, Result};
use crate::rules::signature::Signature;

/// A token as it was presented, with its signature if it came with one.
#[derive(Clone, Copy)]
pub struct Shown {
    pub token: i64,
    pub signature: Option<Signature>,
}

/// The setting as it was read last, and what it said.
struct Read {
    text: Vec<u8>,
    tokens: Result<Vec<Presented>>,
}

static READ: Backend<Option<Read>> = Backend::new(None);

/// What is presented for this lease, if anything. A setting that cannot be read is an error.
pub fn shown(key: &Key) -> Result<Option<Shown>> {
    if let Some(shown) = transaction::declared(key) {
        return Ok(Some(shown));
    }
    settings::with_token(|text| READ.with(|read| from_setting(read, text, key))).unwrap_or(Ok(None))
}

fn from_setting(read: &mut Option<Read>, text: &[u8], key: &Key) -> Result<Option<Shown>> {
    if text.is_empty() {
        return Ok(None);
    }
    if read.as_ref().is_none_or(|read| read.text != text) {
        let tokens = match std::str::from_utf8(text) {
            Ok(text) => presented::parse(text),
            Err(_) => Err(refusal::bad_setting("It is not valid UTF-8")),
        };
        *read = Some(Read { text: text.to_vec(), tokens });
    }
    match read.as_ref().map(|read| &read.tokens) {
        Some(Ok(tokens)) => {
            let found = tokens.iter().find(|one| one.lease == key.name);
            Ok(found.map(|one| Shown { token: one.token, signature: one.signature }))
        }
        Some(Err(refusal)) => Err(refusal.clone()),
        None => Ok(None),
    }
}
