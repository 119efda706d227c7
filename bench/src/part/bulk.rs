//! What a guard costs where one transaction writes more than a row: ten statements, a million rows.

use crate::bed::Bed;
use crate::estimate::Estimate;
use crate::mixed::Mixed;
use crate::plot::{Bar, Hue, bars};
use crate::report::Section;
use crate::rounds::Rounds;
use crate::scale::Scale;
use crate::target::{Target, Want, number, shown};
use crate::way::{self, Work};
use anyhow::{Result, ensure};
use postgres::Client;
use std::time::Instant;

const ROWS: u64 = 1_000_000;
/// For a trigger that asks for each row.
const FEWER_ROWS: u64 = 50_000;
const ROUNDS: usize = 15;
const FEWER_ROUNDS: usize = 5;

/// A table of one variant.
struct Variant {
    key: &'static str,
    title: &'static str,
    guard: &'static str,
    hue: Hue,
}

const UNGUARDED: Variant = Variant { key: "plain", title: "unguarded", guard: "", hue: Hue::Base };
const CURRENT: Variant = Variant {
    key: "current",
    title: "pg_lease, mode current",
    guard: "SELECT lease_guard('TABLE', 'job/bench')",
    hue: Hue::Ours,
};
const STATEMENT: Variant = Variant {
    key: "statement",
    title: "PL/pgSQL statement trigger, FOR SHARE",
    guard: "CREATE TRIGGER held BEFORE INSERT ON TABLE \
        FOR EACH STATEMENT EXECUTE FUNCTION check_held()",
    hue: Hue::Theirs,
};
const ROW: Variant = Variant {
    key: "row",
    title: "PL/pgSQL row trigger, FOR SHARE",
    guard: "CREATE TRIGGER held BEFORE INSERT ON TABLE FOR EACH ROW EXECUTE FUNCTION check_held()",
    hue: Hue::Theirs,
};

const ROW_GUARD: Variant = Variant {
    key: "rows",
    title: "pg_lease, row guard",
    guard: "SELECT lease_guard('TABLE', lease_column => 'chain', prefix => 'bulk:')",
    hue: Hue::Ours,
};

/// How the rows come in, and what must be reached.
struct Load {
    title: &'static str,
    prefix: &'static str,
    statement: &'static str,
    variants: &'static [Variant],
    rows: u64,
    /// Under how many leases they are.
    leases: u64,
    rounds: usize,
    bound: Option<f64>,
}

const SELECT: &str =
    "INSERT INTO TABLE SELECT n, 1, 'a note of usual length' FROM generate_series(1, ROWS) AS n";
const COPY: &str = "COPY TABLE FROM 'FILE'";
const MAIN: [Variant; 3] = [UNGUARDED, CURRENT, STATEMENT];
const BY_ROW: [Variant; 3] = [UNGUARDED, CURRENT, ROW];

const CHAINS: &str = "INSERT INTO TABLE SELECT n, 'c' || n % LEASES, 'a note of usual length' \
    FROM generate_series(1, ROWS) AS n";
const BY_LEASE: [Variant; 2] = [UNGUARDED, ROW_GUARD];
const LEASES: u64 = 10_000;

const LOADS: [Load; 12] = [
    load("INSERT … SELECT", "whole", SELECT, &MAIN, 0.99),
    load("COPY", "whole", COPY, &MAIN, 0.99),
    load("INSERT … SELECT into a partitioned table", "parted", SELECT, &MAIN, 0.98),
    load("COPY into a partitioned table", "parted", COPY, &MAIN, 0.98),
    Load { title: "INSERT … SELECT, triggers by row", ..fewer(SELECT) },
    Load { title: "COPY, triggers by row", ..fewer(COPY) },
    rows("INSERT … SELECT, a row guard", "chains", CHAINS, 1, Some(0.75)),
    rows("COPY, a row guard", "chains", COPY, 1, Some(0.75)),
    rows("INSERT … SELECT, a row guard, partitions", "chunks", CHAINS, 1, Some(0.45)),
    rows("COPY, a row guard, partitions", "chunks", COPY, 1, Some(0.45)),
    rows("INSERT … SELECT, a row guard, many leases", "chains", CHAINS, LEASES, None),
    rows("COPY, a row guard, many leases, partitions", "chunks", COPY, LEASES, None),
];

