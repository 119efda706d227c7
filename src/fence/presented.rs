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

/// The setting as it was read last, and what it said, in the order of the leases' names.
struct Read {
    /// `settings::presented` at the time.
    version: u64,
    text: Vec<u8>,
    tokens: Result<Vec<Presented>>,
}

static READ: Backend<Option<Read>> = Backend::new(None);

/// How many tokens are kept from one transaction to the next.
const ROOM: usize = 128;

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
    let version = settings::presented();
    match read {
        Some(read) if read.version == version => {}
        Some(read) if read.text == text => read.version = version,
        _ => *read = Some(Read { version, text: text.to_vec(), tokens: sorted(text) }),
    }
    match read.as_ref().map(|read| &read.tokens) {
        Some(Ok(tokens)) => {
            let place = tokens.binary_search_by(|one| one.lease.as_str().cmp(&key.name));
            let found = place.ok().and_then(|at| tokens.get(at));
            Ok(found.map(|one| Shown { token: one.token, signature: one.signature }))
        }
        Some(Err(refusal)) => Err(refusal.clone()),
        None => Ok(None),
    }
}

fn sorted(text: &[u8]) -> Result<Vec<Presented>> {
    let text =
        std::str::from_utf8(text).map_err(|_| refusal::bad_setting("It is not valid UTF-8"))?;
    let mut tokens = presented::parse(text)?;
    tokens.sort_unstable_by(|one, other| one.lease.cmp(&other.lease));
    Ok(tokens)
}

/// At the end of a transaction: lets go of what was much.
pub fn forget_many() {
    READ.with(|read| {
        let much = |read: &Read| read.tokens.as_ref().is_ok_and(|tokens| tokens.len() > ROOM);
        if read.as_ref().is_some_and(much) {
            *read = None;
        }
    });
}
