//! Row guards put on, taken off, and given to tables that join a tree later.

use super::attach::{check_owned, locked_tree};
use crate::lease::check_writable;
use crate::ops::doctor;
use crate::pg::answer::Guarded;
use crate::pg::ddl::{self, Fires};
use crate::pg::row_triggers::{self, RowGuard, RowRule};
use crate::rules::name;
use crate::rules::refusal::{self, Result};

/// lease_guard with a lease_column.
pub fn guard(relation: u32, rule: &RowRule, fires: Fires) -> Result<Vec<Guarded>> {
    name::check_prefix(&rule.prefix)?;
    check_writable("lease_guard")?;
    check_owned(relation)?;
    let tree = locked_tree(relation)?;
    tree.iter().try_for_each(|member| check_column(*member, &rule.column))?;
    let guarded = tree.iter().map(|member| on(*member, rule, fires)).collect::<Result<_>>()?;
    doctor::note_guards(&tree);
    Ok(guarded)
}

/// Creates the guard unless it is there.
fn on(relation: u32, rule: &RowRule, fires: Fires) -> Result<Guarded> {
    let Some(there) = row_triggers::of(relation) else {
        row_triggers::create(relation, rule, fires);
        return Ok(Guarded { relation, guard: "created" });
    };
    if !there.whole || there.fires == Fires::Disabled {
        return Err(refusal::rows::disabled(&ddl::name(relation), there.state()));
    }
    if there.fires != fires {
        return Err(refuse_other(relation, &there, rule, fires));
    }
    refuse_other_rule(relation, &there, rule, fires)?;
    Ok(Guarded { relation, guard: "kept" })
}

fn refuse_other_rule(relation: u32, there: &RowGuard, rule: &RowRule, fires: Fires) -> Result<()> {
    match &there.rule {
        Some(known) if known != rule => Err(refuse_other(relation, there, rule, fires)),
        _ => Ok(()),
    }
}

fn refuse_other(relation: u32, there: &RowGuard, rule: &RowRule, fires: Fires) -> refusal::Refusal {
    let known = there.rule.as_ref().map(|known| shown(known, there.fires)).unwrap_or_default();
    refusal::rows::other_guard(&ddl::name(relation), &known, &shown(rule, fires))
}

fn shown(rule: &RowRule, fires: Fires) -> String {
    let RowRule { column, prefix, mode, signed } = rule;
    let signed = if *signed { ", signed" } else { "" };
    format!("lease_column \"{column}\", prefix \"{prefix}\", mode {mode}{signed}, {}", fires.name())
}

fn check_column(relation: u32, column: &str) -> Result<()> {
    let table = ddl::name(relation);
    let why = match row_triggers::column(relation, column) {
        None => return Err(refusal::rows::unknown_column(&table, column)),
        Some((_, true)) => "It is a virtual column, which a trigger does not see",
        Some((of, _)) if !row_triggers::may_name_leases(of) => {
            "The text of its values is not for certain a part of a lease's name"
        }
        Some(_) => return Ok(()),
    };
    Err(refusal::rows::bad_column(&table, column, why))
}

/// Gives a table the row guard of a parent. What its owner has disabled, or taken a part from, stays
/// so, and lease.guards shows it.
pub fn cover(relation: u32, parent: u32) -> Result<()> {
    let Some(guard) = row_triggers::of(parent).filter(|guard| guard.whole) else {
        return Ok(());
    };
    let Some(rule) = guard.rule.as_ref() else {
        return Ok(());
    };
    match row_triggers::of(relation) {
        Some(there) => refuse_other_rule(relation, &there, rule, guard.fires),
        None if guard.fires == Fires::Disabled => Ok(()),
        None => {
            ddl::check_guardable(relation)?;
            check_column(relation, &rule.column)?;
            row_triggers::create(relation, rule, guard.fires);
            Ok(())
        }
    }
}

/// A parent that has a row guard.
pub fn parent_with(relation: u32) -> Option<u32> {
    ddl::parents(relation).into_iter().find(|parent| row_triggers::of(*parent).is_some())
}

/// Takes a table's row guard off, unless a parent still has one; returns how many triggers went.
pub fn take_off(relation: u32) -> i64 {
    match row_triggers::of(relation) {
        Some(guard) if parent_with(relation).is_none() => row_triggers::drop(&guard),
        _ => 0,
    }
}
