//! lease_guard and lease_unguard, and the cover of tables that join a guarded tree later.

use super::attach_rows;
use crate::lease::{check_writable, grant, wait_ms};
use crate::ops::doctor;
use crate::pg::answer::Guarded;
use crate::pg::call::Args;
use crate::pg::ddl::{self, Fires, Guard};
use crate::pg::key::key;
use crate::pg::locks::{self, Class, Tag};
use crate::pg::row_triggers::{self, RowRule};
use crate::pg::trigger::SIGNED;
use crate::rules::fence::Mode;
use crate::rules::refusal::{self, Refusal, Result};
use crate::rules::{hash, name};

/// lease_guard: covers the table and everything below it.
pub fn guard(args: &Args) -> Result<Vec<Guarded>> {
    let relation = args.oid(0, "relation")?;
    let mode = Mode::parse(args.text(2, "mode")?)?;
    let fires = if args.boolean(3, "always")? { Fires::Always } else { Fires::Origin };
    let signed = args.boolean(4, "signed")?;
    let prefix = args.text(6, "prefix")?;
    let Some(column) = args.optional_text(5) else {
        let wanted = Wanted { lease: args.text(1, "lease")?, mode: mode.name(), signed, fires };
        let no_prefix = prefix.is_empty().then_some(()).ok_or_else(refusal::rows::lease_or_column);
        return no_prefix.and_then(|()| guard_table(relation, &wanted));
    };
    if args.optional_text(1).is_some() {
        return Err(refusal::rows::lease_or_column());
    }
    let (column, prefix) = (column.to_owned(), prefix.to_owned());
    let rule = RowRule { column, prefix, mode: mode.name().to_owned(), signed };
    attach_rows::guard(relation, &rule, fires)
}

fn guard_table(relation: u32, wanted: &Wanted) -> Result<Vec<Guarded>> {
    let lease = wanted.lease;
    name::check_lease(lease)?;
    check_writable("lease_guard")?;
    check_owned(relation)?;
    let tree = locked_tree(relation)?;
    let key = key(lease);
    grant::lock_or_busy(&key, Tag::of_name(Class::Guards, key.hash), locks::INTENT, wait_ms())?;
    refuse_open_parents(&tree, lease)?;
    let guarded = tree.iter().map(|member| wanted.on(*member)).collect::<Result<_>>()?;
    doctor::note_guards(&tree);
    Ok(guarded)
}

/// The table and everything below it, locked, the caller's, and such as can be guarded.
pub fn locked_tree(relation: u32) -> Result<Vec<u32>> {
    ddl::lock_table(relation, false);
    let tree = ddl::tree(relation, false);
    for member in &tree {
        check_owned(*member)?;
        ddl::check_guardable(*member)?;
    }
    Ok(tree)
}

/// Statement triggers fire for the table that a statement names: through a parent without the same
/// guard, everybody could write.
fn refuse_open_parents(tree: &[u32], lease: &str) -> Result<()> {
    for member in tree {
        for parent in ddl::parents(*member) {
            if !tree.contains(&parent) && find_guard(parent, lease).is_none() {
                return Err(refusal::open_parent(&ddl::name(*member), lease, &ddl::name(parent)));
            }
        }
    }
    Ok(())
}

/// The table's guard of this lease. One made by hand that does not fire for all is none.
fn find_guard(relation: u32, lease: &str) -> Option<Guard> {
    ddl::guards(relation).into_iter().find(|guard| guard.lease == lease && guard.whole)
}

pub fn check_owned(relation: u32) -> Result<()> {
    if !ddl::exists(relation) {
        return Err(refusal::unknown_table(relation));
    }
    if ddl::is_owned_by_caller(relation) {
        return Ok(());
    }
    Err(refusal::not_owner(&ddl::name(relation)))
}

struct Wanted<'a> {
    lease: &'a str,
    mode: &'a str,
    signed: bool,
    fires: Fires,
}

impl<'a> Wanted<'a> {
    /// What a table needs that joins a tree with this guard.
    fn like(guard: &'a Guard) -> Self {
        let Guard { lease, mode, signed, fires, .. } = guard;
        Self { lease, mode, signed: *signed, fires: *fires }
    }

    fn create(&self, relation: u32) {
        let arguments = [self.lease, self.mode, SIGNED];
        let count = if self.signed { 3 } else { 2 };
        ddl::create_guard(relation, &trigger_name(self.lease), &arguments[..count], self.fires);
    }

    fn shown(&self) -> String {
        let signed = if self.signed { ", signed" } else { "" };
        format!("mode {}{signed}, {}", self.mode, self.fires.name())
    }

    fn refuse(&self, relation: u32, there: &Guard) -> Refusal {
        let name = ddl::name(relation);
        refusal::other_guard(&name, self.lease, &Wanted::like(there).shown(), &self.shown())
    }

