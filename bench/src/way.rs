//! The variants: ways to keep a stale writer out, from none to pg_lease.

use crate::bed::{Bed, FAR, LEASE};
use crate::pgbench::Cell;
use crate::scale::Length;
use anyhow::Result;

/// The rows that a table begins with; an UPDATE picks one of them.
pub const ROWS: u32 = 10_000;

/// How a way guards its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    None,
    /// The seeds' check, in a PL/pgSQL trigger.
    Trigger(&'static str),
    /// pg_lease: lease and mode.
    Lease(&'static str, &'static str),
    /// pg_lease's row guard, on a column more than the others have.
    Rows,
}

/// How its transaction looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The statement is the transaction.
    Bare,
    /// BEGIN; perhaps a check; the statement; COMMIT: a round trip each.
    Block(Option<&'static str>),
    /// The same, sent in one go.
    Pipelined(Option<&'static str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub key: &'static str,
    pub title: &'static str,
    guard: Guard,
    shape: Shape,
}

const SHARE: &str = "SELECT 1 FROM held WHERE name = 'job/bench' AND owner = 'bench' \
    AND epoch = 17 AND expires_at > clock_timestamp() FOR SHARE";
const FENCE: &str = "UPDATE mover_fence SET token = 17 WHERE token <= 17";
const CHECK: &str = "SELECT lease_fence_check('job/bench', :token)";

const fn way(key: &'static str, title: &'static str, guard: Guard, shape: Shape) -> Way {
    Way { key, title, guard, shape }
}

pub const UNGUARDED: Way = way("unguarded", "unguarded", Guard::None, Shape::Bare);
pub const UNGUARDED_BLOCK: Way =
    way("unguarded_block", "unguarded, in BEGIN … COMMIT", Guard::None, Shape::Block(None));
pub const UNGUARDED_PIPE: Way =
    way("unguarded_pipe", "unguarded, pipelined", Guard::None, Shape::Pipelined(None));
pub const SEEDS: Way = way(
    "seeds",
    "the seeds' way: SELECT … FOR SHARE first",
    Guard::None,
    Shape::Block(Some(SHARE)),
);
pub const SEEDS_PIPE: Way =
    way("seeds_pipe", "the seeds' way, pipelined", Guard::None, Shape::Pipelined(Some(SHARE)));
pub const GALEWATCH: Way = way(
    "galewatch",
    "Galewatch's UPDATE mover_fence first",
    Guard::None,
    Shape::Block(Some(FENCE)),
);
pub const ROW_TRIGGER: Way =
    way("plpgsql_row", "PL/pgSQL row trigger, FOR SHARE", Guard::Trigger("ROW"), Shape::Bare);
pub const STATEMENT_TRIGGER: Way = way(
    "plpgsql_statement",
    "PL/pgSQL statement trigger, FOR SHARE",
    Guard::Trigger("STATEMENT"),
    Shape::Bare,
);
pub const CURRENT: Way = way(
    "current",
    "pg_lease, mode current, token by the setting",
    Guard::Lease(LEASE, "current"),
    Shape::Bare,
);
pub const LIVE: Way = way("live", "pg_lease, mode live", Guard::Lease(LEASE, "live"), Shape::Bare);
pub const NEWEST: Way =
    way("newest", "pg_lease, mode newest", Guard::Lease(FAR, "newest"), Shape::Bare);
pub const ROW_GUARD: Way = way("rows", "pg_lease, row guard", Guard::Rows, Shape::Bare);
pub const CHECK_BLOCK: Way = way(
    "check_block",
    "pg_lease, lease_fence_check first",
    Guard::Lease(LEASE, "current"),
    Shape::Block(Some(CHECK)),
);
pub const CHECK_PIPE: Way = way(
    "check_pipe",
    "pg_lease, lease_fence_check pipelined",
    Guard::Lease(LEASE, "current"),
    Shape::Pipelined(Some(CHECK)),
);

/// What the transactions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Insert,
    Update,
    /// Ten INSERTs in one transaction.
    Ten,
}

impl Work {
    pub fn key(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Ten => "ten",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Insert => "single-row INSERT",
            Self::Update => "single-row UPDATE by key",
            Self::Ten => "ten INSERTs in one transaction",
        }
    }

    fn statement(self, table: &str) -> String {
        match self {
            Self::Update => format!("UPDATE {table} SET amount = amount + 1 WHERE id = :id"),
            _ => format!("INSERT INTO {table} (amount, note) VALUES (1, 'a note of usual length')"),
        }
    }
}

impl Way {
    pub fn table(self, work: Work) -> String {
        format!("{}_{}", work.key(), self.key)
    }

    /// Makes its table, and fills and guards it.
    pub fn prepare(self, bed: &Bed, work: Work) -> Result<()> {
        let table = self.table(work);
        let guard = match self.guard {
            Guard::None => String::new(),
            Guard::Trigger(level) => format!(
                "CREATE TRIGGER held BEFORE INSERT OR UPDATE OR DELETE ON {table} \
                 FOR EACH {level} EXECUTE FUNCTION check_held();"
            ),
            Guard::Lease(lease, mode) => {
                format!("SELECT lease_guard('{table}', '{lease}', '{mode}');")
            }
            Guard::Rows => format!(
                "ALTER TABLE {table} ADD job text NOT NULL DEFAULT 'bench'; \
                 SELECT lease_guard('{table}', lease_column => 'job', prefix => 'job/');"
            ),
        };
        bed.server.execute(
            "postgres",
            &format!(
                "CREATE TABLE {table} (LIKE sample INCLUDING ALL); \
                 INSERT INTO {table} (amount, note) \
                 SELECT 1, 'a note of usual length' FROM generate_series(1, {ROWS}); \
                 {guard} ANALYZE {table}"
            ),
        )
    }

    /// What pgbench runs.
    pub fn script(self, work: Work) -> String {
        let statement = format!("{};\n", work.statement(&self.table(work)));
        let writes = if work == Work::Ten { statement.repeat(10) } else { statement };
        let pick = if work == Work::Update {
            format!("\\set id random(1, {ROWS})\n")
        } else {
            String::new()
        };
        let block = |check: Option<&str>| {
            let check = check.map(|check| format!("{check};\n")).unwrap_or_default();
            format!("BEGIN;\n{check}{writes}COMMIT;\n")
        };
        match self.shape {
            Shape::Bare if work == Work::Ten => block(None),
            Shape::Bare => format!("{pick}{writes}"),
            Shape::Block(check) => format!("{pick}{}", block(check)),
            Shape::Pipelined(check) => {
                format!("{pick}\\startpipeline\n{}\\endpipeline\n", block(check))
            }
        }
    }

    /// A cell of pgbench that does `work` this way.
    pub fn cell(self, bed: &Bed, work: Work, clients: u32, length: Length) -> Result<Cell> {
        let script = bed.script(&self.table(work), &self.script(work))?;
        let cell = Cell::new(script, clients, length).setting("bench.token", "17");
        let cell = cell.variable("token", bed.token);
        if !matches!(self.guard, Guard::Lease(..) | Guard::Rows) {
            return Ok(cell);
        }
        // a session loads the library once; a short cell should not be charged with it
        let cell = cell.setting("session_preload_libraries", "pg_lease");
        let checks_itself = self.shape != Shape::Bare;
        Ok(if checks_itself { cell } else { cell.setting("pg_lease.token", &bed.presented()) })
    }
}
