//! The settings pg_lease.*: where they are kept, who may change them, how they are checked.

use super::cell::Backend;
pub use super::ops_settings::{history_keep_us, log_refusals, notify};
use super::report;
use crate::rules::presented;
use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{addr_of, addr_of_mut, null, null_mut};

static mut TOKEN: *mut c_char = null_mut();
static mut TOKEN_SCOPE: i32 = SCOPE_SESSION;
static mut CLOCK_OFFSET_MS: f64 = 0.0;
static mut MAX_CLOCK_SKEW_MS: i32 = 1_000;

const SCOPE_SESSION: i32 = 0;
const SCOPE_TRANSACTION: i32 = 1;

/// While the library is loaded in the middle of a session, the value that the session has set before
/// is taken as it is: the first guard judges it. A WARNING at load would drop it silently.
static LOADING: Backend<bool> = Backend::new(true);

struct Entries([pg_sys::config_enum_entry; 3]);
// SAFETY: the table is constant and holds pointers to constants only.
unsafe impl Sync for Entries {}

static SCOPES: Entries = Entries([
    pg_sys::config_enum_entry { name: c"session".as_ptr(), val: SCOPE_SESSION, hidden: false },
    pg_sys::config_enum_entry {
        name: c"transaction".as_ptr(),
        val: SCOPE_TRANSACTION,
        hidden: false,
    },
    pg_sys::config_enum_entry { name: null(), val: 0, hidden: false },
]);

/// Rises whenever pg_lease.token or pg_lease.token_scope is set, by whatever way.
static PRESENTED: Backend<u64> = Backend::new(0);

pub fn presented() -> u64 {
    PRESENTED.get()
}

/// Lends the text of pg_lease.token, or None where pg_lease.token_scope leaves it out.
/// The closure must not call into the server.
pub fn with_token<R>(f: impl FnOnce(&[u8]) -> R) -> Option<R> {
    // SAFETY: one thread; the server keeps TOKEN null or pointing at the value in force.
    unsafe {
        if TOKEN_SCOPE == SCOPE_TRANSACTION || TOKEN.is_null() {
            return None;
        }
        Some(f(CStr::from_ptr(TOKEN).to_bytes()))
    }
}

pub fn clock_offset_us() -> i64 {
    // SAFETY: one thread.
    unsafe { (CLOCK_OFFSET_MS * 1_000.0) as i64 }
}

pub fn max_clock_skew_us() -> i64 {
    // SAFETY: one thread.
    unsafe { i64::from(MAX_CLOCK_SKEW_MS) * 1_000 }
}

/// Runs `f` with nothing below an ERROR sent to the client.
pub fn with_quiet_client<R>(f: impl FnOnce() -> R) -> R {
    with(addr_of_mut!(pg_sys::client_min_messages), pgrx::PgLogLevel::ERROR as i32, f)
}

/// lock_timeout in milliseconds, 0 for none.
pub fn lock_timeout_ms() -> i32 {
    // SAFETY: one thread.
    unsafe { pg_sys::LockTimeout }
}

/// Runs `f` with another lock_timeout.
pub fn with_lock_timeout<R>(ms: i32, f: impl FnOnce() -> R) -> R {
    with(addr_of_mut!(pg_sys::LockTimeout), ms, f)
}

/// Runs `f` with another value in a variable of the server's, which is put back whatever happens.
fn with<R>(variable: *mut i32, value: i32, f: impl FnOnce() -> R) -> R {
    struct Restore(*mut i32, i32);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: one thread; the variable is a static.
            unsafe { *self.0 = self.1 }
        }
    }
    // SAFETY: as above.
    let _restore = Restore(variable, unsafe { *variable });
    // SAFETY: as above.
    unsafe { *variable = value };
    f()
}

/// Defines the settings. Called once, when the library is loaded.
pub fn define() {
    LOADING.set(true);
    // SAFETY: called from _PG_init; all pointers are to statics.
    unsafe {
        define_token();
        define_scope();
        define_clock();
        super::ops_settings::define();
        pg_sys::MarkGUCPrefixReserved(c"pg_lease".as_ptr());
    }
    LOADING.set(false);
}

unsafe fn define_token() {
    // SAFETY: see define().
    unsafe {
        pg_sys::DefineCustomStringVariable(
            c"pg_lease.token".as_ptr(),
            c"The tokens that this session, or with SET LOCAL this transaction, presents.".as_ptr(),
            c"lease=token, several separated by commas. Empty presents none.".as_ptr(),
            addr_of_mut!(TOKEN),
            c"".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GUC_NOT_IN_SAMPLE as i32,
            Some(check_token),
            Some(token_assigned),
            None,
        );
    }
}

unsafe fn define_scope() {
    // SAFETY: see define().
    unsafe {
        pg_sys::DefineCustomEnumVariable(
            c"pg_lease.token_scope".as_ptr(),
            c"Whether the setting pg_lease.token is honoured.".as_ptr(),
            c"session: it is. transaction: only lease_fence_check presents, for transaction poolers."
                .as_ptr(),
            addr_of_mut!(TOKEN_SCOPE),
            SCOPE_SESSION,
            addr_of!(SCOPES.0).cast(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GUC_NOT_IN_SAMPLE as i32,
            None,
            Some(scope_assigned),
            None,
        );
    }
}

unsafe fn define_clock() {
    const YEARS_1000_MS: f64 = 3.2e13;
    // SAFETY: see define().
    unsafe {
        pg_sys::DefineCustomRealVariable(
            c"pg_lease.clock_offset".as_ptr(),
            c"Added to the server's clock wherever leases are judged: for tests and simulation."
                .as_ptr(),
            null(),
            addr_of_mut!(CLOCK_OFFSET_MS),
            0.0,
            -YEARS_1000_MS,
            YEARS_1000_MS,
            pg_sys::GucContext::PGC_SUSET,
            (pg_sys::GUC_NOT_IN_SAMPLE | pg_sys::GUC_UNIT_MS) as i32,
            None,
            None,
            None,
        );
        pg_sys::DefineCustomIntVariable(
            c"pg_lease.max_clock_skew".as_ptr(),
            c"lease_clock_skew warns of a client whose clock is further off than this.".as_ptr(),
            null(),
            addr_of_mut!(MAX_CLOCK_SKEW_MS),
            1_000,
            0,
            i32::MAX,
            pg_sys::GucContext::PGC_USERSET,
            (pg_sys::GUC_NOT_IN_SAMPLE | pg_sys::GUC_UNIT_MS) as i32,
            None,
            None,
            None,
        );
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn token_assigned(_value: *const c_char, _extra: *mut c_void) {
    PRESENTED.set(PRESENTED.get() + 1);
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn scope_assigned(_value: i32, _extra: *mut c_void) {
    PRESENTED.set(PRESENTED.get() + 1);
}

/// The check of pg_lease.token: SET refuses what the parser refuses.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn check_token(
    value: *mut *mut c_char,
    _extra: *mut *mut c_void,
    _source: pg_sys::GucSource::Type,
) -> bool {
    if LOADING.get() {
        return true;
    }
    // SAFETY: the server passes a pointer to the new value, null or ending with a zero byte.
    let text = unsafe { (*value).as_ref().map(|first| CStr::from_ptr(first)) };
    let problem = match text.map(CStr::to_str) {
        None => return true,
        Some(Ok(text)) => presented::parse(text).err(),
        Some(Err(_)) => Some(crate::rules::refusal::bad_setting("It is not valid UTF-8")),
    };
    match problem {
        None => true,
        Some(refusal) => {
            report::explain_setting(&refusal);
            false
        }
    }
}