const fn rows(
    title: &'static str,
    prefix: &'static str,
    statement: &'static str,
    leases: u64,
    bound: Option<f64>,
) -> Load {
    Load { leases, bound, rounds: FEWER_ROUNDS, ..load(title, prefix, statement, &BY_LEASE, 0.0) }
}

const fn load(
    title: &'static str,
    prefix: &'static str,
    statement: &'static str,
    variants: &'static [Variant],
    bound: f64,
) -> Load {
    let (rows, rounds, bound) = (ROWS, ROUNDS, Some(bound));
    Load { title, prefix, statement, variants, rows, leases: 0, rounds, bound }
}

const fn fewer(statement: &'static str) -> Load {
    Load {
        title: "",
        prefix: "whole",
        statement,
        variants: &BY_ROW,
        rows: FEWER_ROWS,
        leases: 0,
        rounds: FEWER_ROUNDS,
        bound: None,
    }
}

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("bulk", scale)?;
    let mut section = Section::new("bulk", "Many rows, one transaction", &bed)?;
    ten_statements(&bed, &mut section)?;
    prepare(&bed)?;
    let mut client = bed.server.connect("postgres")?;
    let tokens = format!("{},{}", bed.presented(), acquire_many(&mut client)?);
    client.batch_execute(&format!("SET pg_lease.token = '{tokens}'; SET bench.token = 17"))?;
    for load in &LOADS {
        let rounds = load.measure(&bed, &mut client)?;
        load.report(scale, &rounds, &mut section)?;
    }
    Ok(section)
}

fn ten_statements(bed: &Bed, section: &mut Section) -> Result<()> {
    let ways = [way::UNGUARDED, way::CURRENT, way::NEWEST, way::STATEMENT_TRIGGER];
    for way in ways {
        way.prepare(bed, Work::Ten)?;
    }
    let mixed = Mixed::measure(bed, "bulk", Work::Ten, &ways)?;
    mixed.report(section);
    mixed.target(way::CURRENT, 0.985, section);
    mixed.target(way::NEWEST, 0.985, section);
    Ok(())
}

/// The leases of the row guards, in batches of the size that one call takes: what is presented.
fn acquire_many(client: &mut Client) -> Result<String> {
    for first in (0..LEASES).step_by(1_000) {
        client.execute(
            "SELECT lease_acquire_many(array_agg('bulk:c' || n), 'bench', '1 day') \
             FROM generate_series($1::bigint, $1 + 999) AS n",
            &[&(first as i64)],
        )?;
    }
    let all = "SELECT string_agg(name || '=' || token, ',') FROM lease.status \
        WHERE name LIKE 'bulk:%'";
    Ok(client.query_one(all, &[])?.get(0))
}

/// Tables without an index, which leaves the guard's share as large as it can be.
fn prepare(bed: &Bed) -> Result<()> {
    let amount = "(id bigint NOT NULL, amount integer NOT NULL, note text)";
    let chain = "(id bigint NOT NULL, chain text NOT NULL, note text)";
    for variant in [UNGUARDED, CURRENT, STATEMENT, ROW] {
        create(bed, &variant, ["whole", "parted"], amount)?;
    }
    for variant in BY_LEASE {
        create(bed, &variant, ["chains", "chunks"], chain)?;
    }
    for load in LOADS.iter().filter(|load| load.statement == COPY) {
        let second = if load.leases == 0 { "1" } else { "'c' || n % LEASES" };
        let select = format!(
            "SELECT n, {second}, 'a note of usual length' FROM generate_series(1, ROWS) AS n"
        );
        let select = load.filled(bed.scale, &select);
        bed.server.execute("postgres", &format!("COPY ({select}) TO '{}'", load.file(bed)))?;
    }
    Ok(())
}

