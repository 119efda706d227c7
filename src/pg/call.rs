//! How SQL calls us: arguments in, one datum out. A macro makes the C entry points, so that the rest
//! of the code is plain functions from `Args` to `Result`.

use super::cell::Backend;
use super::raw;
use crate::rules::refusal::{self, Result};
use crate::rules::time;
use pgrx::FromDatum;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::ffi::CStr;

/// The arguments of one call.
pub struct Args {
    fcinfo: pg_sys::FunctionCallInfo,
}

impl Args {
    /// # Safety
    /// `fcinfo` must be what the server passed to the function now running.
    pub unsafe fn new(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        Self { fcinfo }
    }

    pub fn fcinfo(&self) -> pg_sys::FunctionCallInfo {
        self.fcinfo
    }

    fn datum(&self, index: usize) -> Option<pg_sys::Datum> {
        // SAFETY: the SQL declarations in sql/ give every function as many arguments as it reads.
        let argument =
            unsafe { (*self.fcinfo).args.as_slice((*self.fcinfo).nargs as usize)[index] };
        (!argument.isnull).then_some(argument.value)
    }

    fn needed(&self, index: usize, name: &str) -> Result<pg_sys::Datum> {
        self.datum(index).ok_or_else(|| refusal::null(name))
    }

    pub fn optional_text(&self, index: usize) -> Option<&str> {
        self.datum(index).map(text)
    }

    pub fn text(&self, index: usize, name: &str) -> Result<&str> {
        Ok(text(self.needed(index, name)?))
    }

    /// The bytes of a text, as the database keeps them.
    pub fn optional_bytes(&self, index: usize) -> Option<&[u8]> {
        self.datum(index).map(bytes)
    }

    pub fn bytes(&self, index: usize, name: &str) -> Result<&[u8]> {
        Ok(bytes(self.needed(index, name)?))
    }

    pub fn optional_bigint(&self, index: usize) -> Option<i64> {
        self.datum(index).map(|datum| datum.value() as i64)
    }

    pub fn bigint(&self, index: usize, name: &str) -> Result<i64> {
        Ok(self.needed(index, name)?.value() as i64)
    }

    pub fn integer(&self, index: usize, name: &str) -> Result<i32> {
        Ok(self.needed(index, name)?.value() as i32)
    }

    /// The bytes of a text in UTF-8, whatever the encoding of the database.
    pub fn utf8(&self, index: usize, name: &str) -> Result<&[u8]> {
        Ok(in_utf8(bytes(self.needed(index, name)?)))
    }

    pub fn boolean(&self, index: usize, name: &str) -> Result<bool> {
        Ok(self.needed(index, name)?.value() & 1 == 1)
    }

    pub fn oid(&self, index: usize, name: &str) -> Result<u32> {
        Ok(self.needed(index, name)?.value() as u32)
    }

    /// What an event trigger passes on.
    pub fn ddl_command(&self, index: usize, name: &str) -> Result<&pg_sys::CollectedCommand> {
        let command: *const pg_sys::CollectedCommand = self.needed(index, name)?.cast_mut_ptr();
        // SAFETY: the SQL declaration says pg_ddl_command, a pointer that nobody but the server makes,
        // good for as long as the event trigger runs.
        Ok(unsafe { &*command })
    }

    pub fn ttl_ms(&self, index: usize) -> Result<i32> {
        self.span_ms(index, "ttl")
    }

    /// A length of time by the rules of ttls.
    pub fn span_ms(&self, index: usize, name: &str) -> Result<i32> {
        let interval = self.interval(index, name)?;
        time::span_ms(name, interval.month, interval.day, interval.time)
    }

    fn interval(&self, index: usize, name: &str) -> Result<&pg_sys::Interval> {
        let datum = self.needed(index, name)?;
        // SAFETY: the SQL declaration says interval, which is passed by reference and never toasted.
        Ok(unsafe { &*datum.cast_mut_ptr::<pg_sys::Interval>() })
    }

    pub fn optional_span_ms(&self, index: usize, name: &str) -> Result<Option<i32>> {
        self.datum(index).map(|_| self.span_ms(index, name)).transpose()
    }

    /// The same, of a span that may be 0.
    pub fn span_or_zero_ms(&self, index: usize, name: &str) -> Result<i32> {
        let interval = self.interval(index, name)?;
        time::span_or_zero_ms(name, interval.month, interval.day, interval.time)
    }

    pub fn texts(&self, index: usize, name: &str) -> Result<Vec<String>> {
        let datum = self.needed(index, name)?;
        // SAFETY: the SQL declaration says text[], and the datum is not null.
        let found = unsafe { Vec::<Option<String>>::from_datum(datum, false) };
        whole(found, name)
    }

    pub fn optional_texts(&self, index: usize, name: &str) -> Result<Option<Vec<String>>> {
        self.datum(index).map(|_| self.texts(index, name)).transpose()
    }

    pub fn bigints(&self, index: usize, name: &str) -> Result<Vec<i64>> {
        let datum = self.needed(index, name)?;
        // SAFETY: the SQL declaration says bigint[], and the datum is not null.
        let found = unsafe { Vec::<Option<i64>>::from_datum(datum, false) };
        whole(found, name)
    }

