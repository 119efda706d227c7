//! What the demo says of a night follows from the logs and the counts, and a night that did not
//! come out is noticed.

mod common;

use anyhow::{Context, Result};
use common::nights;
use galewatch::event::{Doing, Event};
use galewatch::log;
use galewatch::night::{BOX_2, BOX_3, Counts};
use galewatch::words::tell;

#[test]
fn both_recorded_nights_came_out() -> Result<()> {
    for night in nights()? {
        assert_eq!(night.gaps(), Vec::<&str>::new());
    }
    Ok(())
}

#[test]
fn a_guarded_night_that_loses_readings_did_not_come_out() -> Result<()> {
    let [_, mut guarded] = nights()?;
    guarded.counts.lost = 1;
    assert_eq!(guarded.gaps(), ["the guarded night lost readings"]);
    Ok(())
}

#[test]
fn an_unguarded_night_that_loses_nothing_did_not_come_out() -> Result<()> {
    let [mut unguarded, _] = nights()?;
    unguarded.counts.lost = 0;
    assert_eq!(unguarded.gaps(), ["the unguarded night lost nothing"]);
    Ok(())
}

#[test]
fn counts_that_the_logs_do_not_explain_are_noticed() -> Result<()> {
    let [_, mut guarded] = nights()?;
    guarded.counts = Counts { on_shard3: 7_200, ..guarded.counts };
    assert_eq!(guarded.gaps(), ["the movers' logs and the databases disagree"]);
    Ok(())
}

#[test]
fn a_night_in_which_box_2_was_never_told_did_not_come_out() -> Result<()> {
    let [_, mut guarded] = nights()?;
    guarded.entries.retain(|entry| !matches!(entry.event, Event::Lost { .. }));
    assert_eq!(guarded.gaps(), ["box 2 did not learn that it had lost the lease"]);
    Ok(())
}

#[test]
fn box_2_holds_the_lease_to_its_expiry_and_box_3_from_its_grant() -> Result<()> {
    let [unguarded, _] = nights()?;
    let tenures = unguarded.tenures();
    let (_, expires_us) = unguarded.last_renewal().context("box 2 never renewed")?;
    assert_eq!(tenures.iter().map(|t| t.who.as_str()).collect::<Vec<_>>(), [BOX_2, BOX_3]);
    assert_eq!(tenures[0].held.to_us, expires_us);
    assert!(tenures[1].held.from_us > expires_us && tenures[1].token > tenures[0].token);
    Ok(())
}

#[test]
fn the_unguarded_story_ends_with_the_tidy_up() -> Result<()> {
    let [unguarded, _] = nights()?;
    let told: Vec<String> = tell(&unguarded).into_iter().map(|line| line.text).collect();
    let ends = [
        "box 2 goes on (SIGCONT)",
        "box 2 has copied AP-0163: 7,200 read, 7,200 written",
        "box 2 asks to renew, and learns that the lease is lost",
        "box 2 tidies up AP-0163 on shard 3: 14,400 rows deleted",
        "box 3 has been through all 133 turbines",
    ];
    assert_eq!(told[told.len() - ends.len()..], ends);
    assert!(told.contains(&"box 2 renews for the last time, with 1 turbines copied".to_owned()));
    Ok(())
}

#[test]
fn the_guarded_story_has_the_refusals() -> Result<()> {
    let [unguarded, guarded] = nights()?;
    let told: Vec<String> = tell(&guarded).into_iter().map(|line| line.text).collect();
    assert!(told.contains(&"box 2 tidies up AP-0163 on shard 3: refused".to_owned()));
    let error = guarded.refusal(Doing::TidyingUp).context("nothing was refused")?;
    assert_eq!(error.lines()[0], "ERROR:  55000: token 28750272553355 of lease \"mover\" is stale");
    assert_eq!(unguarded.refusal(Doing::TidyingUp), None);
    Ok(())
}

#[test]
fn lines_are_in_the_order_of_time() -> Result<()> {
    for night in nights()? {
        assert!(tell(&night).is_sorted_by(|a, b| a.seconds <= b.seconds));
    }
    Ok(())
}

#[test]
fn a_log_reads_as_it_was_written() -> Result<()> {
    let [_, guarded] = nights()?;
    assert_eq!(log::parse(&log::format(&guarded.entries)?)?, guarded.entries);
    Ok(())
}

#[test]
fn the_line_that_is_being_written_does_not_count_yet() -> Result<()> {
    let whole = r#"{"at_us":1,"who":"box-2","event":"renewed","expires_us":2}"#;
    assert_eq!(log::parse(&format!("{whole}\n{}", &whole[..20]))?.len(), 1);
    assert_eq!(log::parse(&whole[..20])?.len(), 0);
    Ok(())
}

#[test]
fn a_line_that_is_no_event_is_an_error() {
    assert!(log::parse("{\"at_us\":1,\"who\":\"box-2\",\"event\":\"yawned\"}\n").is_err());
}
