//! A commit that comes too late is told which of the two it met: a takeover that is under way, or one
//! that is over.

use anyhow::{Context, Result};
use postgres::Client;
use system_tests::lease::{grant, guarded_table, notes, present, write};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, alone};

static SERVER: Shared = Shared::new();

const TAKEOVER: &str = "SELECT FROM lease_takeover('job', 'b', '1 hour')";

fn open_write(client: &mut Client, token: i64) -> Result<()> {
    present(client, "job", token)?;
    client.batch_execute("BEGIN")?;
    write(client, "late")?;
    Ok(())
}

fn detail_of_the_commit(client: &mut Client) -> Result<String> {
    let refusal = refused(client.batch_execute("COMMIT"), "55000")?;
    Ok(refusal.detail().context("no DETAIL")?.to_owned())
}

/// Breaks if a committer waited for the taker, or could not tell that it holds the lock.
#[test]
fn under_way_and_over_are_told_apart() -> Result<()> {
    let _alone = alone();
    let (server, mut taker) = SERVER.database("details")?;
    guarded_table(&mut taker, "job")?;
    let mut old = server.connect("details")?;

    let first = grant(&mut taker, "job", "a")?;
    open_write(&mut old, first)?;
    taker.batch_execute(&format!("BEGIN; {TAKEOVER}"))?;
    let detail = detail_of_the_commit(&mut old)?;
    assert_eq!(detail, "A takeover of the lease is under way.");
    taker.batch_execute("ROLLBACK")?;

    open_write(&mut old, first)?;
    taker.batch_execute(TAKEOVER)?;
    let detail = detail_of_the_commit(&mut old)?;
    assert!(detail.contains("held by \"b\" since"), "{detail}");
    assert_eq!(notes(&mut taker)?, Vec::<String>::new());
    Ok(())
}
