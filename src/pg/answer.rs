//! lease.answer: the one shape of what lease functions return.

use super::call::{Args, Returns, text_datum};
use super::catalog;
use super::cell::Backend;
use super::raw;
use crate::rules::time::Micros;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;

/// What a call did to a lease, or did not.
#[derive(Clone, Debug)]
pub struct Answer {
    pub name: String,
    pub status: Status,
    /// The holder, if anybody.
    pub owner: Option<String>,
    /// The caller's token, if it has the lease.
    pub token: Option<i64>,
    pub expires_at: Option<Micros>,
    pub now: Micros,
    /// The ttl of a lease that the caller has.
    pub ttl_ms: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Granted,
    Renewed,
    Held,
    Busy,
    Lost,
    Released,
    NotHeld,
    Stalled,
    Quiet,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Renewed => "renewed",
            Self::Held => "held",
            Self::Busy => "busy",
            Self::Lost => "lost",
            Self::Released => "released",
            Self::NotHeld => "not_held",
            Self::Stalled => "stalled",
            Self::Quiet => "quiet",
        }
    }
}

/// Renew after a third of the ttl (Better Compute: 5 s of 15 s), stop when renewing has failed for
/// half of it (its gateways: 10 s of 20 s).
const RENEW_PARTS: i64 = 3;
const STOP_PARTS: i64 = 2;

impl Answer {
    fn values(&self) -> [Option<pg_sys::Datum>; 9] {
        // SAFETY: inside the guard nothing needs cleaning up by Rust.
        unsafe { pg_guard_ffi_boundary(|| self.raw_values()) }
    }

    /// To be called inside a guard.
    unsafe fn raw_values(&self) -> [Option<pg_sys::Datum>; 9] {
        let ttl_us = self.ttl_ms.map(|ms| i64::from(ms) * 1_000);
        // SAFETY: the caller's.
        let (text, interval) = (
            |text: &str| unsafe { raw::text_datum(text) },
            |micros: i64| unsafe { raw::interval_datum(micros) },
        );
        [
            Some(text(&self.name)),
            Some(pg_sys::Datum::from(self.token.is_some())),
            Some(text(self.status.name())),
            self.owner.as_deref().map(text),
            self.token.map(pg_sys::Datum::from),
            self.expires_at.map(pg_sys::Datum::from),
            Some(pg_sys::Datum::from(self.now)),
            ttl_us.map(|us| interval(us / RENEW_PARTS)),
            ttl_us.map(|us| interval(us / STOP_PARTS)),
        ]
    }
}

/// The type's row description, kept for the backend, and the generation it belongs to.
struct Description(u64, pg_sys::TupleDesc);
static DESCRIPTION: Backend<Option<Description>> = Backend::new(None);

fn description() -> pg_sys::TupleDesc {
    let objects = catalog::objects();
    let generation = catalog::generation();
    let known = DESCRIPTION.with(|kept| match kept {
        Some(Description(of, description)) if *of == generation => Some(*description),
        _ => None,
    });
    if let Some(description) = known {
        return description;
    }
    // SAFETY: copies the description of a composite type of ours into memory that lives as long as
    // the backend, and frees the copy that it replaces.
    let description = unsafe {
        let row_type = pg_sys::get_rel_type_id(objects.answer);
        let shared = pg_sys::lookup_rowtype_tupdesc(row_type, -1);
        let context = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let copy = pg_sys::CreateTupleDescCopy(shared);
        pg_sys::MemoryContextSwitchTo(context);
        if (*shared).tdrefcount >= 0 {
            pg_sys::DecrTupleDescRefCount(shared);
        }
        copy
    };
    let old = DESCRIPTION.with(|kept| kept.replace(Description(generation, description)));
    if let Some(Description(_, old)) = old {
        // SAFETY: nobody else has the old copy.
        unsafe { pg_sys::FreeTupleDesc(old) };
    }
    description
}

impl Returns for Answer {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        let (mut values, mut nulls) = split(&self.values());
        // SAFETY: nine values for the nine columns of lease.answer.
        unsafe {
            let tuple =
                pg_sys::heap_form_tuple(description(), values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
        }
    }
}

fn split<const N: usize>(columns: &[Option<pg_sys::Datum>; N]) -> ([pg_sys::Datum; N], [bool; N]) {
    let null = pg_sys::Datum::null();
    (columns.map(|value| value.unwrap_or(null)), columns.map(|value| value.is_none()))
}

/// Rows of a function that returns a set, all at once.
pub(super) fn materialize<const N: usize>(
    args: &Args,
    rows: impl Iterator<Item = [Option<pg_sys::Datum>; N]>,
) -> pg_sys::Datum {
    // SAFETY: the SQL declarations say RETURNS SETOF of N columns; the server raises unless the
    // caller takes a set.
    unsafe {
        pg_sys::InitMaterializedSRF(args.fcinfo(), 0);
        let result = (*args.fcinfo()).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        for row in rows {
            let (mut values, mut nulls) = split(&row);
            pg_sys::tuplestore_putvalues(
                (*result).setResult,
                (*result).setDesc,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
        }
    }
    pg_sys::Datum::null()
}

impl Returns for Vec<Answer> {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        materialize(args, self.iter().map(Answer::values))
    }
}

/// A table, and what became of its guard.
pub struct Guarded {
    pub relation: u32,
    pub guard: &'static str,
}

impl Returns for Vec<Guarded> {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        let row = |g: &Guarded| {
            [Some(pg_sys::Datum::from(pg_sys::Oid::from(g.relation))), Some(text_datum(g.guard))]
        };
        materialize(args, self.iter().map(row))
    }
}
