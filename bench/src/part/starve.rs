//! Whether a holder's own writers keep its renewals, or its successor, waiting.

use crate::bed::Bed;
use crate::estimate::{Estimate, quantile};
use crate::plot::{Bar, Hue, log_bars};
use crate::report::Section;
use crate::rounds::Rounds;
use crate::scale::Scale;
use crate::target::{Target, Want, number, shown};
use crate::writers::{self, Act, CAP, Guard, Outcome, Setup, WRITERS, Writer, impatient, is_stale};
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

const GUARDS: [Guard; 3] = [Guard::None, Guard::Ours, Guard::Share];
const ROUNDS: usize = 5;

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("starve", scale)?;
    let mut section = Section::new("starve", "Who waits for whom", &bed)?;
    writers::prepare(&bed)?;
    for thinking in [Duration::ZERO, Duration::from_millis(5)] {
        for act in [Act::Renew, Act::TakeOver] {
            stream(&bed, act, thinking, &mut section)?;
        }
    }
    one_open_transaction(&bed, &mut section)?;
    Ok(section)
}

/// One act under a stream of writers, guard by guard.
fn stream(bed: &Bed, act: Act, thinking: Duration, section: &mut Section) -> Result<()> {
    let inside = match thinking.as_millis() {
        0 => "without a pause in the transaction".to_owned(),
        ms => format!("with {ms} ms in each transaction"),
    };
    let title = format!("How long {} waits under {WRITERS} writers, {inside}", act.title());
    let lasting = Duration::from_millis(bed.scale.pick(3_000, 100));
    let mut outcomes: Vec<Vec<Outcome>> = GUARDS.iter().map(|_| Vec::new()).collect();
    for round in 0..bed.scale.rounds(ROUNDS) {
        for (guard, all) in GUARDS.into_iter().zip(&mut outcomes) {
            let outcome = Setup { guard, act, thinking, lasting }.run(bed)?;
            let p50 = quantile(&outcome.waits, 0.5);
            eprintln!("starve: {title}, round {}: {p50:.2} ms, {}", round + 1, guard.title());
            all.push(outcome);
        }
    }
    let act = if act == Act::Renew { "renewal" } else { "takeover" };
    let name = format!("starve-{act}-{}ms", thinking.as_millis());
    report(&name, &title, &outcomes, section)
}

fn report(name: &str, title: &str, outcomes: &[Vec<Outcome>], section: &mut Section) -> Result<()> {
    let all_of = |guard: usize| {
        let mut all: Vec<f64> = outcomes[guard].iter().flat_map(|o| o.waits.clone()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    section.heading(title);
    let mut drawn = Vec::new();
    let mut rows = Vec::new();
    for (at, guard) in GUARDS.iter().enumerate() {
        let waits = all_of(at);
        for share in [0.5, 0.99] {
            drawn.push(Bar {
                label: format!("{}, p{:.0}", guard.title(), share * 100.0),
                value: Estimate::exact(quantile(&waits, share)),
                hue: hue(*guard),
            });
        }
        rows.push(row(*guard, &waits, &outcomes[at]));
    }
    let heads =
        ["", "calls", "p50 ms", "p95 ms", "p99 ms", "given up", "written/s", "writes refused"];
    section.table(&heads, rows);
    let unit = format!("milliseconds; given up after {} s", CAP.as_secs());
    section.plot(name, title, &log_bars(title, &unit, &drawn))?;
    for (quantile_name, share, bound) in [("p50", 0.5, 1.2), ("p99", 0.99, 2.0)] {
        let of_rounds = |outcomes: &Vec<Outcome>| {
            outcomes.iter().map(|outcome| quantile(&outcome.waits, share)).collect::<Vec<f64>>()
        };
        let ratio = Rounds::of(outcomes.iter().map(of_rounds).collect()).ratio(1, 0);
        let what = format!("{title}: {quantile_name} / the same without a guard");
        section.target(Target::new(what, Want::AtMost(bound), ratio));
    }
    Ok(())
}

fn row(guard: Guard, waits: &[f64], outcomes: &[Outcome]) -> Vec<String> {
    let rates: Vec<f64> = outcomes.iter().map(|outcome| outcome.written_per_second).collect();
    let given_up: usize = outcomes.iter().map(|outcome| outcome.given_up).sum();
    let refused: u64 = outcomes.iter().map(|outcome| outcome.refused).sum();
    vec![
        guard.title().into(),
        waits.len().to_string(),
        number(quantile(waits, 0.5)),
        number(quantile(waits, 0.95)),
        number(quantile(waits, 0.99)),
        given_up.to_string(),
        number(Estimate::of(&rates).median),
        refused.to_string(),
    ]
}

fn hue(guard: Guard) -> Hue {
    match guard {
        Guard::None => Hue::Base,
        Guard::Ours => Hue::Ours,
        Guard::Share => Hue::Theirs,
    }
}

/// One transaction of the holder's that is open and does nothing: a client that thinks, or is
/// frozen. The server cannot tell them apart.
fn one_open_transaction(bed: &Bed, section: &mut Section) -> Result<()> {
    section.heading("While one transaction of the holder's is open");
    let mut rows = Vec::new();
    for (act, what) in [
        (Act::Renew, "the holder's renewal, while its own transaction is open"),
        (Act::TakeOver, "a takeover, while a frozen holder's transaction is open"),
    ] {
        let ours = while_open(bed, Guard::Ours, act, bed.scale.pick(50, 3))?;
        let share = while_open(bed, Guard::Share, act, 1)?;
        let share = if share[0] >= CAP.as_secs_f64() * 1_000.0 {
            format!("given up after {} s", CAP.as_secs())
        } else {
            number(share[0])
        };
        let estimate = Estimate::of(&ours);
        rows.push(vec![what.into(), shown(&estimate), share]);
        let what = format!("{what}: median in ms");
        section.target(Target::new(what, Want::Below(10.0), estimate));
    }
    section.table(&["", "pg_lease, ms", "FOR SHARE, ms"], rows);
    Ok(())
}

/// How long the act takes, in ms, each time while a transaction under the token is open.
fn while_open(bed: &Bed, guard: Guard, act: Act, times: usize) -> Result<Vec<f64>> {
    let mut holder = Writer::connect(bed, guard)?;
    let mut one = impatient(bed)?;
    let mut waits = Vec::new();
    for _ in 0..times {
        let token = guard.token(&mut one)?;
        ensure!(holder.write(token)?, "the holder's write was refused");
        let asked = Instant::now();
        let granted = act.perform(&mut one, guard, token)?;
        waits.push(asked.elapsed().max(if granted.is_none() { CAP } else { Duration::ZERO }));
        let committed = holder.commit();
        match (act, granted, &committed) {
            (Act::TakeOver, Some(_), Err(error)) if is_stale(error) => {}
            (Act::TakeOver, Some(_), _) => {
                ensure!(false, "the holder committed after the takeover: {committed:?}");
            }
            _ => committed?,
        }
    }
    Ok(waits.iter().map(|wait| wait.as_secs_f64() * 1_000.0).collect())
}
