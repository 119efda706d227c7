//! Who calls, and whose rights a piece of work runs with.

use super::call::{Args, owned};
use super::cell::Backend;
use super::{catalog, raw};
use pgrx::pg_sys;

/// Rises whenever roles, their memberships or a database's owner may have changed.
static GENERATION: Backend<u64> = Backend::new(0);

/// A caller, and the role that it was last found to act for.
static ACTS_FOR: Backend<(u32, u32)> = Backend::new((0, 0));

pub fn generation() -> u64 {
    GENERATION.get()
}

/// The role that the session works as: what SET ROLE says, whichever SECURITY DEFINER functions and
/// cascades it has come through. Where a table's maintenance runs code of the table's owner for
/// somebody else, it is the table's owner.
pub fn caller() -> u32 {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: reads the backend's state.
    unsafe {
        raw::GetUserIdAndSecContext(&mut user, &mut context);
        if context & pg_sys::SECURITY_RESTRICTED_OPERATION as i32 == 0 {
            user = raw::GetOuterUserId();
        }
    }
    user.to_u32()
}

/// The role whose rights count: inside a SECURITY DEFINER function, its owner.
pub fn current() -> u32 {
    // SAFETY: reads the backend's state.
    unsafe { pg_sys::GetUserId() }.to_u32()
}

/// Whether the caller may renew, release and present what this role has taken: as that role, as a
/// member of it, or as the extension's owner.
pub fn acts_for(taker: u32) -> bool {
    let caller = caller();
    ACTS_FOR.get() == (caller, taker) || looks_up_acts_for(caller, taker)
}

fn looks_up_acts_for(caller: u32, taker: u32) -> bool {
    let found = is_member(caller, taker) || is_member(caller, owner());
    if found {
        ACTS_FOR.set((caller, taker));
    }
    found
}

/// Whether `member` has the rights of `role`; a superuser has everybody's, also those of a role that
/// has been dropped.
pub fn is_member(member: u32, role: u32) -> bool {
    // SAFETY: looks up memberships in the catalog cache.
    unsafe { pg_sys::has_privs_of_role(pg_sys::Oid::from(member), pg_sys::Oid::from(role)) }
}

/// The owner of the extension's tables.
pub fn owner() -> u32 {
    super::rows::owner_of(catalog::objects().lease).to_u32()
}

/// None if there is no such role.
pub fn name(role: u32) -> Option<String> {
    // SAFETY: looks up a name in the catalog cache.
    owned(unsafe { pg_sys::GetUserNameFromId(pg_sys::Oid::from(role), true) })
}

/// None if there is no such role.
pub fn named(name: &str) -> Option<u32> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: looks up a role in the catalog cache.
    let role = unsafe { pg_sys::get_role_oid(name.as_ptr(), true) };
    (role != pg_sys::InvalidOid).then(|| role.to_u32())
}

/// Registers for changes of roles and memberships. Called once, when the library is loaded.
pub fn watch() {
    use pg_sys::SysCacheIdentifier as S;
    for cache in [S::AUTHOID, S::AUTHMEMROLEMEM, S::DATABASEOID] {
        // SAFETY: the callback is a plain function without an argument.
        unsafe {
            pg_sys::CacheRegisterSyscacheCallback(
                cache as i32,
                Some(roles_changed),
                pg_sys::Datum::null(),
            );
        }
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn roles_changed(_argument: pg_sys::Datum, _cache: i32, _hash: u32) {
    ACTS_FOR.set((0, 0));
    GENERATION.set(GENERATION.get() + 1);
}

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
    is_member(current(), owner())
}

/// Whether the caller of a function of ours may also execute lease_fence_raise, which stands in the
/// same schema. An inner function of ours, which does not, raises nothing.
pub fn may_raise_fences(args: &Args) -> bool {
    // SAFETY: the server fills flinfo for every call; the look-up finds an OID, or none.
    unsafe {
        let called = (*(*args.fcinfo()).flinfo).fn_oid;
        let schema = pg_sys::get_namespace_name(pg_sys::get_func_namespace(called));
        let function = pg_sys::makeString(pg_sys::pstrdup(c"lease_fence_raise".as_ptr()));
        let name = pg_sys::lappend(std::ptr::null_mut(), pg_sys::makeString(schema).cast());
        let name = pg_sys::lappend(name, function.cast());
        let types = [pg_sys::TEXTOID, pg_sys::INT8OID, pg_sys::TEXTOID];
        let raise = pg_sys::LookupFuncName(name, 3, types.as_ptr(), true);
        raise != pg_sys::InvalidOid && may_execute(raise)
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
