//! Whose rights a piece of work runs with.

use super::call::Args;
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

/// Whether the caller of a function of ours may also execute lease_fence_raise, which stands in the
/// same schema.
pub fn may_raise_fences(args: &Args) -> bool {
    // SAFETY: the server fills flinfo for every call; the look-up raises if the function is missing.
    unsafe {
        let called = (*(*args.fcinfo()).flinfo).fn_oid;
        let schema = pg_sys::get_namespace_name(pg_sys::get_func_namespace(called));
        let function = pg_sys::makeString(pg_sys::pstrdup(c"lease_fence_raise".as_ptr()));
        let name = pg_sys::lappend(std::ptr::null_mut(), pg_sys::makeString(schema).cast());
        let name = pg_sys::lappend(name, function.cast());
        let types = [pg_sys::TEXTOID, pg_sys::INT8OID, pg_sys::TEXTOID];
        let raise = pg_sys::LookupFuncName(name, 3, types.as_ptr(), false);
        may_execute(raise)
    }
}

unsafe fn may_execute(function: pg_sys::Oid) -> bool {
    let execute = pg_sys::AclMode::from(pg_sys::ACL_EXECUTE);
    // SAFETY: looks up rights in the catalog cache.
    unsafe {
        let caller = pg_sys::GetUserId();
        #[cfg(feature = "pg15")]
        let result = pg_sys::pg_proc_aclcheck(function, caller, execute);
        #[cfg(not(feature = "pg15"))]
        let result =
            pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, caller, execute);
        result == pg_sys::AclResult::ACLCHECK_OK
    }
}