/// The plain and the partitioned table of a variant.
fn create(bed: &Bed, variant: &Variant, prefixes: [&str; 2], columns: &str) -> Result<()> {
    let [plain, parted] = prefixes.map(|prefix| format!("{prefix}_{}", variant.key));
    let mut script = format!("CREATE TABLE {plain} {columns};");
    script += &format!("CREATE TABLE {parted} {columns} PARTITION BY HASH (id);");
    for part in 0..4 {
        script += &format!(
            "CREATE TABLE {parted}_{part} PARTITION OF {parted} \
             FOR VALUES WITH (MODULUS 4, REMAINDER {part});"
        );
    }
    for table in [plain, parted] {
        script += &variant.guard.replace("TABLE", &table);
        script += ";";
    }
    bed.server.execute("postgres", &script)
}

impl Variant {
    /// Empties its table; a row guard refuses TRUNCATE.
    fn empty(&self, table: &str) -> String {
        let truncate = format!("TRUNCATE {table}");
        if self.key != ROW_GUARD.key {
            return truncate;
        }
        let guard = self.guard.replace("TABLE", table);
        format!("BEGIN; SELECT lease_unguard('{table}'); {truncate}; {guard}; COMMIT")
    }
}

impl Load {
    fn rows(&self, scale: Scale) -> u64 {
        scale.pick(self.rows, FEWER_ROWS / 100)
    }

    /// Its file, in the server's own directory, which goes when the server does.
    fn file(&self, bed: &Bed) -> String {
        let name = format!("rows-{}-{}", self.rows(bed.scale), self.leases);
        bed.server.data_dir().join(name).display().to_string()
    }

    fn filled(&self, scale: Scale, statement: &str) -> String {
        let statement = statement.replace("ROWS", &self.rows(scale).to_string());
        statement.replace("LEASES", &self.leases.to_string())
    }

    /// Seconds.
    fn measure(&self, bed: &Bed, client: &mut Client) -> Result<Rounds> {
        let rows = self.rows(bed.scale);
        // what is there for comparison needs fewer rounds
        let every = [1, 1, self.rounds.div_ceil(FEWER_ROUNDS)];
        let all = bed.scale.rounds(self.rounds);
        Rounds::run(all, &every[..self.variants.len()], |round, at| {
            let variant = &self.variants[at];
            let table = format!("{}_{}", self.prefix, variant.key);
            let statement = self.statement.replace("FILE", &self.file(bed));
            let statement = self.filled(bed.scale, &statement.replace("TABLE", &table));
            client.batch_execute(&variant.empty(&table))?;
            client.batch_execute("CHECKPOINT")?;
            let began = Instant::now();
            let written = client.execute(&statement, &[])?;
            let took = began.elapsed().as_secs_f64();
            ensure!(written == rows, "{statement} wrote {written} rows");
            eprintln!(
                "bulk: {}, round {} of {all}: {took:.3} s {}",
                self.title,
                round + 1,
                variant.title
            );
            Ok(took)
        })
    }

    fn report(&self, scale: Scale, rounds: &Rounds, section: &mut Section) -> Result<()> {
        let title = format!("{}, {} rows", self.title, number(self.rows(scale) as f64));
        section.heading(&title);
        let speed = |at: usize| rounds.ratio(0, at);
        let rows = self.variants.iter().enumerate().map(|(at, variant)| {
            vec![variant.title.into(), shown(&rounds.estimate(at)), shown(&speed(at))]
        });
        section.table(&["guard", "seconds", "speed, unguarded = 1"], rows.collect());
        let drawn = self.variants.iter().enumerate().map(|(at, variant)| Bar {
            label: variant.title.into(),
            value: speed(at),
            hue: variant.hue,
        });
        let plot = bars(&title, "speed, unguarded = 1", &drawn.collect::<Vec<Bar>>());
        let name: String = self.title.chars().filter(char::is_ascii_alphabetic).collect();
        section.plot(&format!("bulk-{}", name.to_lowercase()), &title, &plot)?;
        if let Some(bound) = self.bound {
            let reached: Estimate = speed(1);
            section.target(Target::new(title, Want::AtLeast(bound), reached));
        }
        Ok(())
    }
}
