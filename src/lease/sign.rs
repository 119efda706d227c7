//! Signing tokens for resources on other servers, and the keys to do it with.

use super::{check_writable, key_argument, lease_argument};
use crate::fence::{check, transaction};
use crate::pg::call::Args;
use crate::pg::rows::{self, Which};
use crate::pg::{identity, keys};
use crate::rules::refusal::{self, Result};
use crate::rules::signature;

/// lease_token_sign: for a token that is good now, whose grant nobody can roll back any more.
pub fn token_sign(args: &Args) -> Result<String> {
    let key = lease_argument(args, 0)?;
    let token = args.bigint(1, "token")?;
    if token <= 0 {
        return Err(refusal::bad_token(token));
    }
    if identity::in_recovery() {
        return Err(refusal::standby_check(&key.name));
    }
    rows::lock_for_looking(Which::Lease);
    check::confirm(&key, token, false, false)?;
    if transaction::was_granted_here(&key, token) {
        return Err(refusal::sign_before_commit(&key.name, token));
    }
    match keys::signing(identity::home()) {
        Some(secret) => Ok(signature::sign(&secret, &key.name, token)),
        None => Err(refusal::no_signing_key()),
    }
}

/// lease_key_make.
pub fn key_make(_: &Args) -> Result<String> {
    check_writable("lease_key_make")?;
    let secret = keys::random_secret();
    let public_key = signature::public_half(&secret);
    keys::keep(&secret, &public_key, identity::home());
    Ok(public_key)
}

/// lease_key_use.
pub fn key_use(args: &Args) -> Result<()> {
    let public_key = key_argument(args, 0)?;
    check_writable("lease_key_use")?;
    if keys::keep_only(public_key, identity::home()) {
        return Ok(());
    }
    Err(refusal::not_a_key_of_ours(public_key))
}
