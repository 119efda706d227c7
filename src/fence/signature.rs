//! Whether a presented token was signed by a key that this database trusts. A signature is verified
//! once a backend, and then remembered until the keys change.

use super::presented::Shown;
use crate::lease::{check_writable, key_argument};
use crate::pg::call::Args;
use crate::pg::cell::Backend;
use crate::pg::key::Key;
use crate::pg::{catalog, keys};
use crate::rules::pattern;
use crate::rules::refusal::{self, Result};
use crate::rules::signature::{self, Signature, Trusted};
use std::collections::HashMap;
use std::rc::Rc;

/// How many good signatures a backend remembers before it starts anew.
const MOST: usize = 1_024;

struct Memory {
    generation: u64,
    trusted: Vec<Trusted>,
    good: HashMap<Signature, (Rc<Key>, i64)>,
}

static MEMORY: Backend<Option<Memory>> = Backend::new(None);

/// The optional argument `signature`.
pub fn argument(args: &Args, index: usize) -> Result<Option<Signature>> {
    args.optional_text(index).map(signature::parse).transpose()
}

/// Whether the token has a good signature. False where it has none; one that is not good is refused.
pub fn prove(key: &Rc<Key>, shown: &Shown) -> Result<bool> {
    let Some(signature) = &shown.signature else {
        return Ok(false);
    };
    refresh()?;
    MEMORY.with(|memory| match memory {
        Some(memory) => memory.verify(key, shown.token, signature),
        None => Err(refusal::not_trusted(&key.name, shown.token, 0)),
    })
}

/// Reads the trusted keys again if they may have changed.
fn refresh() -> Result<()> {
    // whoever knows no objects is not told of changes
    catalog::objects();
    let now = catalog::generation();
    if MEMORY.with(|memory| memory.as_ref().is_some_and(|memory| memory.generation == now)) {
        return Ok(());
    }
    let (generation, trusted) = keys::trusted()?;
    MEMORY.with(|memory| *memory = Some(Memory { generation, trusted, good: HashMap::new() }));
    Ok(())
}

impl Memory {
    fn verify(&mut self, key: &Rc<Key>, token: i64, signature: &Signature) -> Result<bool> {
        let known = self.good.get(signature);
        if known.is_some_and(|(of, signed)| *signed == token && **of == **key) {
            return Ok(true);
        }
        if !self.trusted.iter().any(|one| one.vouches(&key.name, token, signature)) {
            return Err(refusal::not_trusted(&key.name, token, self.trusted.len()));
        }
        if self.good.len() >= MOST {
            self.good.clear();
        }
        self.good.insert(*signature, (Rc::clone(key), token));
        Ok(true)
    }
}

/// lease_key_trust.
pub fn trust(args: &Args) -> Result<()> {
    let public_key = key_argument(args, 0)?;
    let pattern = args.text(1, "pattern")?;
    pattern::check(pattern)?;
    check_writable("lease_key_trust")?;
    keys::trust(public_key, pattern);
    Ok(())
}

/// lease_key_distrust.
pub fn distrust(args: &Args) -> Result<()> {
    let public_key = key_argument(args, 0)?;
    check_writable("lease_key_distrust")?;
    if keys::distrust(public_key) { Ok(()) } else { Err(refusal::not_a_trusted_key(public_key)) }
}