    /// An array that may have nulls in it, or be null.
    pub fn optional_bigints(&self, index: usize) -> Option<Vec<Option<i64>>> {
        // SAFETY: the SQL declaration says bigint[], and the datum is not null.
        self.datum(index).and_then(|datum| unsafe { Vec::from_datum(datum, false) })
    }
}

/// An array without nulls.
fn whole<T>(found: Option<Vec<Option<T>>>, name: &str) -> Result<Vec<T>> {
    let elements: Option<Vec<T>> = found.unwrap_or_default().into_iter().collect();
    elements.ok_or_else(|| refusal::null(&format!("an element of {name}")))
}

/// The text behind a datum; bytes that are no UTF-8 (in a database of another encoding) read as "",
/// which no rule accepts as a name or an owner.
pub(super) fn text<'a>(datum: pg_sys::Datum) -> &'a str {
    std::str::from_utf8(bytes(datum)).unwrap_or("")
}

/// The bytes of a text or a bytea.
pub(super) fn bytes<'a>(datum: pg_sys::Datum) -> &'a [u8] {
    // SAFETY: the declaration of the argument or column says text or bytea. A copy made by detoasting,
    // like the datum itself, lives until the call's memory context is reset, which is after the call.
    unsafe {
        let kept: *mut pg_sys::varlena = datum.cast_mut_ptr();
        let plain =
            pgrx::varatt_is_4b_u(kept) || pgrx::varatt_is_1b(kept) && !pgrx::varatt_is_1b_e(kept);
        let varlena = if plain { kept } else { pg_sys::pg_detoast_datum_packed(kept) };
        let (data, length) =
            (pgrx::vardata_any(varlena).cast::<u8>(), pgrx::varsize_any_exhdr(varlena));
        std::slice::from_raw_parts(data, length)
    }
}

/// The same text in UTF-8, which is how nearly every database keeps it.
fn in_utf8(text: &[u8]) -> &[u8] {
    static ENCODING: Backend<Option<i32>> = Backend::new(None);
    let kept_in = ENCODING.get().unwrap_or_else(|| {
        // SAFETY: fixed when the backend starts.
        let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
        ENCODING.set(Some(encoding));
        encoding
    });
    if kept_in == pg_sys::pg_enc::PG_UTF8 as i32 {
        return text;
    }
    // SAFETY: the server converts that many bytes, and returns the same ones or a copy that ends with
    // a zero byte and lives as long as the call.
    unsafe {
        let (from, length) = (text.as_ptr().cast(), text.len() as i32);
        let converted = pg_sys::pg_server_to_any(from, length, pg_sys::pg_enc::PG_UTF8 as i32);
        if converted == from.cast_mut() { text } else { CStr::from_ptr(converted).to_bytes() }
    }
}

/// What a function returns to SQL.
pub trait Returns {
    fn datum(self, args: &Args) -> pg_sys::Datum;
}

impl Returns for () {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        pg_sys::Datum::null()
    }
}

impl Returns for String {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        text_datum(&self)
    }
}

impl Returns for bool {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        pg_sys::Datum::from(self)
    }
}

impl Returns for i64 {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        pg_sys::Datum::from(self)
    }
}

impl Returns for i32 {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        pg_sys::Datum::from(self)
    }
}

/// A text returned to SQL.
pub struct Text(pub String);

impl Returns for Text {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        text_datum(&self.0)
    }
}

/// A length of time in microseconds, returned as an interval.
pub struct Interval(pub i64);

impl Returns for Interval {
    fn datum(self, _: &Args) -> pg_sys::Datum {
        interval_datum(self.0)
    }
}

/// A length of time in microseconds as a datum in the current memory context.
pub fn interval_datum(micros: i64) -> pg_sys::Datum {
    // SAFETY: inside the guard nothing needs cleaning up by Rust.
    unsafe { pg_guard_ffi_boundary(|| raw::interval_datum(micros)) }
}

/// Text as a datum in the current memory context.
pub fn text_datum(text: &str) -> pg_sys::Datum {
    // SAFETY: inside the guard nothing needs cleaning up by Rust.
    unsafe { pg_guard_ffi_boundary(|| raw::text_datum(text)) }
}

/// Bytes as a datum in the current memory context.
pub fn bytea_datum(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: inside the guard nothing needs cleaning up by Rust. A bytea is laid out as a text.
    unsafe { pg_guard_ffi_boundary(|| raw::bytes_datum(bytes)) }
}

/// The database's own text, as the server keeps it, for messages.
pub fn owned(text: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: the server passes null or a string that ends with a zero byte.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Makes C entry points of functions `fn(&Args) -> Result<impl Returns>`.
#[macro_export]
macro_rules! sql_functions {
    ($($symbol:ident, $finfo:ident => $function:path;)*) => {$(
        #[doc(hidden)]
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $finfo() -> &'static pgrx::pg_sys::Pg_finfo_record {
            const V1: pgrx::pg_sys::Pg_finfo_record = pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
            &V1
        }

        #[doc(hidden)]
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $symbol(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: the server calls this with the call's own fcinfo; the guard turns unwinding
            // into an error of the server's.
            unsafe {
                pgrx::pg_sys::panic::pgrx_extern_c_guard(|| {
                    let args = $crate::pg::call::Args::new(fcinfo);
                    match $function(&args) {
                        Ok(value) => $crate::pg::call::Returns::datum(value, &args),
                        Err(refusal) => $crate::pg::report::raise(refusal),
                    }
                })
            }
        }
    )*};
}
