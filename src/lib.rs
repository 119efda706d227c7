//! pg_lease: leases with fencing tokens, and tables that refuse a stale writer.
//!
//! | where | what |
//! |---|---|
//! | `rules/` | who gets a lease, which token is good, what a name or a ttl may be; plain Rust |
//! | `pg/` | the PostgreSQL side: rows, locks, transactions, settings, errors; all unsafe code |
//! | `clock` | compute_now, lease_clock_skew |
//! | `lease/` | acquire, renew, release, takeover, drop: one verb a file; rights; the mint |
//! | `fence/` | presented tokens, the check, the commit check, guards, fences of other servers |
//! | `fleet/` | workers, the shards that they share, who has which |
//! | `ops/` | for the people who run it: history, counters, refused writes, pictures; who is in the middle of work, ending those who are stale, the doctor |
//! | `arguments` | checks and refusals for the functions that are written in SQL |
//! | `mutant` | ways to break all this, for the fault test only |
//! | `entry` | which C symbol of sql/*.sql is which function here |
//!
//! The SQL that creates the objects is in `sql/`, in the order in which it runs.

#![deny(unsafe_code)]

::pgrx::pg_module_magic!(name, version);

mod arguments;
mod clock;
mod entry;
mod fence;
mod fleet;
mod lease;
mod mutant;
mod ops;
mod pg;
mod rules;

pgrx::extension_sql_file!("../sql/schema.sql", name = "schema", bootstrap);
pgrx::extension_sql_file!("../sql/clock.sql", name = "clock", requires = ["schema"]);
pgrx::extension_sql_file!("../sql/leases.sql", name = "leases", requires = ["clock"]);
pgrx::extension_sql_file!("../sql/access.sql", name = "access", requires = ["leases"]);
pgrx::extension_sql_file!("../sql/history.sql", name = "history", requires = ["access"]);
pgrx::extension_sql_file!("../sql/counters.sql", name = "counters", requires = ["history"]);
pgrx::extension_sql_file!("../sql/timeline.sql", name = "timeline", requires = ["counters"]);
pgrx::extension_sql_file!("../sql/fence.sql", name = "fence", requires = ["timeline"]);
pgrx::extension_sql_file!("../sql/keys.sql", name = "keys", requires = ["fence"]);
pgrx::extension_sql_file!("../sql/guards.sql", name = "guards", requires = ["keys"]);
pgrx::extension_sql_file!("../sql/row_guards.sql", name = "row_guards", requires = ["guards"]);
pgrx::extension_sql_file!("../sql/evict.sql", name = "evict", requires = ["guards"]);
pgrx::extension_sql_file!("../sql/fleet.sql", name = "fleet", requires = ["leases"]);
pgrx::extension_sql_file!("../sql/arguments.sql", name = "arguments", requires = ["row_guards"]);
pgrx::extension_sql_file!("../sql/once.sql", name = "once", requires = ["arguments"]);
pgrx::extension_sql_file!("../sql/work.sql", name = "work", requires = ["once", "fleet"]);
pgrx::extension_sql_file!("../sql/drain.sql", name = "drain", requires = ["work"]);
pgrx::extension_sql_file!(
    "../sql/views.sql",
    name = "views",
    requires = ["row_guards", "evict", "fleet", "once", "work", "drain", "timeline"]
);
pgrx::extension_sql_file!("../sql/doctor.sql", name = "doctor", requires = ["views"], finalize);
