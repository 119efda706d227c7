//! The triggers of a row guard, as the catalog has them now.
//!
//! Each table of the tree has one BEFORE STATEMENT trigger on TRUNCATE, which it refuses. It is also
//! one on UPDATE OF the lease column: for an UPDATE it does nothing, but so the server keeps track of
//! the column, and the trigger's arguments say the rest of the rule. A table that stores rows has two
//! AFTER ROW triggers more, whose conditions judge the new rows and the old ones.

use super::call::{Args, Returns, text_datum};
use super::catalog::objects;
use super::ddl::{self, Fires, Function, NewTrigger, scan_by_oid};
use super::row_condition::{self, Condition};
use super::trigger::SIGNED;
use crate::rules::refusal::Result;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

/// Which lease a row is under, and how that is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRule {
    pub column: String,
    pub prefix: String,
    pub mode: String,
    pub signed: bool,
}

/// A row guard as it stands on a table.
#[derive(Clone, Debug)]
pub struct RowGuard {
    pub relation: u32,
    /// None where that trigger is missing, or there are several.
    pub rule: Option<RowRule>,
    /// All its triggers are there, and judge by the same rule.
    pub whole: bool,
    /// The weakest of them.
    pub fires: Fires,
    /// All of them, the one with the rule first.
    pub triggers: Vec<(u32, String)>,
}

const PG_TRIGGER: u32 = 2620;
const PG_TRIGGER_BY_TABLE: u32 = 2701;
const TABLE: i16 = 2;
const FUNCTION: i16 = 5;
/// tgargs and tgqual, counted from 0; all columns.
const ARGUMENTS: usize = 15;
const CONDITION: usize = 16;
const COLUMNS: usize = 19;

pub const RULE_NAME: &str = "pg_lease_rows";
pub const NEW_NAME: &str = "pg_lease_rows_new";
pub const OLD_NAME: &str = "pg_lease_rows_old";

const RULE_TYPE: u32 =
    pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_UPDATE | pg_sys::TRIGGER_TYPE_TRUNCATE;
const NEW_TYPE: u32 =
    pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_INSERT | pg_sys::TRIGGER_TYPE_UPDATE;
const OLD_TYPE: u32 =
    pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_UPDATE | pg_sys::TRIGGER_TYPE_DELETE;

/// One trigger of them.
struct Part {
    trigger: u32,
    relation: u32,
    name: String,
    kind: u32,
    fires: Fires,
    /// UPDATE OF these.
    columns: Vec<i16>,
    arguments: Vec<String>,
    condition: Option<String>,
}

/// The row guard of a table, if it has any part of one.
pub fn of(relation: u32) -> Option<RowGuard> {
    assemble(relation, parts(Some(PG_TRIGGER_BY_TABLE), TABLE, relation))
}

/// All row guards.
pub fn all() -> Vec<RowGuard> {
    let mut parts = parts(None, FUNCTION, objects().guard_rows.to_u32());
    parts.sort_by_key(|part| part.relation);
    let mut found = Vec::new();
    while let Some(relation) = parts.last().map(|part| part.relation) {
        let rest = parts.partition_point(|part| part.relation < relation);
        found.extend(assemble(relation, parts.split_off(rest)));
    }
    found.reverse();
    found
}

/// Whether a row guard, on any table, takes signed tokens of this lease only.
pub fn wants_signatures(lease: &str) -> bool {
    all().iter().filter_map(|guard| guard.rule.as_ref()).any(|r| r.signed && r.covers(lease))
}

impl RowGuard {
    pub fn state(&self) -> &'static str {
        if self.whole { self.fires.name() } else { "partial" }
    }
}

/// lease.row_guards.
pub fn list(_: &Args) -> Result<Vec<RowGuard>> {
    Ok(all())
}

