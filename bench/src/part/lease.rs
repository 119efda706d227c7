//! What acquiring, renewing and the rest cost, beside the plain statement that does the same.

use crate::bed::Bed;
use crate::estimate::Estimate;
use crate::op::{self, Op};
use crate::pgbench::Cell;
use crate::plot::{Bar, Hue, bars};
use crate::report::Section;
use crate::rounds::Rounds;
use crate::scale::{Length, Scale};
use crate::target::{Target, Want, number, of_clients, shown};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

/// Where leases are, and which of them a client picks from.
#[derive(Clone, Copy)]
struct Leases {
    database: &'static str,
    count: u32,
    /// How many clients' leases lie side by side: the distance between two of one client.
    apart: u32,
}

/// The most clients there are.
const CLIENTS: u32 = 16;
/// The database with few leases, and the one with many.
const FEW: Leases = Leases { database: "postgres", count: 1_000, apart: CLIENTS };
const MANY: Leases = Leases { database: "many", count: 1_000_000, apart: CLIENTS };
/// As many of the many as a client has of the few: a worker that goes on with its own.
const OWN_OF_MANY: Leases = Leases { apart: CLIENTS * 1_000, ..MANY };
const BATCH: u32 = 256;
const SECONDS: u32 = 1;

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("lease", scale)?;
    let mut section = Section::new("lease", "The leases themselves", &bed)?;
    bed.server.create_database(MANY.database)?;
    bed.server.create_extension(MANY.database)?;
    for of in [FEW, MANY] {
        fill(&bed, of.database, leases(scale, of.count))?;
    }
    check_scripts(&bed)?;
    alone(&bed, &mut section)?;
    batch(&bed, &mut section)?;
    together(&bed, &mut section)?;
    few_and_many(&bed, &mut section)?;
    super::bloat::measure(&bed, &mut section)?;
    Ok(section)
}

fn leases(scale: Scale, full: u32) -> u32 {
    scale.pick(full, full.min(2_000))
}

fn fill(bed: &Bed, database: &str, count: u32) -> Result<()> {
    eprintln!("lease: making {count} leases in {database}");
    let script = include_str!("../../sql/leases.sql").replace(":count", &count.to_string());
    bed.server.execute(database, &script)?;
    for table in ["lease.lease", "plain_lease"] {
        bed.server.execute(database, &format!("VACUUM ANALYZE {table}"))?;
    }
    // no checkpoint: the first change of each page after one writes the whole page to the WAL,
    // which a million leases that are renewed once would pay each, and leases in use do not
    Ok(())
}

/// A statement that finds no row is fast, and worth nothing.
fn check_scripts(bed: &Bed) -> Result<()> {
    let mut client = bed.server.connect("postgres")?;
    for op in [op::RENEW, op::ACQUIRE, op::REACQUIRE, op::TAKEOVER, op::REFUSED] {
        for text in [op.ours(), op.plain()] {
            let statement = text.lines().last().unwrap_or_default().replace(":k", "1");
            client.batch_execute("BEGIN")?;
            let rows = client.query(&statement, &[])?;
            client.batch_execute("ROLLBACK")?;
            ensure!(rows.len() == 1, "{statement} found {} rows", rows.len());
            let status = rows[0].try_get::<_, String>("status").ok();
            let wanted = if op == op::REFUSED { "held" } else { "granted" };
            let renews = op == op::RENEW || op == op::REACQUIRE;
            let wanted = if renews { "renewed" } else { wanted };
            ensure!(status.is_none_or(|s| s == wanted), "{statement} was not {wanted}");
        }
    }
    Ok(())
}

fn cell(bed: &Bed, script: PathBuf, clients: u32, length: Length, of: Leases) -> Cell {
    let mut cell = Cell::new(script, clients, length);
    cell.database = of.database;
    let (count, apart) = (leases(bed.scale, of.count), bed.scale.pick(of.apart, CLIENTS));
    let own = count / 2 / apart;
    let cell = cell.variable("leases", count).variable("own", own).variable("apart", apart);
    cell.setting("session_preload_libraries", "pg_lease").setting("synchronous_commit", "on")
}

/// One client that picks ours or the plain statement at random. The speed of ours, plain = 1.
fn paired(bed: &Bed, what: &str, ours: &str, plain: &str, of: Leases) -> Result<Pair> {
    let ours = bed.script(&format!("{what}_ours"), ours)?;
    let plain = bed.script(&format!("{what}_plain"), plain)?;
    let length = bed.scale.pick(Length::Seconds(SECONDS), Length::Transactions(30));
    let mut cell = cell(bed, plain, 1, length, of);
    cell.scripts.push(ours);
    let mut pair = Pair { ours: Vec::new(), plain: Vec::new() };
    for round in 0..bed.scale.rounds(7) {
        eprintln!("lease: {what}, 1 client, round {}", round + 1);
        let latencies = cell.run(bed)?.latencies_ms;
        pair.plain.push(*latencies.first().context("no latency")?);
        pair.ours.push(*latencies.get(1).context("no latency")?);
    }
    Ok(pair)
}

/// Latencies in ms, a value a round.
struct Pair {
    ours: Vec<f64>,
    plain: Vec<f64>,
}

impl Pair {
    fn speed(&self) -> Estimate {
        Estimate::of_ratios(&self.plain, &self.ours)
    }

    fn time(&self) -> Estimate {
        Estimate::of_ratios(&self.ours, &self.plain)
    }

    fn row(&self, ours: &str, plain: &str) -> Vec<String> {
        let latencies = [&self.ours, &self.plain].map(|all| shown(&Estimate::of(all)));
        let [mine, theirs] = latencies;
        vec![ours.into(), mine, plain.into(), theirs, shown(&self.speed())]
    }
}

