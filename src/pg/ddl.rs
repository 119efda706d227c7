//! Tables as the catalog has them now, and the triggers of a guard.
//!
//! All look-ups use the catalog's own snapshot, never the transaction's: a REPEATABLE READ session
//! that is older than a guard still finds it.

use super::catalog::{copy, names, objects};
use super::trigger::SIGNED;
use crate::rules::refusal::{self, Result};
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::ffi::CStr;
use std::ptr::null_mut;

/// What a guard fires for.
const GUARD_EVENTS: u32 = pg_sys::TRIGGER_TYPE_INSERT
    | pg_sys::TRIGGER_TYPE_UPDATE
    | pg_sys::TRIGGER_TYPE_DELETE
    | pg_sys::TRIGGER_TYPE_TRUNCATE;
const GUARD_TYPE: u32 = pg_sys::TRIGGER_TYPE_BEFORE | GUARD_EVENTS;

/// A guard as it stands on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub trigger: u32,
    pub lease: String,
    pub mode: String,
    /// Takes signed tokens only.
    pub signed: bool,
    pub fires: Fires,
    /// Fires before every statement that writes, without a condition. One made by hand may not.
    pub whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fires {
    /// Also under session_replication_role = replica.
    Always,
    Origin,
    /// Only as a replica, or never.
    Disabled,
}

impl Fires {
    pub(super) fn of(enabled: std::ffi::c_char) -> Self {
        match enabled as u8 {
            b'A' => Self::Always,
            b'O' => Self::Origin,
            _ => Self::Disabled,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::Always => b'A',
            Self::Origin => b'O',
            Self::Disabled => b'D',
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Origin => "origin",
            Self::Disabled => "disabled",
        }
    }
}

/// Locks a table against new members and, with `exclusive`, against everything. The lock stays.
pub fn lock_table(relation: u32, exclusive: bool) {
    let mode = if exclusive { pg_sys::AccessExclusiveLock } else { pg_sys::ShareRowExclusiveLock };
    // SAFETY: locks by OID, whether or not the table is still there.
    unsafe { pg_sys::LockRelationOid(pg_sys::Oid::from(relation), mode as i32) }
}

unsafe extern "C-unwind" {
    // of catalog/pg_inherits.h, which pgrx does not bind
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        lockmode: i32,
        numparents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
}

/// Catalogs that pgrx does not bind.
const PG_INHERITS: u32 = 2611;
const PG_INHERITS_BY_CHILD: u32 = 2680;
const PG_INHERITS_BY_PARENT: u32 = 2187;
const PG_SUBSCRIPTION_REL: u32 = 6102;
const PG_TRIGGER: u32 = 2620;
const PG_TRIGGER_FUNCTION: i16 = 5;
const PG_TRIGGER_ARGUMENTS: i16 = 16;

/// The first columns of pg_inherits.
#[repr(C)]
struct Inherits {
    child: pg_sys::Oid,
    parent: pg_sys::Oid,
}

/// The table and everything below it, parents before children. Each is locked as `lock_table` does
/// before its own children are listed.
pub fn tree(relation: u32, exclusive: bool) -> Vec<u32> {
    let mode = if exclusive { pg_sys::AccessExclusiveLock } else { pg_sys::ShareRowExclusiveLock };
    // SAFETY: returns a list of OIDs in the current memory context.
    unsafe {
        let root = pg_sys::Oid::from(relation);
        let list = pg_guard_ffi_boundary(|| find_all_inheritors(root, mode as i32, null_mut()));
        let length = if list.is_null() { 0 } else { (*list).length };
        (0..length).map(|at| pg_sys::list_nth_oid(list, at).to_u32()).collect()
    }
}

/// The direct parents of a table.
pub fn parents(relation: u32) -> Vec<u32> {
    let mut found = Vec::new();
    // SAFETY: a scan of pg_inherits by child; each tuple is valid until the next is asked for.
    unsafe {
        scan_by_oid(PG_INHERITS, Some(PG_INHERITS_BY_CHILD), 1, relation, |tuple, _| {
            found.push((*struct_of::<Inherits>(tuple)).parent.to_u32());
        });
    }
    found
}

/// The direct children of a table.
pub fn children(relation: u32) -> Vec<u32> {
    let mut found = Vec::new();
    // SAFETY: as in parents, by parent, which is column 2.
    unsafe {
        scan_by_oid(PG_INHERITS, Some(PG_INHERITS_BY_PARENT), 2, relation, |tuple, _| {
            found.push((*struct_of::<Inherits>(tuple)).child.to_u32());
        });
    }
    found
}

