//! lease.allowed: who may do what with which names.
//!
//! Read below the executor, for the reasons given in `table`: what was taken away is gone at once,
//! whatever the transaction's snapshot is. What a role may do is kept until roles or the table change.

use super::cell::Backend;
use super::{catalog, identity, role, spi};
use crate::rules::access::{Allowed, Right};
use pgrx::pg_sys;
use std::collections::HashMap;
use std::ptr::{addr_of_mut, null_mut};
use std::rc::Rc;

/// What one role may do.
pub enum Rights {
    Everything,
    Some(Vec<Allowed>),
}

/// How many roles a backend remembers before it starts anew.
const MOST: usize = 64;

/// What roles may do, and the generations that this was read in.
struct Known {
    of: (u64, u64),
    roles: HashMap<u32, Rc<Rights>>,
}

static KNOWN: Backend<Option<Known>> = Backend::new(None);

/// What the current role may do.
pub fn rights() -> Rc<Rights> {
    // SAFETY: makes what others have committed known, also in the middle of a transaction.
    unsafe { pg_sys::AcceptInvalidationMessages() };
    let role = role::current();
    catalog::objects();
    let of = (catalog::generation(), role::generation());
    let known = KNOWN.with(|known| {
        let known = known.as_ref().filter(|known| known.of == of)?;
        known.roles.get(&role).cloned()
    });
    known.unwrap_or_else(|| {
        let rights = Rc::new(read(role));
        keep(of, role, &rights);
        rights
    })
}

fn keep(of: (u64, u64), role: u32, rights: &Rc<Rights>) {
    KNOWN.with(|known| {
        let current = known.take().filter(|known| known.of == of && known.roles.len() < MOST);
        let known = known.insert(current.unwrap_or(Known { of, roles: HashMap::new() }));
        known.roles.insert(role, Rc::clone(rights));
    });
}

fn read(role: u32) -> Rights {
    if role::is_member(role, role::owner()) {
        return Rights::Everything;
    }
    let mut lines = Vec::new();
    if role::is_member(role, pg_sys::ROLE_PG_MONITOR) {
        lines.push(Allowed { pattern: "*".to_owned(), right: Right::List });
    }
    for row in rows() {
        if row.role().is_some_and(|allowed| role::is_member(role, allowed)) {
            lines.extend(row.line());
        }
    }
    Rights::Some(lines)
}

/// A row of lease.allowed.
struct Row {
    home: i64,
    role: u32,
    role_name: String,
    pattern: String,
    right: String,
}

const COLUMNS: usize = 5;

impl Row {
    /// The role that the row means; None if there is no such role.
    fn role(&self) -> Option<u32> {
        if self.home == identity::home() {
            return role::name(self.role).map(|_| self.role);
        }
        role::named(&self.role_name)
    }

    /// None for what no version of ours has written.
    fn line(self) -> Option<Allowed> {
        let right = Right::known(&self.right)?;
        Some(Allowed { pattern: self.pattern, right })
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    // SAFETY: a scan of our own table by OID; each tuple is valid until the next is asked for. If
    // something raises in between, the resource owner lets go of what is held.
    unsafe {
        let table = pg_sys::table_open(catalog::objects().allowed, pg_sys::AccessShareLock as i32);
        let snapshot = addr_of_mut!(pg_sys::SnapshotSelfData);
        let none = pg_sys::InvalidOid;
        let scan = pg_sys::systable_beginscan(table, none, false, snapshot, 0, null_mut());
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            rows.push(row(tuple, (*table).rd_att));
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(table, pg_sys::NoLock as i32);
    }
    rows
}

unsafe fn row(tuple: pg_sys::HeapTuple, description: pg_sys::TupleDesc) -> Row {
    // SAFETY: the table has five columns, none of which is ever null, of these types.
    unsafe {
        if (*description).natts as usize != COLUMNS {
            pgrx::error!("pg_lease: table lease.allowed has other columns than this version's");
        }
        let mut values = [pg_sys::Datum::null(); COLUMNS];
        let mut nulls = [false; COLUMNS];
        pg_sys::heap_deform_tuple(tuple, description, values.as_mut_ptr(), nulls.as_mut_ptr());
        let text = |at: usize| super::call::text(values[at]).to_owned();
        Row {
            home: values[0].value() as i64,
            role: values[1].value() as u32,
            role_name: text(2),
            pattern: text(3),
            right: text(4),
        }
    }
}

/// Puts the rows in order before they are changed: forgets roles that were dropped, notes new names of
/// those that were renamed, and takes what a copy of the database brought along for its own.
const SETTLE: [&str; 4] = [
    "LOCK TABLE lease.allowed IN SHARE ROW EXCLUSIVE MODE",
    "DELETE FROM lease.allowed AS a WHERE a.home OPERATOR(pg_catalog.=) lease.home() \
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_authid AS r \
                       WHERE r.oid OPERATOR(pg_catalog.=) a.role)",
    "UPDATE lease.allowed AS a SET role_name = r.rolname::pg_catalog.text \
     FROM pg_catalog.pg_authid AS r \
     WHERE a.home OPERATOR(pg_catalog.=) lease.home() AND r.oid OPERATOR(pg_catalog.=) a.role \
       AND r.rolname::pg_catalog.text OPERATOR(pg_catalog.<>) a.role_name",
    "WITH brought AS ( \
       DELETE FROM lease.allowed AS a USING pg_catalog.pg_authid AS r \
       WHERE a.home OPERATOR(pg_catalog.<>) lease.home() \
         AND r.rolname::pg_catalog.text OPERATOR(pg_catalog.=) a.role_name \
       RETURNING r.oid AS role, a.role_name, a.pattern, a.\"right\") \
     INSERT INTO lease.allowed (home, role, role_name, pattern, \"right\") \
     SELECT lease.home(), b.role, b.role_name, b.pattern, b.\"right\" FROM brought AS b \
     ON CONFLICT DO NOTHING",
];

fn settle() {
    SETTLE.iter().for_each(|statement| spi::run(statement, &[]));
}

/// Makes every backend read the table again.
fn changed() {
    // SAFETY: sent at the commit; nothing is sent after a rollback.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(catalog::objects().allowed) }
}

/// Allows the role, by its name, these rights on a pattern.
pub fn add(role: &str, pattern: &str, rights: &[Right]) {
    settle();
    spi::run(
        "INSERT INTO lease.allowed (home, role, role_name, pattern, \"right\") \
         SELECT lease.home(), r.oid, r.rolname::pg_catalog.text, $2, given.\"right\" \
         FROM pg_catalog.pg_authid AS r, pg_catalog.unnest($3) AS given(\"right\") \
         WHERE r.rolname::pg_catalog.text OPERATOR(pg_catalog.=) $1 \
         ON CONFLICT DO NOTHING",
        &[role.into(), pattern.into(), names(rights).into()],
    );
    changed();
}

/// Takes them away. False if there was nothing to take.
pub fn remove(role: &str, pattern: &str, rights: &[Right]) -> bool {
    settle();
    let removed = spi::change(
        "DELETE FROM lease.allowed AS a \
         WHERE a.role_name OPERATOR(pg_catalog.=) $1 AND a.pattern OPERATOR(pg_catalog.=) $2 \
           AND a.\"right\" OPERATOR(pg_catalog.=) ANY ($3)",
        &[role.into(), pattern.into(), names(rights).into()],
    );
    changed();
    removed > 0
}

fn names(rights: &[Right]) -> Vec<String> {
    rights.iter().map(|right| right.name().to_owned()).collect()
}
