//! Where a transaction is, and a say in whether it commits.

use super::cell::Backend;
use crate::rules::refusal::Result;
use pgrx::pg_sys;
use std::ffi::c_void;

/// Names one subtransaction; the transaction itself is one too.
pub type SubId = u32;

/// What is called at the turns of a transaction.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Before the commit, when only the commit record is missing. An error stops the commit.
    pub before_commit: fn() -> Result<()>,
    /// The same before PREPARE TRANSACTION.
    pub before_prepare: fn() -> Result<()>,
    /// After the commit, when others can see what it did; its locks are still there. No error may
    /// come of it.
    pub committed: fn(),
    /// After commit, abort or prepare.
    pub ended: fn(),
    pub sub_committed: fn(SubId, SubId),
    pub sub_aborted: fn(SubId),
}

static HOOKS: Backend<Option<Hooks>> = Backend::new(None);

/// Registers the hooks. Called once, when the library is loaded.
pub fn register(hooks: Hooks) {
    HOOKS.set(Some(hooks));
    // SAFETY: the callbacks are plain functions without an argument, valid as long as the backend.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_turns), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_turns), std::ptr::null_mut());
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn transaction_turns(
    event: pg_sys::XactEvent::Type,
    _argument: *mut c_void,
) {
    use pg_sys::XactEvent as E;
    let Some(hooks) = HOOKS.get() else { return };
    let verdict = match event {
        E::XACT_EVENT_PRE_COMMIT => (hooks.before_commit)(),
        E::XACT_EVENT_PRE_PREPARE => (hooks.before_prepare)(),
        E::XACT_EVENT_COMMIT => {
            (hooks.committed)();
            (hooks.ended)();
            Ok(())
        }
        E::XACT_EVENT_ABORT | E::XACT_EVENT_PREPARE => {
            (hooks.ended)();
            Ok(())
        }
        _ => Ok(()),
    };
    if let Err(refusal) = verdict {
        super::report::raise(refusal);
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn subtransaction_turns(
    event: pg_sys::SubXactEvent::Type,
    mine: SubId,
    parent: SubId,
    _argument: *mut c_void,
) {
    use pg_sys::SubXactEvent as E;
    let Some(hooks) = HOOKS.get() else { return };
    match event {
        E::SUBXACT_EVENT_COMMIT_SUB => (hooks.sub_committed)(mine, parent),
        E::SUBXACT_EVENT_ABORT_SUB => (hooks.sub_aborted)(mine),
        _ => {}
    }
}

pub fn current() -> SubId {
    // SAFETY: reads the transaction state.
    unsafe { super::raw::GetCurrentSubTransactionId() }
}

/// Whether the transaction has written anything.
pub fn has_written() -> bool {
    // SAFETY: reads the transaction state.
    unsafe { super::raw::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId }
}

/// Makes the commit that is about to happen durable: on disk here, and on the synchronous standby
/// where there is one, whatever the session's synchronous_commit says.
pub fn commit_durably() {
    let remote = pg_sys::SyncCommitLevel::SYNCHRONOUS_COMMIT_REMOTE_FLUSH as i32;
    // SAFETY: called before the commit record is written; the setting ends with the transaction.
    unsafe {
        pg_sys::ForceSyncCommit();
        if pg_sys::synchronous_commit >= remote {
            return;
        }
        pg_sys::set_config_option(
            c"synchronous_commit".as_ptr(),
            c"on".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_LOCAL,
            true,
            0,
            false,
        );
    }
}

/// Sleeps a millisecond, open to cancellation.
pub fn nap() {
    // SAFETY: sleeps, then raises if the session was cancelled or terminated.
    unsafe { pg_sys::pg_usleep(1_000) };
    check_for_interrupts();
}

/// Raises if the session was cancelled or terminated.
pub fn check_for_interrupts() {
    pgrx::check_for_interrupts!();
}