const HEADS: [&str; 5] = ["pg_lease", "ms", "plain SQL", "ms", "speed, plain = 1"];

fn alone(bed: &Bed, section: &mut Section) -> Result<()> {
    let mut pairs = Vec::new();
    for op in op::ALL {
        pairs.push((op, paired(bed, op.key, &op.ours(), &op.plain(), FEW)?));
    }
    let title = "Beside plain SQL, 1 client, mixed transaction by transaction";
    section.heading(title);
    let rows = pairs.iter().map(|(op, pair)| pair.row(op.title, op.plain_title));
    section.table(&HEADS, rows.collect());
    let drawn = pairs.iter().map(|(op, pair)| Bar {
        label: format!("{} / {}", op.title, op.plain_title),
        value: pair.speed(),
        hue: Hue::Ours,
    });
    let plot = bars(title, "speed, plain SQL = 1", &drawn.collect::<Vec<Bar>>());
    section.plot("lease-alone", title, &plot)?;
    if let Some((op, pair)) = pairs.iter().find(|(op, _)| *op == op::RENEW) {
        let what = format!("{}, 1 client / {}", op.title, op.plain_title);
        section.target(Target::new(what, Want::AtLeast(0.9), pair.speed()));
    }
    Ok(())
}

fn batch(bed: &Bed, section: &mut Section) -> Result<()> {
    let (ours, plain) = op::renew_many(BATCH);
    let mut rows = Vec::new();
    for of in [FEW, MANY] {
        let pair = paired(bed, "renew_many", &ours, &plain, of)?;
        let among = format!("among {} leases", number(leases(bed.scale, of.count).into()));
        let ours = format!("lease_renew_many of {BATCH}, {among}");
        rows.push(pair.row(&ours, "one UPDATE … WHERE name = ANY"));
        let what = format!("{ours}: time / one UPDATE … WHERE name = ANY");
        section.target(Target::new(what, Want::AtMost(1.25), pair.time()));
    }
    section.heading("A batch of renewals");
    section.table(&HEADS, rows);
    Ok(())
}

/// In rounds: sixteen clients, and one where a call is too short for pgbench's latencies, which are
/// rounded to microseconds.
fn together(bed: &Bed, section: &mut Section) -> Result<()> {
    section.heading("Beside plain SQL, in rounds");
    let mut rows = Vec::new();
    for (op, clients, bound) in [
        (op::REFUSED, 1, Some(0.85)),
        (op::REFUSED, 16, Some(0.85)),
        (op::RENEW, 16, Some(0.9)),
        (op::ACQUIRE, 16, None),
    ] {
        let rounds = rates(bed, op, clients, &[(false, FEW), (true, FEW)])?;
        let ratio = rounds.ratio(1, 0);
        let title = format!("{}, {}", op.title, of_clients(clients));
        let (mine, theirs) = (number(rounds.median(1)), number(rounds.median(0)));
        rows.push(vec![title.clone(), mine, op.plain_title.into(), theirs, shown(&ratio)]);
        if let Some(bound) = bound {
            let what = format!("{title} / {}", op.plain_title);
            section.target(Target::new(what, Want::AtLeast(bound), ratio));
        }
    }
    let heads = ["pg_lease", "calls/s", "plain SQL", "calls/s", "ratio"];
    section.table(&heads, rows);
    Ok(())
}

/// Calls per second, of ours or of the plain statement, in one or the other database.
fn rates(bed: &Bed, op: Op, clients: u32, variants: &[(bool, Leases)]) -> Result<Rounds> {
    let mut cells = Vec::new();
    for (is_ours, of) in variants {
        let (name, text) = if *is_ours { ("ours", op.ours()) } else { ("plain", op.plain()) };
        let script = bed.script(&format!("{}_{name}", op.key), &text)?;
        cells.push(cell(bed, script, clients, bed.scale.seconds(SECONDS), *of));
    }
    let all = bed.scale.rounds(7);
    Rounds::run(all, &vec![1; cells.len()], |round, at| {
        let rate = cells[at].run(bed)?.per_second;
        let (is_ours, of) = variants[at];
        let title = if is_ours { op.title } else { op.plain_title };
        let clients = of_clients(clients);
        eprintln!(
            "lease: {title}, {clients}, {}, round {} of {all}: {rate:.0}/s",
            of.count,
            round + 1
        );
        Ok(rate)
    })
}

fn few_and_many(bed: &Bed, section: &mut Section) -> Result<()> {
    let [few, many] = [FEW, MANY].map(|of| number(leases(bed.scale, of.count).into()));
    section.heading(&format!("With {few} and with {many} leases in the table"));
    let mut rows = Vec::new();
    for op in [op::RENEW, op::ACQUIRE] {
        let ours = [(true, FEW), (true, OWN_OF_MANY), (true, MANY)];
        let plain = [(false, FEW), (false, OWN_OF_MANY), (false, MANY)];
        let rounds = rates(bed, op, 1, &[ours, plain].concat())?;
        for (at, picked) in [(1, "a session's own leases"), (2, "any lease, at random")] {
            let (ours, plain) = (rounds.ratio(0, at), rounds.ratio(3, 3 + at));
            rows.push(vec![op.title.into(), picked.into(), shown(&ours), shown(&plain)]);
            let what = format!("{}, {picked}: time with {many} leases / with {few}", op.title);
            section.target(Target::new(what, Want::AtMost(1.15), ours));
        }
    }
    let heads = ["call", "of", "time with many / with few", "the same of the plain statement"];
    section.table(&heads, rows);
    Ok(())
}