/// Everything above a table.
fn ancestors(relation: u32) -> Vec<u32> {
    let mut found = parents(relation);
    let mut at = 0;
    while at < found.len() {
        for parent in parents(found[at]) {
            if !found.contains(&parent) {
                found.push(parent);
            }
        }
        at += 1;
    }
    found
}

/// Whether a subscription writes the table.
fn is_subscribed(relation: u32) -> bool {
    let mut found = false;
    // SAFETY: as in parents; column 2 of pg_subscription_rel is the relation.
    unsafe {
        scan_by_oid(PG_SUBSCRIPTION_REL, None, 2, relation, |_, _| found = true);
    }
    found
}

/// Calls `f` with each row whose column number `column` is `oid`.
pub(super) unsafe fn scan_by_oid(
    catalog: u32,
    index: Option<u32>,
    column: i16,
    oid: u32,
    mut f: impl FnMut(pg_sys::HeapTuple, pg_sys::TupleDesc),
) {
    // SAFETY: the caller names a catalog, an index of it that begins with the column (or none), and
    // a column of type oid. A null snapshot means the catalog's newest.
    unsafe {
        let open = pg_sys::table_open(pg_sys::Oid::from(catalog), pg_sys::AccessShareLock as i32);
        let mut condition: pg_sys::ScanKeyData = std::mem::zeroed();
        pg_sys::ScanKeyInit(
            &mut condition,
            column,
            pg_sys::BTEqualStrategyNumber as u16,
            pg_sys::Oid::from(pg_sys::F_OIDEQ),
            pg_sys::Datum::from(pg_sys::Oid::from(oid)),
        );
        let by_index = index.is_some();
        let index = index.map_or(pg_sys::InvalidOid, pg_sys::Oid::from);
        let scan = pg_sys::systable_beginscan(open, index, by_index, null_mut(), 1, &mut condition);
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            f(tuple, (*open).rd_att);
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(open, pg_sys::AccessShareLock as i32);
    }
}

/// A column of a tuple, which is not null.
unsafe fn column(tuple: pg_sys::HeapTuple, at: i16, columns: pg_sys::TupleDesc) -> pg_sys::Datum {
    // SAFETY: the caller names a column that the catalog has.
    unsafe { pg_sys::nocachegetattr(tuple, i32::from(at), columns) }
}

pub(super) unsafe fn struct_of<T>(tuple: pg_sys::HeapTuple) -> *const T {
    // SAFETY: a catalog's fixed columns lie at t_hoff.
    unsafe { (*tuple).t_data.cast::<u8>().add((*(*tuple).t_data).t_hoff as usize).cast() }
}

/// Opens a relation, runs `f`, and leaves the lock. None where the relation is gone.
fn with_relation<R>(relation: u32, f: impl FnOnce(pg_sys::Relation) -> R) -> Option<R> {
    // SAFETY: opens by OID, or not; if `f` raises, the resource owner closes it.
    unsafe {
        let share = pg_sys::AccessShareLock as i32;
        let open = pg_sys::try_relation_open(pg_sys::Oid::from(relation), share);
        if open.is_null() {
            return None;
        }
        let value = f(open);
        pg_sys::relation_close(open, pg_sys::NoLock as i32);
        Some(value)
    }
}

