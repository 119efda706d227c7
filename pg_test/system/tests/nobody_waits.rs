//! A holder's open transaction holds up neither its own renewal nor a takeover, frozen or not.
//!
//! The rule is a time: an answer within 100 ms. What is measured is the median of several calls, as
//! a busy machine delays single ones; a call that waited would take five seconds, or for ever.

use anyhow::Result;
use std::time::{Duration, Instant};
use system_tests::lease::{self, grant, guarded_table, notes, present, renew, takeover};
use system_tests::program::Program;
use system_tests::refusal::refused;
use system_tests::shared::{Shared, alone};

static SERVER: Shared = Shared::new();

const AT_ONCE: Duration = Duration::from_millis(100);

fn median_of<T, E>(calls: usize, mut call: impl FnMut() -> Result<T, E>) -> Result<Duration, E> {
    let mut times = Vec::new();
    for _ in 0..calls {
        let began = Instant::now();
        call()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[calls / 2])
}

/// Breaks if a guard locked the lease's row, or held the fence lock from the statement on.
#[test]
fn a_renewal_passes_the_holders_open_transaction() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("renewal")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    let mut open = server.connect("renewal")?;
    present(&mut open, "job", token)?;
    open.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('open'); TRUNCATE work")?;
    let took = median_of(20, || renew(&mut client, "job", "a", token, "1 hour"))?;
    assert!(took < AT_ONCE, "{took:?}");
    open.batch_execute("COMMIT")?;
    Ok(())
}

/// Breaks if a batch waited for the one row that another session has locked.
#[test]
fn a_batch_of_renewals_passes_a_locked_row() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("batch")?;
    let names: Vec<String> = ["one", "two", "three"].map(str::to_owned).into();
    let tokens = lease::grant_many(&mut client, &names, "a")?;
    let mut locker = server.connect("batch")?;
    locker.batch_execute("BEGIN; SELECT FROM lease.lease WHERE name = 'two' FOR UPDATE")?;
    let call = "SELECT status FROM lease_renew_many($1, 'a', $2, '1 hour')";
    let took = median_of(9, || {
        let rows = client.query(call, &[&names, &tokens])?;
        let told: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(told, ["renewed", "busy", "renewed"]);
        Ok::<_, postgres::Error>(())
    })?;
    assert!(took < AT_ONCE, "{took:?}");
    locker.batch_execute("COMMIT")?;
    let rows = client.query(call, &[&names, &tokens])?;
    assert!(rows.iter().all(|row| row.get::<_, &str>(0) == "renewed"));
    Ok(())
}

/// Breaks if a takeover waited for a transaction that nobody may ever end, or if its COMMIT were
/// let through when the client wakes.
#[test]
fn a_takeover_passes_a_frozen_holder() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("frozen")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    let mut holder = Program::psql(server, "frozen")?;
    holder.send(&format!("BEGIN; SELECT lease_fence_check('job', {token});"))?;
    holder.send("INSERT INTO work (note) VALUES ('late') RETURNING 'written';")?;
    holder.says("written")?;
    holder.freeze_in_transaction(&mut client, "frozen")?;

    let took = median_of(1, || takeover(&mut client, "job", "b", "1 hour"))?;
    let generous = 10 * AT_ONCE; // one call, not a median
    assert!(took < generous, "{took:?}");
    let (_, new) = lease::state(&mut client, "job")?;
    present(&mut client, "job", new)?;
    lease::write(&mut client, "in time")?;

    holder.thaw()?;
    holder.send("COMMIT;")?;
    let told = holder.says("ERROR")?;
    let expected = format!("55000: lease \"job\" is no longer held with token {token}");
    assert!(told.contains(&expected), "{told}");
    assert_eq!(notes(&mut client)?, ["in time"]);
    refused(renew(&mut client, "job", "a", token, "1 hour"), "55000")?;
    Ok(())
}
