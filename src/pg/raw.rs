//! Server functions called without pgrx's guard, on the paths that every guarded write takes.
//!
//! pgrx wraps each call into the server so that an error unwinds through Rust; that costs some 75
//! instructions a call. Those declared here either cannot raise an error, or are called inside one
//! guard around several of them, with nothing in between that Rust would have to clean up.

use pgrx::pg_sys;

unsafe extern "C-unwind" {
    pub fn GetCurrentSubTransactionId() -> u32;
    fn GetCurrentCommandId(used: bool) -> u32;
    pub fn GetTopTransactionIdIfAny() -> pg_sys::TransactionId;
    pub fn RecoveryInProgress() -> bool;
    pub fn GetOuterUserId() -> pg_sys::Oid;
    pub fn GetUserIdAndSecContext(user: *mut pg_sys::Oid, context: *mut i32);
    pub fn Async_Notify(channel: *const std::ffi::c_char, payload: *const std::ffi::c_char);
    pub fn pg_notification_queue_usage(call: pg_sys::FunctionCallInfo) -> pg_sys::Datum;
    pub fn relation_close(relation: pg_sys::Relation, lockmode: i32);
    fn ReadBuffer(relation: pg_sys::Relation, block: u32) -> pg_sys::Buffer;
    fn ReadRecentBuffer(
        #[cfg(feature = "pg15")] file: pg_sys::RelFileNode,
        #[cfg(not(feature = "pg15"))] file: pg_sys::RelFileLocator,
        fork: i32,
        block: u32,
        recent: pg_sys::Buffer,
    ) -> bool;
    pub fn LockBuffer(buffer: pg_sys::Buffer, mode: i32);
    pub fn ReleaseBuffer(buffer: pg_sys::Buffer);
    pub fn UnlockReleaseBuffer(buffer: pg_sys::Buffer);
    pub fn HeapTupleSatisfiesVisibility(
        tuple: pg_sys::HeapTuple,
        snapshot: pg_sys::Snapshot,
        buffer: pg_sys::Buffer,
    ) -> bool;
    pub fn heap_hot_search_buffer(
        tid: pg_sys::ItemPointer,
        relation: pg_sys::Relation,
        buffer: pg_sys::Buffer,
        snapshot: pg_sys::Snapshot,
        tuple: pg_sys::HeapTuple,
        all_dead: *mut bool,
        first_call: bool,
    ) -> bool;
    pub fn heap_page_prune_opt(relation: pg_sys::Relation, buffer: pg_sys::Buffer);
    fn heap_lock_tuple(
        relation: pg_sys::Relation,
        tuple: pg_sys::HeapTuple,
        command: u32,
        mode: pg_sys::LockTupleMode::Type,
        wait_policy: pg_sys::LockWaitPolicy::Type,
        follow_update: bool,
        buffer: *mut pg_sys::Buffer,
        failure: *mut pg_sys::TM_FailureData,
    ) -> pg_sys::TM_Result::Type;
    pub fn heap_form_tuple(
        description: pg_sys::TupleDesc,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    ) -> pg_sys::HeapTuple;
    fn palloc0(size: usize) -> *mut std::ffi::c_void;
    fn cstring_to_text_with_len(text: *const std::ffi::c_char, length: i32) -> *mut pg_sys::text;
    pub fn heap_freetuple(tuple: pg_sys::HeapTuple);
    pub fn pq_check_connection() -> bool;
    pub fn enable_timeout_after(timeout: i32, delay_ms: i32);
    pub fn disable_timeout(timeout: i32, keep_indicator: bool);
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    fn BackendIdGetProc(backend: i32) -> *mut pg_sys::PGPROC;
    fn heap_update(
        relation: pg_sys::Relation,
        old: pg_sys::ItemPointer,
        new: pg_sys::HeapTuple,
        command: u32,
        crosscheck: pg_sys::Snapshot,
        wait: bool,
        failure: *mut pg_sys::TM_FailureData,
        mode: *mut pg_sys::LockTupleMode::Type,
        #[cfg(not(feature = "pg15"))] update_indexes: *mut pg_sys::TU_UpdateIndexes::Type,
    ) -> pg_sys::TM_Result::Type;
}

/// The server's timer for looks at the client's connection, as utils/timeout.h numbers it.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub const CLIENT_CONNECTION_CHECK_TIMEOUT: i32 = 10;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub const CLIENT_CONNECTION_CHECK_TIMEOUT: i32 = 11;

/// The process that runs this transaction; null if it has ended, or is a prepared one.
pub fn process_of(transaction: pg_sys::VirtualTransactionId) -> *mut pg_sys::PGPROC {
    // SAFETY: looks a number up in shared memory that is there as long as the server.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return unsafe { BackendIdGetProc(transaction.backendId) };
    // SAFETY: the same.
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    return unsafe { pg_sys::ProcNumberGetProc(transaction.procNumber) };
}

