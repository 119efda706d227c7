//! The condition `WHEN (NOT lease.guard_row(NEW.column::text, prefix, mode, signed))` of a trigger:
//! built as the parser would, and read back as the catalog keeps it.

use super::catalog::{copy, names, objects};
use super::row_triggers::RowRule;
use pgrx::pg_sys;
use std::ffi::CString;
use std::ptr::null_mut;

/// What such a condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Of the row as it was, not as it becomes.
    pub old: bool,
    pub column: i16,
    pub prefix: String,
    pub mode: String,
    pub signed: bool,
}

/// The condition for `rule`, as a raw parse tree in the current memory context.
pub fn build(rule: &RowRule, old: bool) -> *mut pg_sys::Node {
    let row = if old { "old" } else { "new" };
    // SAFETY: allocates nodes as the parser does, and fills in every field that it would.
    unsafe {
        let signed = constant(|value| {
            value.boolval =
                pg_sys::Boolean { type_: pg_sys::NodeTag::T_Boolean, boolval: rule.signed };
        });
        let arguments = [
            as_text(column_of(row, &rule.column)),
            constant(|value| value.sval = *pg_sys::makeString(copy(&rule.prefix))),
            constant(|value| value.sval = *pg_sys::makeString(copy(&rule.mode))),
            signed,
        ];
        let mut list = null_mut();
        for argument in arguments {
            list = pg_sys::lappend(list, argument.cast());
        }
        let function = names(&["lease", "guard_row"]);
        let form = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        let call = pg_sys::makeFuncCall(function, list, form, -1);
        let calls = pg_sys::lappend(null_mut(), call.cast());
        pg_sys::makeBoolExpr(pg_sys::BoolExprType::NOT_EXPR, calls, -1).cast()
    }
}

/// A node with nothing in it.
unsafe fn node<T>(tag: pg_sys::NodeTag) -> *mut T {
    // SAFETY: every node begins with its tag; the caller names the one that T has.
    unsafe {
        let node = pg_sys::palloc0(size_of::<T>());
        *node.cast::<pg_sys::NodeTag>() = tag;
        node.cast()
    }
}

unsafe fn constant(fill: impl FnOnce(&mut pg_sys::ValUnion)) -> *mut pg_sys::Node {
    // SAFETY: see build.
    unsafe {
        let constant = node::<pg_sys::A_Const>(pg_sys::NodeTag::T_A_Const);
        fill(&mut (*constant).val);
        (*constant).location = -1;
        constant.cast()
    }
}

unsafe fn column_of(row: &str, column: &str) -> *mut pg_sys::Node {
    // SAFETY: see build.
    unsafe {
        let reference = node::<pg_sys::ColumnRef>(pg_sys::NodeTag::T_ColumnRef);
        (*reference).fields = names(&[row, column]);
        (*reference).location = -1;
        reference.cast()
    }
}

unsafe fn as_text(argument: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: see build.
    unsafe {
        let cast = node::<pg_sys::TypeCast>(pg_sys::NodeTag::T_TypeCast);
        (*cast).arg = argument;
        (*cast).typeName = pg_sys::makeTypeNameFromOid(pg_sys::TEXTOID, -1);
        (*cast).location = -1;
        cast.cast()
    }
}

/// What a condition says, as pg_trigger keeps it. None if it is another one.
pub fn read(stored: &str) -> Option<Condition> {
    let stored = CString::new(stored).ok()?;
    // SAFETY: the text is a node that the server has written itself. Each node is looked into after
    // its tag was seen.
    unsafe {
        let not = of::<pg_sys::BoolExpr>(
            pg_sys::stringToNode(stored.as_ptr()).cast(),
            pg_sys::NodeTag::T_BoolExpr,
        )?;
        let call = nth(not.args, 0)?;
        let call = of::<pg_sys::FuncExpr>(call, pg_sys::NodeTag::T_FuncExpr)?;
        let is_ours =
            not.boolop == pg_sys::BoolExprType::NOT_EXPR && call.funcid == objects().guard_row;
        let column = column(nth(call.args, 0)?).filter(|_| is_ours)?;
        let value = |at| {
            let value = of::<pg_sys::Const>(nth(call.args, at)?, pg_sys::NodeTag::T_Const)?;
            (!value.constisnull).then_some(value.constvalue)
        };
        let text = |at| Some(super::call::text(value(at)?).to_owned());
        let old = match column.varno as u32 {
            pg_sys::PRS2_OLD_VARNO => true,
            pg_sys::PRS2_NEW_VARNO => false,
            _ => return None,
        };
        let signed = value(3)?.value() & 1 == 1;
        Some(Condition { old, column: column.varattno, prefix: text(1)?, mode: text(2)?, signed })
    }
}

/// The column under the cast to text.
unsafe fn column<'a>(argument: *const pg_sys::Node) -> Option<&'a pg_sys::Var> {
    use pg_sys::NodeTag as T;
    // SAFETY: see read.
    unsafe {
        let inner = match (*argument).type_ {
            T::T_RelabelType => (*argument.cast::<pg_sys::RelabelType>()).arg.cast_const().cast(),
            T::T_CoerceViaIO => (*argument.cast::<pg_sys::CoerceViaIO>()).arg.cast_const().cast(),
            _ => argument,
        };
        of(inner, T::T_Var)
    }
}

unsafe fn of<'a, T>(node: *const pg_sys::Node, tag: pg_sys::NodeTag) -> Option<&'a T> {
    // SAFETY: the caller names the tag that T has.
    unsafe { (!node.is_null() && (*node).type_ == tag).then(|| &*node.cast::<T>()) }
}

unsafe fn nth(list: *const pg_sys::List, at: i32) -> Option<*const pg_sys::Node> {
    // SAFETY: the list is one of pointers, or null for an empty one.
    unsafe {
        let there = !list.is_null() && at < (*list).length;
        there.then(|| pg_sys::list_nth(list, at).cast_const().cast())
    }
}