impl Returns for Vec<RowGuard> {
    fn datum(self, args: &Args) -> pg_sys::Datum {
        let row = |guard: &RowGuard| {
            let rule = guard.rule.as_ref();
            let text = |text: &str| Some(text_datum(text));
            [
                Some(pg_sys::Datum::from(pg_sys::Oid::from(guard.relation))),
                rule.and_then(|rule| text(&rule.column)),
                rule.and_then(|rule| text(&rule.prefix)),
                rule.and_then(|rule| text(&rule.mode)),
                rule.map(|rule| pg_sys::Datum::from(rule.signed)),
                text(guard.state()),
                guard.triggers.first().and_then(|(_, name)| text(name)),
            ]
        };
        super::answer::materialize(args, self.iter().map(row))
    }
}

impl RowRule {
    fn covers(&self, lease: &str) -> bool {
        lease.len() > self.prefix.len() && lease.starts_with(&self.prefix)
    }

    pub fn arguments(&self) -> Vec<&str> {
        let mut arguments = vec![self.prefix.as_str(), self.mode.as_str()];
        arguments.extend(self.signed.then_some(SIGNED));
        arguments
    }
}

fn parts(index: Option<u32>, column: i16, oid: u32) -> Vec<Part> {
    let (mut found, function) = (Vec::new(), objects().guard_rows);
    // SAFETY: a scan of pg_trigger by a column of type oid; each tuple is valid until the next.
    unsafe {
        scan_by_oid(PG_TRIGGER, index, column, oid, |tuple, description| {
            let part = part(tuple, description);
            found.extend((part.1 == function).then_some(part.0));
        });
    }
    found
}

unsafe fn part(tuple: pg_sys::HeapTuple, columns: pg_sys::TupleDesc) -> (Part, pg_sys::Oid) {
    let (mut values, mut nulls) = ([pg_sys::Datum::null(); COLUMNS], [true; COLUMNS]);
    // SAFETY: pg_trigger has that many columns; its fixed ones end with tgattr, a vector of dim1
    // numbers.
    unsafe {
        pg_sys::heap_deform_tuple(tuple, columns, values.as_mut_ptr(), nulls.as_mut_ptr());
        let row = &*ddl::struct_of::<pg_sys::FormData_pg_trigger>(tuple);
        let of = std::slice::from_raw_parts(row.tgattr.values.as_ptr(), row.tgattr.dim1 as usize);
        let arguments = super::call::bytes(values[ARGUMENTS]).split(|byte| *byte == 0);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let part = Part {
            trigger: row.oid.to_u32(),
            relation: row.tgrelid.to_u32(),
            name: text(CStr::from_ptr(row.tgname.data.as_ptr()).to_bytes()),
            kind: row.tgtype as u32,
            fires: Fires::of(row.tgenabled),
            columns: of.to_vec(),
            arguments: arguments.take(row.tgnargs as usize).map(text).collect(),
            condition: (!nulls[CONDITION]).then(|| text(super::call::bytes(values[CONDITION]))),
        };
        (part, row.tgfoid)
    }
}

fn assemble(relation: u32, mut parts: Vec<Part>) -> Option<RowGuard> {
    if parts.is_empty() {
        return None;
    }
    parts.sort_by_key(|part| (part.kind != RULE_TYPE, part.name.clone()));
    let fires = parts.iter().map(|part| part.fires).max().unwrap_or(Fires::Disabled);
    let rules: Vec<_> = parts.iter().filter(|part| part.kind == RULE_TYPE).collect();
    let (rule, whole) = match rules[..] {
        [part] => (part.rule(), is_whole(part, &parts)),
        _ => (None, false),
    };
    let triggers = parts.iter().map(|part| (part.trigger, part.name.clone())).collect();
    Some(RowGuard { relation, whole: whole && rule.is_some(), rule, fires, triggers })
}

