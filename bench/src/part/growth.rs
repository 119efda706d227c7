//! Whether a guarded transaction costs more when there is more of anything.

use crate::bed::{Bed, LEASE};
use crate::callgrind::{self, Emulated, Profile, Run};
use crate::estimate::Estimate;
use crate::plot::{Line, lines};
use crate::report::Section;
use crate::scale::Scale;
use crate::target::{Target, Want, number, thousands};
use anyhow::Result;

/// More of one thing.
struct Series {
    title: &'static str,
    points: Vec<Point>,
}

/// A guarded transaction, and the same without a guard.
struct Point {
    count: u32,
    database: String,
    guarded: Vec<String>,
    unguarded: Vec<String>,
    /// How often the statements run in one transaction.
    times: u32,
}

/// What the guard adds to one transaction.
struct Added {
    /// By the difference of the totals, which scatters with everything else that the server does.
    all: f64,
    /// Inside the guard's own functions, which does not.
    own: f64,
    unguarded: f64,
}

impl Added {
    /// What a target asks of the clock, in instructions: the clock cannot tell so little.
    fn target(&self, what: &str, at_least: f64) -> Target {
        let ratio = Estimate::exact(self.unguarded / (self.unguarded + self.all));
        let what = format!("{what}: instructions, unguarded / guarded");
        Target::new(what, Want::AtLeast(at_least), ratio)
    }
}

/// The targets that hold for a series at one of its points.
fn targets(title: &str, count: u32) -> Option<(String, f64)> {
    let rows = thousands(count.into());
    match (title, count) {
        (ROWS, 10_000..) => Some((format!("INSERT … SELECT, {rows} rows"), 0.99)),
        (COPIED, 10_000..) => Some((format!("COPY, {rows} rows"), 0.99)),
        _ => None,
    }
}

const COLUMNS: &str = "(amount integer NOT NULL, note text)";
const ROWS: &str = "rows in the statement";
const COPIED: &str = "rows in a COPY";
const MOST_LEASES: u32 = 100;

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("growth", scale)?;
    let mut section = Section::new("growth", "What grows, and what does not", &bed)?;
    if !callgrind::is_there() {
        section.paragraph("Not measured: valgrind is not installed (`apt-get install valgrind`).");
        return Ok(section);
    }
    let token = prepare_own(&bed)?;
    let all = [
        leases(&bed)?,
        guarded_tables(&bed)?,
        statements(&bed),
        rows(&bed),
        copied(&bed)?,
        guards_on_one_table(&bed),
        leases_in_one_transaction(&bed),
    ];
    let emulated = Emulated::start(&bed)?;
    section.paragraph(HOW);
    let mut drawn = Vec::new();
    for series in all.iter().take(scale.pick(all.len(), 1)) {
        drawn.push(measure(&bed, &emulated, &token, series, &mut section)?);
    }
    let title = "Instructions in the guard's own functions, for one transaction";
    let plot = lines(title, "how many", "instructions", &drawn);
    section.plot("growth", title, &plot)?;
    Ok(section)
}

const HOW: &str = "\
Instructions of one transaction by callgrind, on tables without an index. What the guard adds is
given twice: as the difference of the totals, guarded less unguarded, and as what is spent inside
its own functions (the trigger function and the callbacks), which leaves out the executor's trigger
call and the release of locks but hardly scatters.";

fn plain() -> Vec<String> {
    vec![insert("plain")]
}

fn insert(table: &str) -> String {
    format!("INSERT INTO {table} (amount, note) VALUES (1, 'a note of usual length')")
}

