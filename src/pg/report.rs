//! The one door to SQLSTATEs: a refusal becomes an error of the server's.

use crate::rules::refusal::{Code, Refusal};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

fn sqlstate(code: Code) -> PgSqlErrorCode {
    use PgSqlErrorCode as S;
    match code {
        Code::NotInState => S::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        Code::Busy => S::ERRCODE_LOCK_NOT_AVAILABLE,
        Code::InvalidValue => S::ERRCODE_INVALID_PARAMETER_VALUE,
        Code::NullValue => S::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        Code::UnknownObject => S::ERRCODE_UNDEFINED_OBJECT,
        Code::DuplicateObject => S::ERRCODE_DUPLICATE_OBJECT,
        Code::UnknownTable => S::ERRCODE_UNDEFINED_TABLE,
        Code::UnknownColumn => S::ERRCODE_UNDEFINED_COLUMN,
        Code::NotAllowed => S::ERRCODE_INSUFFICIENT_PRIVILEGE,
        Code::TriggerProtocol => S::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        Code::WrongObjectType => S::ERRCODE_WRONG_OBJECT_TYPE,
        Code::ReadOnly => S::ERRCODE_READ_ONLY_SQL_TRANSACTION,
        Code::TokensUsedUp => S::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
        Code::NotSupported => S::ERRCODE_FEATURE_NOT_SUPPORTED,
        Code::LimitExceeded => S::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
    }
}

/// Raises the refusal as an ERROR. Rust destructors run before the server takes over.
pub fn raise(refusal: Refusal) -> ! {
    let mut report = ErrorReport::new(sqlstate(refusal.code), refusal.message, "pg_lease");
    if let Some(detail) = refusal.detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = refusal.hint {
        report = report.set_hint(hint);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an error report does not return")
}

/// A WARNING to the client.
pub fn warn(message: String, detail: String) {
    let code = PgSqlErrorCode::ERRCODE_WARNING;
    ErrorReport::new(code, message, "pg_lease").set_detail(detail).report(PgLogLevel::WARNING);
}

/// A line in the server's log.
pub fn log(message: String) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    ErrorReport::new(code, message, "pg_lease").report(PgLogLevel::LOG);
}

/// A message of some level for the server's log, if the log takes that level; never to the client.
pub fn log_at(level: i32, message: String, detail: String) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let level = match level {
        level if level == PgLogLevel::LOG as i32 => PgLogLevel::LOG,
        level => PgLogLevel::from(level),
    };
    let report = ErrorReport::new(code, message, "pg_lease").set_detail(detail);
    super::settings::with_quiet_client(|| report.report(level));
}

/// Why a setting is refused, for the error that SET raises.
pub fn explain_setting(refusal: &Refusal) {
    let copy = |text: &Option<String>| -> *mut std::ffi::c_char {
        let Some(text) = text else {
            return std::ptr::null_mut();
        };
        // SAFETY: pnstrdup copies exactly that many bytes and ends them with a zero byte.
        unsafe { pg_sys::pnstrdup(text.as_ptr().cast(), text.len()) }
    };
    // SAFETY: the server reads these after the check hook returns, and frees them with the memory
    // context that they are in.
    unsafe {
        pg_sys::GUC_check_errdetail_string = copy(&refusal.detail);
        pg_sys::GUC_check_errhint_string = copy(&refusal.hint);
    }
}
