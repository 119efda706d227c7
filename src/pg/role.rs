//! Whose rights a piece of work runs with.

use super::catalog;
use pgrx::pg_sys;

/// Runs `f` with the rights of the extension's owner. The caller has been let in by EXECUTE on the
/// function; the tables are the owner's.
pub fn as_owner<R>(f: impl FnOnce() -> R) -> R {
    struct Back(pg_sys::Oid, i32);
    impl Drop for Back {
        fn drop(&mut self) {
            // SAFETY: puts back what GetUserIdAndSecContext returned.
            unsafe { pg_sys::SetUserIdAndSecContext(self.0, self.1) }
        }
    }
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    let owner = super::rows::owner_of(catalog::objects().lease);
    // SAFETY: plain calls; `_back` undoes the change however `f` ends.
    let _back = unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let back = Back(user, context);
        let inside = context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
        pg_sys::SetUserIdAndSecContext(owner, inside);
        back
    };
    f()
}

/// Whether the caller has the rights of the extension's owner.
pub fn is_extension_owner() -> bool {
    let owner = super::rows::owner_of(catalog::objects().lease);
    // SAFETY: plain calls.
    unsafe { pg_sys::has_privs_of_role(pg_sys::GetUserId(), owner) }
}
