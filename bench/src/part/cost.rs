//! What a guarded transaction costs beside time: WAL, dead rows, multixacts, buffers, instructions.

use crate::bed::Bed;
use crate::callgrind::{self, Emulated, Profile, Run};
use crate::counters::{Moment, PerTransaction};
use crate::estimate::Estimate;
use crate::plot::{Bar, Hue, bars};
use crate::report::Section;
use crate::scale::{Length, Scale};
use crate::target::{Target, Want, number, of_clients};
use crate::way::{self, ROWS, Way, Work};
use anyhow::Result;

const WAYS: [Way; 10] = [
    way::UNGUARDED,
    way::CURRENT,
    way::LIVE,
    way::NEWEST,
    way::ROW_GUARD,
    way::CHECK_BLOCK,
    way::SEEDS,
    way::GALEWATCH,
    way::ROW_TRIGGER,
    way::STATEMENT_TRIGGER,
];
const COUNTED: [Way; 6] =
    [way::UNGUARDED, way::CURRENT, way::LIVE, way::NEWEST, way::ROW_GUARD, way::STATEMENT_TRIGGER];
const MODES: [Way; 3] = [way::CURRENT, way::LIVE, way::NEWEST];
/// The most that a guard may add, in instructions.
const BUDGET: f64 = 15_000.0;

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("cost", scale)?;
    let mut section = Section::new("cost", "What else a transaction costs", &bed)?;
    for way in WAYS {
        way.prepare(&bed, Work::Insert)?;
        way.prepare(&bed, Work::Update)?;
    }
    let works = scale.pick(&[Work::Insert, Work::Update][..], &[Work::Insert]);
    for work in works {
        left_behind(&bed, *work, 1, &mut section)?;
    }
    left_behind(&bed, Work::Insert, 16, &mut section)?;
    if !callgrind::is_there() {
        let why = "valgrind is not installed (`apt-get install valgrind`)";
        let what = "instructions that a guard adds";
        section.target(Target::not_measured(what, Want::Below(BUDGET), why));
        return Ok(section);
    }
    let emulated = Emulated::start(&bed)?;
    for work in works {
        instructions(&bed, &emulated, *work, &mut section)?;
    }
    Ok(section)
}

/// WAL and the rest, each way for itself.
fn left_behind(bed: &Bed, work: Work, clients: u32, section: &mut Section) -> Result<()> {
    let title = format!("{}, {}, each transaction", work.title(), of_clients(clients));
    let mut all = Vec::new();
    for way in WAYS {
        eprintln!("cost: {title}: {}", way.title);
        all.push((way, one(bed, way, work, clients)?));
    }
    section.heading(&title);
    let rows = all.iter().map(|(way, per)| {
        let numbers = [per.wal, per.wal_records, per.multixacts, per.dead, per.buffers];
        let numbers = numbers.map(|n| if n.abs() < 0.005 { "0".into() } else { format!("{n:.2}") });
        std::iter::once(way.title.to_owned()).chain(numbers).collect()
    });
    let heads =
        ["way", "WAL bytes", "WAL records", "multixacts", "dead lease or fence rows", "buffers"];
    section.table(&heads, rows.collect());
    targets(&title, &all, section);
    Ok(())
}

fn one(bed: &Bed, way: Way, work: Work, clients: u32) -> Result<PerTransaction> {
    let each = bed.scale.transactions(4_000 / clients);
    let cell = way.cell(bed, work, clients, Length::Transactions(each))?;
    let before = Moment::now(bed)?;
    cell.setting("synchronous_commit", "off").run(bed)?;
    before.until(&Moment::now(bed)?, bed, each * clients)
}

/// The worst of the modes, of each count.
fn targets(title: &str, all: &[(Way, PerTransaction)], section: &mut Section) {
    let Some((_, base)) = all.first() else { return };
    let modes = || all.iter().filter(|(way, _)| MODES.contains(way)).map(|(_, per)| per);
    let mut worst = |what: &str, bound: f64, count: fn(&PerTransaction, f64) -> f64| {
        let value = modes().map(|per| count(per, base.wal)).fold(f64::MIN, f64::max);
        let what = format!("{title}, the worst mode: {what}");
        section.target(Target::new(what, Want::AtMost(bound), Estimate::exact(value)));
    };
    worst("WAL / unguarded", 1.02, |per, base| per.wal / base);
    worst("multixacts", 0.0, |per, _| per.multixacts);
    worst("dead rows", 0.0, |per, _| per.dead);
}