/// Tables and leases in the part's own database. Returns what the sessions present.
fn prepare_own(bed: &Bed) -> Result<String> {
    let mut client = bed.server.connect("postgres")?;
    tables(&mut client)?;
    let take = "SELECT name || '=' || token, name FROM lease_acquire_many(ARRAY(\
        SELECT 'many/' || n FROM generate_series(1, $1::integer) AS n), 'bench', '1 day')";
    let count = most_leases(bed.scale);
    let taken = client.query(take, &[&(count as i32)])?;
    let mut token: Vec<String> = taken.iter().map(|row| row.get(0)).collect();
    token.push(format!("{LEASE}={}", bed.token));
    for at in 1..=count {
        client.batch_execute(&format!(
            "CREATE TABLE under_{at} {COLUMNS}; SELECT lease_guard('under_{at}', 'many/{at}')"
        ))?;
    }
    for guards in [2, 4, 8] {
        client.batch_execute(&format!("CREATE TABLE guards_{guards} {COLUMNS}"))?;
        for lease in 1..=guards.min(count) {
            client
                .batch_execute(&format!("SELECT lease_guard('guards_{guards}', 'many/{lease}')"))?;
        }
    }
    Ok(token.join(","))
}

fn most_leases(scale: Scale) -> u32 {
    scale.pick(MOST_LEASES, 2)
}

fn tables(client: &mut postgres::Client) -> Result<()> {
    client.batch_execute(&format!(
        "CREATE TABLE plain {COLUMNS}; CREATE TABLE guarded {COLUMNS}; \
         SELECT lease_guard('guarded', '{LEASE}')"
    ))?;
    Ok(())
}

/// A database of its own, in which the same token is good.
fn database(bed: &Bed, name: &str) -> Result<postgres::Client> {
    eprintln!("growth: making {name}");
    bed.server.create_database(name)?;
    bed.server.create_extension(name)?;
    let mut client = bed.server.connect(name)?;
    client.execute(
        "INSERT INTO lease.lease \
         (token, expires_at, since, acquisitions, home, ttl_ms, role, name, owner) \
         SELECT $1, clock_timestamp() + '1 day', clock_timestamp(), 1, lease.home(), 86400000, \
         current_user::regrole, $2, 'bench'",
        &[&bed.token, &LEASE],
    )?;
    tables(&mut client)?;
    Ok(client)
}

fn one(count: u32, database: &str) -> Point {
    let guarded = vec![insert("guarded")];
    Point { count, database: database.into(), guarded, unguarded: plain(), times: 1 }
}

fn leases(bed: &Bed) -> Result<Series> {
    let mut points = vec![one(1, "postgres")];
    for count in bed.scale.pick(&[1_000, 1_000_000][..], &[]) {
        let name = format!("leases_{count}");
        let mut client = database(bed, &name)?;
        let fill = include_str!("../../sql/leases.sql").replace(":count", &count.to_string());
        let fill = fill.split("CREATE TABLE").next().unwrap_or_default();
        client.batch_execute(fill)?;
        client.batch_execute("VACUUM ANALYZE lease.lease")?;
        points.push(one(*count, &name));
    }
    Ok(Series { title: "leases in the table", points })
}

fn guarded_tables(bed: &Bed) -> Result<Series> {
    let mut points = vec![one(1, "postgres")];
    for count in bed.scale.pick(&[100, 1_000][..], &[]) {
        let name = format!("guards_{count}");
        let mut client = database(bed, &name)?;
        client.batch_execute(&format!(
            "DO $$ BEGIN FOR n IN 2..{count} LOOP \
             EXECUTE format('CREATE TABLE other_%s {COLUMNS}', n); \
             PERFORM lease_guard(format('other_%s', n)::regclass, '{LEASE}'); END LOOP; END $$"
        ))?;
        points.push(one(*count, &name));
    }
    Ok(Series { title: "guarded tables in the database", points })
}

fn statements(bed: &Bed) -> Series {
    let counts = bed.scale.pick(&[1, 10, 100][..], &[2]);
    let point = |count: &u32| Point { times: *count, ..one(*count, "postgres") };
    let points = counts.iter().map(point).collect();
    Series { title: "statements in the transaction", points }
}

fn rows(bed: &Bed) -> Series {
    let counts = bed.scale.pick(&[1, 100, 10_000][..], &[2]);
    let select = |table: &str, rows: u32| {
        vec![format!(
            "INSERT INTO {table} SELECT 1, 'a note of usual length' FROM generate_series(1, {rows})"
        )]
    };
    let point = |count: &u32| Point {
        guarded: select("guarded", *count),
        unguarded: select("plain", *count),
        ..one(*count, "postgres")
    };
    Series { title: ROWS, points: counts.iter().map(point).collect() }
}