fn is_whole(rule: &Part, parts: &[Part]) -> bool {
    let judges = |old, kind| {
        let wanted = rule.condition(old);
        parts.iter().any(|part| {
            part.kind == kind
                && part.columns.is_empty()
                && wanted.is_some()
                && part.condition.as_deref().and_then(row_condition::read) == wanted
        })
    };
    is_partitioned(rule.relation) || judges(false, NEW_TYPE) && judges(true, OLD_TYPE)
}

impl Part {
    /// The one column that this trigger is on, if it is the trigger with the rule.
    fn column(&self) -> Option<i16> {
        match self.columns[..] {
            [column] if self.condition.is_none() => Some(column),
            _ => None,
        }
    }

    fn rule(&self) -> Option<RowRule> {
        let condition = self.condition(false)?;
        let table = pg_sys::Oid::from(self.relation);
        // SAFETY: looks a column up in the catalog cache; null where there is none.
        let name = unsafe { pg_sys::get_attname(table, condition.column, true) };
        let Condition { prefix, mode, signed, .. } = condition;
        Some(RowRule { column: super::call::owned(name)?, prefix, mode, signed })
    }

    /// The condition that the other triggers of this rule must have.
    fn condition(&self, old: bool) -> Option<Condition> {
        let column = self.column()?;
        let signed = match &self.arguments[..] {
            [_, _] => false,
            [_, _, signed] if signed == SIGNED => true,
            _ => return None,
        };
        let (prefix, mode) = (self.arguments[0].clone(), self.arguments[1].clone());
        Some(Condition { old, column, prefix, mode, signed })
    }
}

/// Creates the triggers of a row guard on a table.
pub fn create(relation: u32, rule: &RowRule, fires: Fires) {
    super::role::as_owner(|| {
        let function = Function("guard_rows", objects().guard_rows);
        let column = Some(rule.column.as_str());
        let create = |name, kind, when, arguments: &[&str]| {
            let new = NewTrigger { name, kind, when, arguments, fires };
            ddl::create_trigger(relation, function, &new);
        };
        create(RULE_NAME, RULE_TYPE, (column, null_mut()), &rule.arguments());
        if !is_partitioned(relation) {
            create(NEW_NAME, NEW_TYPE, (None, row_condition::build(rule, false)), &[]);
            create(OLD_NAME, OLD_TYPE, (None, row_condition::build(rule, true)), &[]);
        }
    });
}

/// Drops all that there is of a row guard; returns how many triggers went.
pub fn drop(guard: &RowGuard) -> i64 {
    guard.triggers.iter().for_each(|(trigger, _)| ddl::drop_trigger(*trigger));
    guard.triggers.len() as i64
}

/// Whether the table stores no rows of its own.
fn is_partitioned(relation: u32) -> bool {
    // SAFETY: looks a relation up in the catalog cache.
    let kind = unsafe { pg_sys::get_rel_relkind(pg_sys::Oid::from(relation)) };
    kind as u8 == b'p'
}

/// The type of a column, and whether it is a virtual one. None if there is no such column.
pub fn column(relation: u32, name: &str) -> Option<(u32, bool)> {
    let name = CString::new(name).ok()?;
    let relation = pg_sys::Oid::from(relation);
    // SAFETY: looks a column up in the catalog cache.
    unsafe {
        let number = pg_sys::get_attnum(relation, name.as_ptr());
        if number <= 0 {
            return None;
        }
        let is_virtual = pg_sys::get_attgenerated(relation, number) as u8 == b'v';
        Some((pg_sys::get_atttype(relation, number).to_u32(), is_virtual))
    }
}

/// Whether values of this type may name leases: their text is what is written, and always the same.
pub fn may_name_leases(of: u32) -> bool {
    let types = [pg_sys::TEXTOID, pg_sys::VARCHAROID, pg_sys::UUIDOID];
    let numbers = [pg_sys::INT2OID, pg_sys::INT4OID, pg_sys::INT8OID];
    types.iter().chain(&numbers).any(|known| known.to_u32() == of)
}