/// Instructions of one transaction, and what the guard adds, part by part.
fn instructions(bed: &Bed, under: &Emulated, work: Work, section: &mut Section) -> Result<()> {
    let mut profiles = Vec::new();
    // each session takes seconds to begin there, so a tiny run compares one with itself
    let counted = bed.scale.pick(&COUNTED[..], &COUNTED[1..2]);
    for way in counted.iter().copied() {
        eprintln!("cost: instructions of a {}: {}", work.title(), way.title);
        profiles.push((way, count(bed, under, way, work)?));
    }
    section.heading(&format!("Instructions of a {}", work.title()));
    let Some((_, base)) = profiles.first().cloned() else { return Ok(()) };
    let rows = profiles.iter().map(|(way, profile)| {
        let added = profile.total() - base.total();
        vec![way.title.into(), number(profile.total()), number(added)]
    });
    section.table(&["way", "instructions", "more than unguarded"], rows.collect());
    for (way, profile) in &profiles {
        if MODES.contains(way) {
            let added = Estimate::exact(profile.total() - base.total());
            let what = format!("{}: instructions added by {}", work.title(), way.title);
            section.target(Target::new(what, Want::Below(BUDGET), added));
            breakdown(work, *way, profile, &base, section)?;
        }
    }
    Ok(())
}

fn count(bed: &Bed, under: &Emulated, way: Way, work: Work) -> Result<Profile> {
    let token = bed.presented();
    let script = way.script(work);
    let statement = script.lines().last().unwrap_or_default().trim_end_matches(';');
    let run = Run {
        database: "postgres",
        before: &format!("SET pg_lease.token = '{token}'; SET bench.token = 17"),
        statements: &[statement.replace(":id", "$1")],
        few: bed.scale.pick(200, 0),
        many: bed.scale.pick(1_200, 5),
    };
    under.count(&run, |client, prepared, at| {
        let id = i64::from(at % ROWS) + 1;
        let parameters: &[&(dyn postgres::types::ToSql + Sync)] =
            if work == Work::Update { &[&id] } else { &[] };
        client.execute(&prepared[0], parameters)?;
        Ok(())
    })
}

/// The parts of what a guard adds. What no part claims is the last one.
fn parts(profile: &Profile, base: &Profile) -> Vec<(&'static str, f64)> {
    // by the names that survive inlining; a read that is inlined shows by the calls it makes
    const READS: [&str; 9] = [
        "confirm",
        "obey",
        "newest_token",
        "lease_fence",
        "with_table",
        "find_by_index",
        "call_with_sigsetjmp",
        "table_open",
        "relation_close",
    ];
    const LOCKS: [&str; 2] = ["acquire", "try_lock"];
    let anywhere = |_: &str| true;
    let of_commit = |by: &str| by.contains("pg_lease::fence::commit::");
    let of_statement = |by: &str| by.contains("pg_lease::fence::") && !of_commit(by);
    let more =
        |callee: &str| profile.spent_in(&[callee], anywhere) - base.spent_in(&[callee], anywhere);
    let trigger = more("ExecBSInsertTriggers") + more("ExecBSUpdateTriggers");
    let guard = more("pg_lease_guard_writes");
    let read = profile.spent_in(&READS, of_statement);
    let presence = profile.spent_in(&LOCKS, of_statement);
    let commit_read = profile.spent_in(&READS, of_commit);
    let commit_lock = profile.spent_in(&LOCKS, of_commit);
    let callbacks = profile.spent_in(&["transaction_turns"], anywhere);
    let mut parts = vec![
        ("the executor calls a statement trigger", trigger - guard),
        ("the guard itself", guard - read - presence),
        ("the read at the statement", read),
        ("the presence lock", presence),
        ("the callbacks", callbacks - commit_read - commit_lock),
        ("the commit lock", commit_lock),
        ("the read at the commit", commit_read),
        ("releasing locks at the end of the transaction", more("LockReleaseAll")),
    ];
    let claimed: f64 = parts.iter().map(|(_, cost)| cost).sum();
    let rest = profile.total() - base.total() - claimed;
    parts.push(("elsewhere (the table's trigger list, resource owners, …)", rest));
    parts
}

fn breakdown(
    work: Work,
    way: Way,
    profile: &Profile,
    base: &Profile,
    section: &mut Section,
) -> Result<()> {
    let parts = parts(profile, base);
    let title = format!("{}: instructions added by {}", work.title(), way.title);
    let drawn = parts.iter().map(|(what, cost)| Bar {
        label: (*what).into(),
        value: Estimate::exact(*cost),
        hue: Hue::Ours,
    });
    let plot = bars(&title, "instructions of one transaction", &drawn.collect::<Vec<Bar>>());
    section.plot(&format!("cost-{}-{}", work.key(), way.key), &title, &plot)?;
    let rows = parts.iter().map(|(what, cost)| vec![(*what).into(), number(*cost)]);
    section.table(&[&title, "instructions"], rows.collect());
    if way == way::CURRENT {
        let rows = profile.growth(base, 25).into_iter().map(|(name, before, now)| {
            vec![format!("`{name}`"), number(before), number(now), number(now - before)]
        });
        section.table(&["function, by itself", "unguarded", "guarded", "more"], rows.collect());
    }
    Ok(())
}