    /// Creates the guard unless it is there.
    fn on(&self, relation: u32) -> Result<Guarded> {
        let Some(there) = find_guard(relation, self.lease) else {
            self.create(relation);
            return Ok(Guarded { relation, guard: "created" });
        };
        if there.fires == Fires::Disabled {
            return Err(refusal::guard_disabled(&ddl::name(relation), self.lease));
        }
        let same = (there.mode.as_str(), there.signed, there.fires);
        if same != (self.mode, self.signed, self.fires) {
            return Err(self.refuse(relation, &there));
        }
        Ok(Guarded { relation, guard: "kept" })
    }
}

/// One name per lease, so that a table can have guards of several.
fn trigger_name(lease: &str) -> String {
    format!("pg_lease_guard_{:016x}", hash::fnv64(lease.as_bytes()))
}

/// lease_unguard: takes the guards off a table and everything below it.
pub fn unguard(args: &Args) -> Result<i64> {
    let relation = args.oid(0, "relation")?;
    let lease = args.optional_text(1);
    if let Some(lease) = lease {
        name::check_lease(lease)?;
    }
    check_writable("lease_unguard")?;
    check_owned(relation)?;
    ddl::lock_table(relation, true);
    check_owned(relation)?;
    let here = wanted_guards(relation, lease);
    let rows = lease.is_none() && row_triggers::of(relation).is_some();
    if here.is_empty() && !rows {
        // one that somebody has dropped is missed by lease_doctor until then
        if doctor::forget_guards(&ddl::tree(relation, true)) > 0 {
            return Ok(0);
        }
        return Err(refusal::no_guard(&ddl::name(relation), lease));
    }
    refuse_hole(relation, &here, rows)?;
    let mut dropped = 0;
    let tree = ddl::tree(relation, true);
    tree.iter().try_for_each(|member| check_owned(*member))?;
    for &member in &tree {
        for guard in wanted_guards(member, lease) {
            let known = here.iter().any(|one| one.lease == guard.lease);
            if known && parent_with(member, &guard).is_none() {
                ddl::drop_guard(&guard);
                dropped += 1;
            }
        }
        if rows {
            dropped += attach_rows::take_off(member);
        }
    }
    doctor::forget_guards(&tree);
    Ok(dropped)
}

fn wanted_guards(relation: u32, lease: Option<&str>) -> Vec<Guard> {
    let mut guards = ddl::guards(relation);
    guards.retain(|guard| lease.is_none_or(|lease| lease == guard.lease));
    guards
}

/// A parent that still has the same guard.
fn parent_with(relation: u32, guard: &Guard) -> Option<u32> {
    ddl::parents(relation).into_iter().find(|parent| find_guard(*parent, &guard.lease).is_some())
}

fn refuse_hole(relation: u32, guards: &[Guard], rows: bool) -> Result<()> {
    let parent = guards.iter().find_map(|guard| parent_with(relation, guard));
    match parent.or_else(|| attach_rows::parent_with(relation).filter(|_| rows)) {
        None => Ok(()),
        Some(parent) => {
            Err(refusal::guarded_through_parent(&ddl::name(relation), &ddl::name(parent)))
        }
    }
}

/// lease.cover: called for each table that a command has created or changed.
pub fn cover(args: &Args) -> Result<()> {
    let relation = args.oid(0, "relation")?;
    if ddl::adds_no_table(args.ddl_command(1, "command")?) { Ok(()) } else { cover_down(relation) }
}

/// Covers the table, then what is below it. A table that gets a guard is locked by that, so that its
/// children, listed after, are all that there will be without one.
fn cover_down(relation: u32) -> Result<()> {
    cover_one(relation)?;
    ddl::children(relation).into_iter().try_for_each(cover_down)
}

/// Gives a table the guards of its parents, and refuses one of its own that its parents lack. What an
/// owner has disabled stays so: that is the owner's right, and lease.guards shows it.
fn cover_one(relation: u32) -> Result<()> {
    for parent in ddl::parents(relation) {
        attach_rows::cover(relation, parent)?;
        for guard in ddl::guards(parent).into_iter().filter(|guard| guard.whole) {
            cover_with(relation, &guard)?;
        }
        for guard in ddl::guards(relation) {
            if find_guard(parent, &guard.lease).is_none() {
                let (table, parent) = (ddl::name(relation), ddl::name(parent));
                return Err(refusal::open_parent(&table, &guard.lease, &parent));
            }
        }
    }
    Ok(())
}

fn cover_with(relation: u32, guard: &Guard) -> Result<()> {
    match find_guard(relation, &guard.lease) {
        Some(there) if (&there.mode, there.signed) != (&guard.mode, guard.signed) => {
            Err(Wanted::like(guard).refuse(relation, &there))
        }
        Some(_) => Ok(()),
        None if guard.fires == Fires::Disabled => Ok(()),
        None => {
            ddl::check_guardable(relation)?;
            Wanted::like(guard).create(relation);
            doctor::note_guards(&[relation]);
            Ok(())
        }
    }
}