/// The name of an open relation, for messages.
pub unsafe fn relation_name(open: pg_sys::Relation) -> String {
    // SAFETY: the caller has it open.
    unsafe { CStr::from_ptr((*(*open).rd_rel).relname.data.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}

pub fn name(relation: u32) -> String {
    // SAFETY: returns null or a string in the current memory context.
    let name = unsafe { pg_sys::get_rel_name(pg_sys::Oid::from(relation)) };
    super::call::owned(name).unwrap_or_else(|| relation.to_string())
}

/// Whether the table is there.
pub fn exists(relation: u32) -> bool {
    // SAFETY: looks the table up in the catalog cache, without locking it.
    !unsafe { pg_sys::get_rel_name(pg_sys::Oid::from(relation)) }.is_null()
}

/// Whether the caller owns the table, which exists.
pub fn is_owned_by_caller(relation: u32) -> bool {
    let relation = pg_sys::Oid::from(relation);
    // SAFETY: looks the table up in the catalog cache, without locking it.
    unsafe {
        let caller = pg_sys::GetUserId();
        #[cfg(feature = "pg15")]
        return pg_sys::pg_class_ownercheck(relation, caller);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, caller);
    }
}

/// Whether a command is an ALTER TABLE that only switches triggers or adds constraints. A dump does that
/// after it has created the triggers of a parent, and goes on to create the children's itself.
pub fn adds_no_table(command: &pg_sys::CollectedCommand) -> bool {
    use pg_sys::AlterTableType as A;
    let harmless = |kind: A::Type| {
        (A::AT_EnableTrig..=A::AT_DisableTrigUser).contains(&kind) || kind == A::AT_AddConstraint
    };
    if command.type_ != pg_sys::CollectedCommandType::SCT_AlterTable {
        return false;
    }
    // SAFETY: the type says which member of the union there is; the list holds subcommands, each with
    // the parse tree of one.
    unsafe {
        let list = command.d.alterTable.subcmds;
        let length = if list.is_null() { 0 } else { (*list).length };
        let kind = |at| {
            let sub = pg_sys::list_nth(list, at).cast::<pg_sys::CollectedATSubcmd>();
            let tree = (*sub).parsetree;
            let known = (*tree).type_ == pg_sys::NodeTag::T_AlterTableCmd;
            known.then(|| (*tree.cast::<pg_sys::AlterTableCmd>()).subtype)
        };
        length > 0 && (0..length).all(|at| kind(at).is_some_and(harmless))
    }
}

/// Refuses what a guard could not watch.
pub fn check_guardable(relation: u32) -> Result<()> {
    let own = [objects().lease, objects().fence];
    if own.contains(&pg_sys::Oid::from(relation)) {
        return Err(refusal::not_guardable(&name(relation), "It is one of pg_lease's own"));
    }
    let why = with_relation(relation, |open| {
        // SAFETY: the relation is open.
        unsafe {
            let kind = (*(*open).rd_rel).relkind as u8;
            match kind {
                b'r' | b'p' => has_instead_rule(open).then_some(
                    "It has an INSTEAD rule, which turns writes away before a guard sees them",
                ),
                b'f' => Some(
                    "It is a foreign table, whose far side commits before the guard can refuse",
                ),
                _ => Some("It is not a table"),
            }
        }
    });
    let Some(why) = why else { return Err(refusal::unknown_table(relation)) };
    let why = why.or_else(|| {
        let subscribed =
            is_subscribed(relation) || ancestors(relation).into_iter().any(is_subscribed);
        subscribed
            .then_some("A subscription writes it, and its worker does not fire statement triggers")
    });
    match why {
        None => Ok(()),
        Some(why) => Err(refusal::not_guardable(&name(relation), why)),
    }
}

unsafe fn has_instead_rule(open: pg_sys::Relation) -> bool {
    // SAFETY: the relation is open, and its rules, if any, are loaded with it.
    unsafe {
        let rules = (*open).rd_rules;
        if rules.is_null() {
            return false;
        }
        (0..(*rules).numLocks as usize).any(|at| (**(*rules).rules.add(at)).isInstead)
    }
}

/// The guards that stand on a table.
pub fn guards(relation: u32) -> Vec<Guard> {
    let function = objects().guard_writes;
    with_relation(relation, |open| {
        // SAFETY: the relation is open, and its triggers, if any, are loaded with it.
        unsafe {
            let triggers = (*open).trigdesc;
            if triggers.is_null() {
                return Vec::new();
            }
            let all =
                std::slice::from_raw_parts((*triggers).triggers, (*triggers).numtriggers as usize);
            all.iter()
                .filter(|t| t.tgfoid == function && [2, 3].contains(&t.tgnargs))
                .map(|t| guard(t))
                .collect()
        }
    })
    .unwrap_or_default()
}

unsafe fn guard(trigger: &pg_sys::Trigger) -> Guard {
    // SAFETY: tgargs holds tgnargs strings that end with a zero byte.
    let argument = |at| unsafe { CStr::from_ptr(*trigger.tgargs.add(at)) };
    Guard {
        trigger: trigger.tgoid.to_u32(),
        lease: argument(0).to_string_lossy().into_owned(),
        mode: argument(1).to_string_lossy().into_owned(),
        signed: trigger.tgnargs == 3,
        fires: Fires::of(trigger.tgenabled),
        whole: i32::from(trigger.tgtype) == GUARD_TYPE as i32
            && trigger.tgnattr == 0
            && trigger.tgqual.is_null(),
    }
}

/// The tables that have a guard.
pub fn guarded_tables() -> Vec<u32> {
    let mut found = Vec::new();
    let function = objects().guard_writes.to_u32();
    // SAFETY: as in parents; the fifth column of pg_trigger is the function.
    unsafe {
        scan_by_oid(PG_TRIGGER, None, PG_TRIGGER_FUNCTION, function, |tuple, _| {
            found.push((*struct_of::<pg_sys::FormData_pg_trigger>(tuple)).tgrelid.to_u32());
        });
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether a guard of this lease, on any table, takes signed tokens only. Opens no guarded table, so
/// that nobody who has locked one is waited for.
pub fn wants_signatures(lease: &str) -> bool {
    let mut found = false;
    let function = objects().guard_writes.to_u32();
    let (first, last) = (format!("{lease}\0"), format!("\0{SIGNED}\0"));
    // SAFETY: as in guarded_tables; the arguments are bytes, each ended by a zero byte.
    unsafe {
        scan_by_oid(PG_TRIGGER, None, PG_TRIGGER_FUNCTION, function, |tuple, columns| {
            let arguments = super::call::bytes(column(tuple, PG_TRIGGER_ARGUMENTS, columns));
            found |=
                arguments.starts_with(first.as_bytes()) && arguments.ends_with(last.as_bytes());
        });
    }
    found
}

/// Creates the trigger of a guard: before every statement that writes the table. Nobody but the
/// extension's owner may use its function, so it is created with the owner's rights; the caller has
/// made sure that the table is the user's.
pub fn create_guard(relation: u32, name: &str, arguments: &[&str], fires: Fires) {
    super::role::as_owner(|| {
        let function = Function("guard_writes", objects().guard_writes);
        let (kind, when) = (GUARD_TYPE, (None, null_mut()));
        create_trigger(relation, function, &NewTrigger { name, kind, when, arguments, fires });
    });
}

/// A function of ours in schema lease.
#[derive(Clone, Copy)]
pub(super) struct Function(pub(super) &'static str, pub(super) pg_sys::Oid);

pub(super) struct NewTrigger<'a> {
    pub(super) name: &'a str,
    /// Timing, level and events, as in pg_trigger.
    pub(super) kind: u32,
    /// UPDATE OF this column; a condition, as a raw parse tree.
    pub(super) when: (Option<&'a str>, *mut pg_sys::Node),
    pub(super) arguments: &'a [&'a str],
    pub(super) fires: Fires,
}

pub(super) fn create_trigger(relation: u32, function: Function, new: &NewTrigger) {
    // SAFETY: fills a CREATE TRIGGER node as the parser would, in the current memory context, and
    // hands it to the server's own code, which checks rights and records dependencies.
    unsafe {
        let size = size_of::<pg_sys::CreateTrigStmt>();
        let node = pg_sys::palloc0(size).cast::<pg_sys::CreateTrigStmt>();
        (*node).type_ = pg_sys::NodeTag::T_CreateTrigStmt;
        (*node).trigname = copy(new.name);
        (*node).funcname = names(&["lease", function.0]);
        (*node).args = names(new.arguments);
        (*node).columns = new.when.0.map_or(null_mut(), |column| names(&[column]));
        (*node).whenClause = new.when.1;
        (*node).row = new.kind & pg_sys::TRIGGER_TYPE_ROW != 0;
        (*node).timing = (new.kind & pg_sys::TRIGGER_TYPE_BEFORE) as i16;
        (*node).events = (new.kind & GUARD_EVENTS) as i16;
        let none = pg_sys::InvalidOid;
        pg_sys::CreateTriggerFiringOn(
            node,
            std::ptr::null(),
            pg_sys::Oid::from(relation),
            none,
            none,
            none,
            function.1,
            none,
            null_mut(),
            false,
            false,
            new.fires.code() as std::ffi::c_char,
        );
        pg_sys::CommandCounterIncrement();
    }
}

/// Drops the trigger of a guard.
pub fn drop_guard(guard: &Guard) {
    drop_trigger(guard.trigger);
}

pub(super) fn drop_trigger(trigger: u32) {
    let object = pg_sys::ObjectAddress {
        classId: pg_sys::TriggerRelationId,
        objectId: pg_sys::Oid::from(trigger),
        objectSubId: 0,
    };
    // SAFETY: the trigger exists, as the caller has locked its table and read it since.
    unsafe {
        pg_sys::performDeletion(&object, pg_sys::DropBehavior::DROP_RESTRICT, 0);
        pg_sys::CommandCounterIncrement();
    }
}
