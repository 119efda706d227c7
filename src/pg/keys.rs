//! The keys that tokens are signed with (lease.key) and the public halves that this database trusts
//! (lease.trusted_key).

use super::catalog::{self, objects};
use super::spi;
use crate::rules::refusal::Result;
use crate::rules::signature::{SECRET_BYTES, Trusted};
use pgrx::pg_sys;
use std::ptr::addr_of_mut;

/// A new private half.
pub fn random_secret() -> [u8; SECRET_BYTES] {
    let mut secret = [0u8; SECRET_BYTES];
    // SAFETY: fills exactly that many bytes, or returns false.
    if !unsafe { pg_sys::pg_strong_random(secret.as_mut_ptr().cast(), secret.len()) } {
        pgrx::error!("pg_lease: the server has no random numbers");
    }
    secret
}

/// Keeps a new key, as the youngest whatever the clock says. Those of another home, which came here with a copy, are of no use any more.
pub fn keep(secret: &[u8; SECRET_BYTES], public_key: &str, home: i64) {
    spi::change("DELETE FROM lease.key WHERE home OPERATOR(pg_catalog.<>) $1", &[home.into()]);
    spi::change(
        "INSERT INTO lease.key (made_at, home, public_key, secret) \
         SELECT GREATEST(pg_catalog.clock_timestamp(), \
             pg_catalog.max(made_at) OPERATOR(pg_catalog.+) '1 us'::pg_catalog.interval), $1, $2, $3 \
         FROM lease.key",
        &[home.into(), public_key.into(), (&secret[..]).into()],
    );
}

/// Makes a key the only one. False where it is not there.
pub fn keep_only(public_key: &str, home: i64) -> bool {
    let known = spi::first::<bool>(
        "SELECT true FROM lease.key AS k \
         WHERE k.public_key OPERATOR(pg_catalog.=) $1 AND k.home OPERATOR(pg_catalog.=) $2",
        &[public_key.into(), home.into()],
    );
    if known.is_none() {
        return false;
    }
    spi::change(
        "DELETE FROM lease.key WHERE public_key OPERATOR(pg_catalog.<>) $1",
        &[public_key.into()],
    );
    true
}

/// The private half that signs: of the oldest key. One that was made later waits for lease_key_use.
pub fn signing(home: i64) -> Option<[u8; SECRET_BYTES]> {
    let found = spi::first::<Vec<u8>>(
        "SELECT k.secret FROM lease.key AS k WHERE k.home OPERATOR(pg_catalog.=) $1 \
         ORDER BY k.made_at, k.public_key LIMIT 1",
        &[home.into()],
    );
    found.and_then(|secret| secret.try_into().ok())
}

/// Trusts a public half, for the leases that match the pattern and no others.
pub fn trust(public_key: &str, pattern: &str) {
    spi::change(
        "INSERT INTO lease.trusted_key AS t (since, public_key, pattern) \
         VALUES (pg_catalog.clock_timestamp(), $1, $2) \
         ON CONFLICT ON CONSTRAINT trusted_key_pkey DO UPDATE SET pattern = EXCLUDED.pattern",
        &[public_key.into(), pattern.into()],
    );
    tell_all();
}

/// False where it was not trusted.
pub fn distrust(public_key: &str) -> bool {
    let gone = spi::change(
        "DELETE FROM lease.trusted_key WHERE public_key OPERATOR(pg_catalog.=) $1",
        &[public_key.into()],
    );
    tell_all();
    gone > 0
}

/// Whoever remembers which signatures are good forgets it: this backend now, and again if the
/// transaction is rolled back; the others when it commits.
fn tell_all() {
    // SAFETY: registers an invalidation of a table of ours.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(objects().trusted_key) }
}

/// The public halves that are trusted now, whatever the transaction's snapshot is, and the generation
/// that this was true in.
pub fn trusted() -> Result<(u64, Vec<Trusted>)> {
    let table = objects().trusted_key;
    let generation = catalog::generation();
    let mut rows = Vec::new();
    // SAFETY: a scan of our own table; each tuple is valid until the next is asked for. Columns 2
    // and 3 are texts that are never null.
    unsafe {
        let open = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
        let (none, snapshot) = (pg_sys::InvalidOid, addr_of_mut!(pg_sys::SnapshotSelfData));
        let scan = pg_sys::systable_beginscan(open, none, false, snapshot, 0, std::ptr::null_mut());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let (mut values, mut nulls) = ([pg_sys::Datum::null(); 3], [false; 3]);
            let description = (*open).rd_att;
            pg_sys::heap_deform_tuple(tuple, description, values.as_mut_ptr(), nulls.as_mut_ptr());
            rows.push((
                super::call::text(values[1]).to_owned(),
                super::call::text(values[2]).to_owned(),
            ));
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(open, pg_sys::NoLock as i32);
    }
    let keys = rows.iter().map(|(key, pattern)| Trusted::new(key, pattern));
    Ok((generation, keys.collect::<Result<_>>()?))
}