/// The newest version, committed or this transaction's own, of the chain that begins at `tid`: put into
/// `tuple` if there is one. Else the last says whether all of them are dead to everybody. The page is
/// pinned, `recent` being where it was last, and locked; both are the caller's to let go.
///
/// # Safety
/// As heap_hot_search_buffer; to be called inside a guard.
#[inline]
pub unsafe fn newest_version(
    relation: pg_sys::Relation,
    (block, recent): (u32, pg_sys::Buffer),
    tid: &mut pg_sys::ItemPointerData,
    tuple: pg_sys::HeapTuple,
) -> (pg_sys::Buffer, bool, bool) {
    // SAFETY: the caller's; the snapshot is static.
    unsafe {
        let buffer = pin(relation, block, recent);
        LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let snapshot = std::ptr::addr_of_mut!(pg_sys::SnapshotSelfData);
        let mut all_dead = false;
        let seen =
            heap_hot_search_buffer(tid, relation, buffer, snapshot, tuple, &mut all_dead, true);
        (buffer, seen, all_dead)
    }
}

/// heap_lock_tuple of the version in `tuple`, and no other. The buffer is pinned, and the caller's to
/// let go.
///
/// # Safety
/// As heap_lock_tuple; to be called inside a guard.
pub unsafe fn lock(
    relation: pg_sys::Relation,
    tuple: pg_sys::HeapTuple,
    mode: pg_sys::LockTupleMode::Type,
    wait: pg_sys::LockWaitPolicy::Type,
) -> (pg_sys::TM_Result::Type, pg_sys::Buffer) {
    // SAFETY: the caller's; the out-parameters are ours.
    unsafe {
        let mut buffer: pg_sys::Buffer = 0;
        let mut failure: pg_sys::TM_FailureData = std::mem::zeroed();
        let command = GetCurrentCommandId(false);
        let result =
            heap_lock_tuple(relation, tuple, command, mode, wait, false, &mut buffer, &mut failure);
        (result, buffer)
    }
}

/// heap_update without a crosscheck snapshot. Unless it is to wait, somebody's lock on the row, also
/// our own, is an answer.
///
/// # Safety
/// As heap_update; to be called inside a guard.
pub unsafe fn update(
    relation: pg_sys::Relation,
    old: pg_sys::ItemPointer,
    new: pg_sys::HeapTuple,
    wait: bool,
) -> pg_sys::TM_Result::Type {
    // SAFETY: the caller's; the out-parameters are ours.
    unsafe {
        let mut failure: pg_sys::TM_FailureData = std::mem::zeroed();
        let mut mode: pg_sys::LockTupleMode::Type = 0;
        let command = GetCurrentCommandId(true);
        let none = std::ptr::null_mut();
        heap_update(
            relation,
            old,
            new,
            command,
            none,
            wait,
            &mut failure,
            &mut mode,
            #[cfg(not(feature = "pg15"))]
            &mut 0,
        )
    }
}

/// Text as a datum in the current memory context.
///
/// # Safety
/// To be called inside a guard.
pub unsafe fn text_datum(text: &str) -> pg_sys::Datum {
    // SAFETY: the caller's.
    unsafe { bytes_datum(text.as_bytes()) }
}

/// A text or a bytea as a datum in the current memory context.
///
/// # Safety
/// To be called inside a guard.
pub unsafe fn bytes_datum(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: copies exactly that many bytes.
    unsafe {
        pg_sys::Datum::from(cstring_to_text_with_len(bytes.as_ptr().cast(), bytes.len() as i32))
    }
}

/// A copy of a varlena as it lies in a tuple, packed or toasted as it is.
///
/// # Safety
/// `value` is a varlena; to be called inside a guard.
pub unsafe fn copy_varlena(value: *const pg_sys::varlena) -> *mut pg_sys::varlena {
    // SAFETY: copies exactly as many bytes as the varlena has.
    unsafe {
        let size = pgrx::varsize_any(value);
        let copy = palloc0(size).cast::<u8>();
        std::ptr::copy_nonoverlapping(value.cast::<u8>(), copy, size);
        copy.cast()
    }
}

/// A length of time as an interval datum.
///
/// # Safety
/// To be called inside a guard.
pub unsafe fn interval_datum(micros: i64) -> pg_sys::Datum {
    // SAFETY: zeroed memory of the right size.
    unsafe {
        let interval = palloc0(size_of::<pg_sys::Interval>()).cast::<pg_sys::Interval>();
        (*interval).time = micros;
        pg_sys::Datum::from(interval)
    }
}

/// Pins a block, which may still be in the buffer where it was seen last (0: not known).
///
/// # Safety
/// The relation is open and has the block; to be called inside a guard.
pub unsafe fn pin(
    relation: pg_sys::Relation,
    block: u32,
    recent: pg_sys::Buffer,
) -> pg_sys::Buffer {
    // SAFETY: the caller's; the server makes sure that the buffer still holds the block.
    unsafe {
        #[cfg(feature = "pg15")]
        let file = (*relation).rd_node;
        #[cfg(not(feature = "pg15"))]
        let file = (*relation).rd_locator;
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        if recent > 0 && ReadRecentBuffer(file, main, block, recent) {
            return recent;
        }
        ReadBuffer(relation, block)
    }
}
