//! lease_takeover: for operators, and where the last to say hello wins.

use super::{access, check_writable, grant, lease_argument, owner_argument, row_busy, wait_ms};
use crate::pg::answer::Answer;
use crate::pg::call::Args;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::report;
use crate::pg::rows::{self, Locked};
use crate::rules::access::Right;
use crate::rules::change::Manner;
use crate::rules::lease::Terms;
use crate::rules::refusal::Result;

pub fn takeover(args: &Args) -> Result<Answer> {
    let key = lease_argument(args, 0)?;
    let owner = owner_argument(args, 1)?;
    let terms = Terms::only(args.ttl_ms(2)?);
    let reason = args.optional_text(3);
    let manner = Manner::Forced(reason);
    check_writable("lease_takeover")?;
    access::check(&key, Right::Force)?;
    let wait = wait_ms();
    loop {
        if rows::lease(&key).is_none() {
            grant::lock_or_busy(&key, Tag::of_name(Class::Name, key.hash), locks::CHANGE, wait)?;
            if rows::lease(&key).is_none() {
                return grant::grant(&key, None, owner, terms, manner, wait);
            }
        }
        match rows::lock_lease(&key, wait, |_| true) {
            Locked::Missing | Locked::Unwanted(_) => continue,
            Locked::Busy(xid) => return Err(row_busy(&key, xid, wait)),
            Locked::Row(row) => {
                log(&key.name, row.owner.as_deref(), owner, reason);
                return grant::grant(&key, Some(row), owner, terms, manner, wait);
            }
        }
    }
}

/// Who was thrown out, and why, for the server's log.
fn log(lease: &str, from: Option<&str>, to: &str, reason: Option<&str>) {
    let from = from.map_or_else(|| "nobody".to_owned(), |owner| format!("\"{owner}\""));
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    report::log(format!("lease \"{lease}\" is taken over from {from} by \"{to}\"{reason}"));
}