/// Rows from a file of the server's own.
fn copied(bed: &Bed) -> Result<Series> {
    let mut client = bed.server.connect("postgres")?;
    let directory: String = client.query_one("SHOW data_directory", &[])?.get(0);
    let mut points = Vec::new();
    for count in bed.scale.pick(&[100, 10_000][..], &[2]) {
        let file = format!("{directory}/{count}.rows");
        client.batch_execute(&format!(
            "COPY (SELECT 1, 'a note of usual length' FROM generate_series(1, {count})) TO '{file}'"
        ))?;
        let copy = |table: &str| vec![format!("COPY {table} FROM '{file}'")];
        let (guarded, unguarded) = (copy("guarded"), copy("plain"));
        points.push(Point { guarded, unguarded, ..one(*count, "postgres") });
    }
    Ok(Series { title: COPIED, points })
}

fn guards_on_one_table(bed: &Bed) -> Series {
    let counts = bed.scale.pick(&[2, 4, 8][..], &[2]);
    let point = |count: &u32| Point {
        guarded: vec![insert(&format!("guards_{count}"))],
        ..one(*count, "postgres")
    };
    let points = std::iter::once(one(1, "postgres")).chain(counts.iter().map(point)).collect();
    Series { title: "leases that guard the table", points }
}

fn leases_in_one_transaction(bed: &Bed) -> Series {
    let counts = bed.scale.pick(&[1, 10, 60, 100][..], &[2]);
    let point = |count: &u32| Point {
        guarded: (1..=*count).map(|at| insert(&format!("under_{at}"))).collect(),
        unguarded: (1..=*count).map(|_| insert("plain")).collect(),
        ..one(*count, "postgres")
    };
    let points = counts.iter().map(point).collect();
    Series { title: "tables, each under a lease of its own, in the transaction", points }
}

fn measure(
    bed: &Bed,
    under: &Emulated,
    token: &str,
    series: &Series,
    section: &mut Section,
) -> Result<Line> {
    section.heading(series.title);
    let mut line = Line { label: series.title.into(), points: Vec::new() };
    let mut rows = Vec::new();
    for point in &series.points {
        eprintln!("growth: {} {}", point.count, series.title);
        let added = point.added(bed, under, token)?;
        line.points.push((f64::from(point.count), added.own));
        if let Some((what, at_least)) = targets(series.title, point.count) {
            section.target(added.target(&what, at_least));
        }
        let numbers = [added.unguarded, added.all, added.own].map(number);
        rows.push(std::iter::once(thousands(point.count.into())).chain(numbers).collect());
    }
    let heads = [series.title, "unguarded", "added, by difference", "in the guard's own functions"];
    section.table(&heads, rows);
    Ok(line)
}

impl Point {
    fn added(&self, bed: &Bed, under: &Emulated, token: &str) -> Result<Added> {
        let guarded = self.count(bed, under, token, &self.guarded)?;
        let unguarded = self.count(bed, under, token, &self.unguarded)?;
        let own = guarded.spent_in(&["pg_lease_guard_writes", "transaction_turns"], |_| true);
        let all = guarded.total() - unguarded.total();
        Ok(Added { all, own, unguarded: unguarded.total() })
    }

    fn count(
        &self,
        bed: &Bed,
        under: &Emulated,
        token: &str,
        statements: &[String],
    ) -> Result<Profile> {
        // as many transactions as take a second or two there
        let heavy = self.times as usize * statements.len() > 1 || statements[0].contains("10000");
        let run = Run {
            database: &self.database,
            before: &format!("SET pg_lease.token = '{token}'"),
            statements,
            few: bed.scale.pick(if heavy { 5 } else { 50 }, 0),
            many: bed.scale.pick(if heavy { 25 } else { 350 }, 3),
        };
        under.count(&run, |client, prepared, _| {
            let is_alone = self.times == 1 && prepared.len() == 1;
            if !is_alone {
                client.batch_execute("BEGIN")?;
            }
            for statement in (0..self.times).flat_map(|_| prepared) {
                client.execute(statement, &[])?;
            }
            if !is_alone {
                client.batch_execute("COMMIT")?;
            }
            Ok(())
        })
    }
}
