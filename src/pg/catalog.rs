//! The extension's own objects, looked up by name once per backend and again after any of them
//! changed.

use super::cell::Backend;
use pgrx::pg_sys;
use std::ffi::CStr;

/// Where the extension's tables are.
#[derive(Clone, Copy)]
pub struct Objects {
    pub lease: pg_sys::Oid,
    pub lease_pkey: pg_sys::Oid,
    pub fence: pg_sys::Oid,
    pub fence_pkey: pg_sys::Oid,
    pub trusted_key: pg_sys::Oid,
    pub allowed: pg_sys::Oid,
    pub worker: pg_sys::Oid,
    pub worker_pkey: pg_sys::Oid,
    pub change: pg_sys::Oid,
    pub change_at: pg_sys::Oid,
    pub token: pg_sys::Oid,
    pub seal: pg_sys::Oid,
    pub incarnations: pg_sys::Oid,
    pub answer: pg_sys::Oid,
    pub ownership: pg_sys::Oid,
    pub guard_writes: pg_sys::Oid,
    pub guard_rows: pg_sys::Oid,
    pub guard_row: pg_sys::Oid,
}

static OBJECTS: Backend<Option<Objects>> = Backend::new(None);

/// Rises whenever one of the objects may have changed: what was remembered about them is void.
static GENERATION: Backend<u64> = Backend::new(0);

/// Rises whenever some lease may have changed hands, or one of the objects may have changed.
static OWNERSHIP: Backend<u64> = Backend::new(0);

pub fn generation() -> u64 {
    GENERATION.get()
}

pub fn ownership() -> u64 {
    OWNERSHIP.get()
}

/// Takes in what other sessions have committed to tell, up to now.
pub fn listen() {
    // SAFETY: as at every opening of a relation.
    unsafe { pg_sys::AcceptInvalidationMessages() }
}

/// Tells every session, when this transaction commits and before its locks are let go, that a lease
/// has changed hands. This one need not wait for the news.
pub fn tell_of_ownership() {
    OWNERSHIP.set(OWNERSHIP.get() + 1);
    let ownership = objects().ownership;
    // SAFETY: registers a message about a relation of ours, or raises where there is none.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(ownership) }
}

pub fn objects() -> Objects {
    if let Some(objects) = OBJECTS.get() {
        return objects;
    }
    let objects = look_up();
    OBJECTS.set(Some(objects));
    objects
}

fn look_up() -> Objects {
    // SAFETY: plain catalog look-ups by name; each raises or returns an OID.
    unsafe {
        let row = [pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::TEXTOID, pg_sys::BOOLOID];
        let schema = pg_sys::get_namespace_oid(c"lease".as_ptr(), false);
        Objects {
            lease: relation(c"lease", schema),
            lease_pkey: relation(c"lease_pkey", schema),
            fence: relation(c"fence", schema),
            fence_pkey: relation(c"fence_pkey", schema),
            trusted_key: relation(c"trusted_key", schema),
            allowed: relation(c"allowed", schema),
            worker: relation(c"worker", schema),
            worker_pkey: relation(c"worker_pkey", schema),
            change: relation(c"change", schema),
            change_at: relation(c"change_at", schema),
            token: relation(c"token", schema),
            seal: relation(c"seal", schema),
            incarnations: relation(c"incarnations", schema),
            answer: relation(c"answer", schema),
            ownership: relation(c"ownership", schema),
            guard_writes: function("guard_writes", &[]),
            guard_rows: function("guard_rows", &[]),
            guard_row: function("guard_row", &row),
        }
    }
}

unsafe fn relation(name: &CStr, schema: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: see look_up.
    let oid = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
    if oid == pg_sys::InvalidOid {
        pgrx::error!("pg_lease: relation lease.{} is missing", name.to_string_lossy());
    }
    oid
}

unsafe fn function(name: &str, types: &[pg_sys::Oid]) -> pg_sys::Oid {
    // SAFETY: looks up a list of names and so many types, or raises.
    unsafe {
        let names = names(&["lease", name]);
        pg_sys::LookupFuncName(names, types.len() as i32, types.as_ptr(), false)
    }
}

/// A list of String nodes, in the current memory context.
pub fn names(texts: &[&str]) -> *mut pg_sys::List {
    // SAFETY: makeString allocates; lappend takes a null list as an empty one.
    let append =
        |list, text: &&str| unsafe { pg_sys::lappend(list, pg_sys::makeString(copy(text)).cast()) };
    texts.iter().fold(std::ptr::null_mut(), append)
}

/// A text as the server's, in the current memory context.
pub fn copy(text: &str) -> *mut std::ffi::c_char {
    // SAFETY: copies exactly that many bytes and ends them with a zero byte.
    unsafe { pg_sys::pnstrdup(text.as_ptr().cast(), text.len()) }
}

/// Registers for changes of relations. Called once, when the library is loaded.
pub fn watch() {
    // SAFETY: the callback is a plain function without an argument.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), pg_sys::Datum::null());
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: pg_sys::Datum, relation: pg_sys::Oid) {
    let (ours, ownership) = match OBJECTS.get() {
        None => (false, true),
        Some(o) => (
            relation == pg_sys::InvalidOid
                || [o.lease, o.lease_pkey, o.fence, o.fence_pkey, o.allowed, o.token, o.seal]
                    .contains(&relation)
                || [o.incarnations, o.answer, o.trusted_key].contains(&relation)
                || [o.worker, o.worker_pkey, o.change, o.change_at].contains(&relation),
            relation == o.ownership,
        ),
    };
    if ours {
        OBJECTS.set(None);
        GENERATION.set(GENERATION.get() + 1);
    }
    if ours || ownership {
        OWNERSHIP.set(OWNERSHIP.get() + 1);
    }
}
