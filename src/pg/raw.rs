//! Server functions called without pgrx's guard, on the paths that every guarded write takes.
//!
//! pgrx wraps each call into the server so that an error unwinds through Rust; that costs some 75
//! instructions a call. Those declared here either cannot raise an error, or are called inside one
//! guard around several of them, with nothing in between that Rust would have to clean up.

use pgrx::pg_sys;

unsafe extern "C-unwind" {
    pub fn GetCurrentSubTransactionId() -> u32;
    pub fn GetTopTransactionIdIfAny() -> pg_sys::TransactionId;
    pub fn RecoveryInProgress() -> bool;
    pub fn relation_close(relation: pg_sys::Relation, lockmode: i32);
    pub fn ReadBuffer(relation: pg_sys::Relation, block: u32) -> pg_sys::Buffer;
    pub fn LockBuffer(buffer: pg_sys::Buffer, mode: i32);
    pub fn UnlockReleaseBuffer(buffer: pg_sys::Buffer);
    pub fn heap_hot_search_buffer(
        tid: pg_sys::ItemPointer,
        relation: pg_sys::Relation,
        buffer: pg_sys::Buffer,
        snapshot: pg_sys::Snapshot,
        tuple: pg_sys::HeapTuple,
        all_dead: *mut bool,
        first_call: bool,
    ) -> bool;
}
