//! lease_evict: ends the sessions that still work under an old token. Who they are is told by
//! lease.fenced, and ended they are by lease.evict (sql/evict.sql); what is asked of a lock's tag,
//! and of the caller, is here.

use crate::lease::{access, lease_argument};
use crate::pg::call::Args;
use crate::pg::evicted::{self, Evicted};
use crate::pg::locks::{Class, Tag};
use crate::pg::{identity, report, rows};
use crate::rules::access::Right;
use crate::rules::hash::fnv64;
use crate::rules::refusal::Result;

/// lease.lock_tag: what pg_locks shows as classid.
pub fn lock_tag(args: &Args) -> Result<i64> {
    let name = args.text(0, "name")?;
    Ok(Tag::of(Class::Fence, fnv64(name.as_bytes()), 0).high.into())
}

/// lease.is_stale: whether a token, of which a lock's tag has the low half, is not the good one.
pub fn is_stale(args: &Args) -> Result<bool> {
    let key = lease_argument(args, 0)?;
    let (newest, low) = (args.boolean(1, "newest")?, args.bigint(2, "low")?);
    let good = if newest {
        Some(rows::newest_token(&key))
    } else {
        let home = identity::home();
        let row = rows::lease(&key).filter(|row| row.owner.is_some() && row.home == home);
        row.map(|row| row.token)
    };
    Ok(good.is_none_or(|token| i64::from(token as u32) != low))
}

/// lease_evict.
pub fn evict(args: &Args) -> Result<Vec<Evicted>> {
    let key = lease_argument(args, 0)?;
    access::check(&key, Right::Evict)?;
    let evicted = evicted::evict(&key.name);
    for one in evicted.iter().filter(|one| one.ended) {
        report::log(told(&key.name, one));
    }
    Ok(evicted)
}

/// Who was thrown out, for the server's log.
fn told(lease: &str, one: &Evicted) -> String {
    let text = |of: &Option<String>| of.clone().unwrap_or_default();
    format!(
        "lease \"{lease}\": ended process {} (role \"{}\", application \"{}\"), which was under token {}",
        one.pid.unwrap_or_default(),
        text(&one.role),
        text(&one.application),
        one.token.map_or_else(|| "unknown".to_owned(), |token| token.to_string()),
    )
}
