//! lease_guard and lease_unguard, and the cover of tables that join a guarded tree later.

use crate::lease::check_writable;
use crate::pg::answer::Guarded;
use crate::pg::call::Args;
use crate::pg::ddl::{self, Fires, Guard};
use crate::rules::fence::Mode;
use crate::rules::refusal::{self, Result};
use crate::rules::{hash, name};

/// lease_guard: covers the table and everything below it.
pub fn guard(args: &Args) -> Result<Vec<Guarded>> {
    let relation = args.oid(0, "relation")?;
    let lease = args.text(1, "lease")?;
    let mode = Mode::parse(args.text(2, "mode")?)?;
    let fires = if args.boolean(3, "always")? { Fires::Always } else { Fires::Origin };
    name::check_lease(lease)?;
    check_writable("lease_guard")?;
    check_owned(relation)?;
    ddl::lock_table(relation, false);
    let tree = ddl::tree(relation, Some(false));
    for member in &tree {
        check_owned(*member)?;
        ddl::check_guardable(*member)?;
    }
    let wanted = Wanted { lease, mode: mode.name(), fires };
    tree.iter().map(|member| wanted.on(*member)).collect()
}

fn check_owned(relation: u32) -> Result<()> {
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
    fires: Fires,
}

impl Wanted<'_> {
    /// Creates the guard unless it is there.
    fn on(&self, relation: u32) -> Result<Guarded> {
        let there = ddl::guards(relation).into_iter().find(|guard| guard.lease == self.lease);
        let Some(there) = there else {
            ddl::create_guard(
                relation,
                &trigger_name(self.lease),
                self.lease,
                self.mode,
                self.fires,
            );
            return Ok(Guarded { relation, guard: "created" });
        };
        if there.fires == Fires::Disabled {
            return Err(refusal::guard_disabled(&ddl::name(relation), self.lease));
        }
        if (there.mode.as_str(), there.fires) != (self.mode, self.fires) {
            let shown = |mode: &str, fires: Fires| format!("mode {mode}, {}", fires.name());
            return Err(refusal::other_guard(
                &ddl::name(relation),
                self.lease,
                &shown(&there.mode, there.fires),
                &shown(self.mode, self.fires),
            ));
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
    if here.is_empty() {
        return Err(refusal::no_guard(&ddl::name(relation), lease));
    }
    refuse_hole(relation, &here)?;
    let mut dropped = 0;
    let tree = ddl::tree(relation, Some(true));
    tree.iter().try_for_each(|member| check_owned(*member))?;
    for member in tree {
        for guard in wanted_guards(member, lease) {
            let known = here.iter().any(|one| one.lease == guard.lease);
            if known && parent_with(member, &guard).is_none() {
                ddl::drop_guard(&guard);
                dropped += 1;
            }
        }
    }
    Ok(dropped)
}

fn wanted_guards(relation: u32, lease: Option<&str>) -> Vec<Guard> {
    let mut guards = ddl::guards(relation);
    guards.retain(|guard| lease.is_none_or(|lease| lease == guard.lease));
    guards
}

/// A parent that still has the same guard.
fn parent_with(relation: u32, guard: &Guard) -> Option<u32> {
    ddl::parents(relation)
        .into_iter()
        .find(|parent| ddl::guards(*parent).iter().any(|g| g.lease == guard.lease))
}

fn refuse_hole(relation: u32, guards: &[Guard]) -> Result<()> {
    match guards.iter().find_map(|guard| parent_with(relation, guard)) {
        None => Ok(()),
        Some(parent) => {
            Err(refusal::guarded_through_parent(&ddl::name(relation), &ddl::name(parent)))
        }
    }
}

/// lease.cover: called for each table that a command has created or changed.
pub fn cover(args: &Args) -> Result<()> {
    let relation = args.oid(0, "relation")?;
    for member in ddl::tree(relation, None) {
        cover_one(member)?;
    }
    Ok(())
}

/// Gives a table the guards of its parents.
fn cover_one(relation: u32) -> Result<()> {
    for parent in ddl::parents(relation) {
        for guard in ddl::guards(parent) {
            let there = ddl::guards(relation).iter().any(|one| one.lease == guard.lease);
            if there || guard.fires == Fires::Disabled {
                continue;
            }
            ddl::check_guardable(relation)?;
            let name = trigger_name(&guard.lease);
            ddl::create_guard(relation, &name, &guard.lease, &guard.mode, guard.fires);
        }
    }
    Ok(())
}
