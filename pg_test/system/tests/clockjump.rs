//! A clock that jumps never gives a lease to two holders, and delays a failover by one ttl at most.
//!
//! The jumps are those of the server's clock as the extension sees it (`pg_lease.clock_offset`,
//! set for the database as an operator would): running sessions keep the clock that they began
//! with, new ones get the new one. The waits are real: the rules are about time itself.

use anyhow::{Context, Result};
use postgres::Client;
use std::thread;
use system_tests::lease::{
    acquire, expire, grant, guarded_table, present, renew, set_clock_before_expiry, state, write,
};
use system_tests::refusal::refused;
use system_tests::shared::Shared;
use system_tests::watch;

static SERVER: Shared = Shared::new();

/// Jumps the clock of a database, and returns a session that lives after the jump.
fn jump(superuser: &mut Client, database: &str, offset: &str) -> Result<Client> {
    superuser.batch_execute(&format!(
        "ALTER DATABASE {database} SET pg_lease.clock_offset = '{offset}'"
    ))?;
    SERVER.server()?.connect(database)
}

/// Breaks if an expiry alone ended the fence, or if a takeover after it did not raise the token.
#[test]
fn an_hour_forward_costs_the_holder_its_lease_and_nothing_else() -> Result<()> {
    let (_, mut client) = SERVER.database("forward")?;
    guarded_table(&mut client, "job")?;
    let old = acquire(&mut client, "job", "a", "15 s")?.token.context("no token")?;
    let mut later = jump(&mut client, "forward", "1h")?;
    assert_eq!(state(&mut later, "job")?, ("expired".into(), old));
    present(&mut later, "job", old)?;
    write(&mut later, "expired, but nobody's yet")?;
    let new = acquire(&mut later, "job", "b", "15 s")?.token.context("no token")?;
    assert!(new > old);
    present(&mut client, "job", old)?;
    refused(write(&mut client, "late"), "55000")?;
    refused(write(&mut later, "late"), "55000")?;
    Ok(())
}

/// Breaks if an expiry an hour away was believed: nobody could take the dead holder's lease before.
#[test]
fn an_hour_back_delays_a_failover_by_one_ttl() -> Result<()> {
    let (_, mut client) = SERVER.database("back")?;
    let old = acquire(&mut client, "job", "a", "15 s")?.token.context("no token")?;
    let mut earlier = jump(&mut client, "back", "-1h")?;
    let seen = acquire(&mut earlier, "job", "b", "15 s")?;
    assert_eq!((seen.status.as_str(), seen.token), ("held", None));
    // one ttl after the first look, and not before
    let left = seen.seconds_left.context("no expiry")?;
    assert!(left > 10.0 && left <= 15.0, "{left} s left");
    set_clock_before_expiry(&mut earlier, "5 s")?;
    assert_eq!(acquire(&mut earlier, "job", "b", "15 s")?.status, "held");
    set_clock_before_expiry(&mut earlier, "-1 ms")?;
    let answer = acquire(&mut earlier, "job", "b", "15 s")?;
    assert_eq!(answer.status, "granted");
    assert!(answer.token > Some(old));
    Ok(())
}

/// The holder lives: its next renewal repairs the expiry, and it loses nothing.
#[test]
fn an_hour_back_costs_a_living_holder_nothing() -> Result<()> {
    let (_, mut client) = SERVER.database("living")?;
    let token = acquire(&mut client, "job", "a", "15 s")?.token.context("no token")?;
    let mut earlier = jump(&mut client, "living", "-1h")?;
    assert_eq!(acquire(&mut earlier, "job", "b", "15 s")?.status, "held");
    let renewed = renew(&mut earlier, "job", "a", token, "15 s")?;
    assert_eq!(renewed.token, Some(token));
    assert_eq!(renewed.seconds_left, Some(15.0));
    assert_eq!(acquire(&mut earlier, "job", "b", "15 s")?.status, "held");
    Ok(())
}

/// Breaks if now() was used anywhere: the lease would have expired before it is granted.
#[test]
fn a_term_counts_from_the_call_and_not_from_begin() -> Result<()> {
    let (server, mut client) = SERVER.database("begin")?;
    let mut other = server.connect("begin")?;
    let mut open = client.transaction()?;
    open.batch_execute("SELECT pg_sleep(3.2)")?;
    assert_eq!(acquire(&mut open, "job", "a", "3 s")?.seconds_left, Some(3.0));
    open.commit()?;
    let seen = acquire(&mut other, "job", "b", "3 s")?;
    assert_eq!(seen.status, "held");
    assert!(seen.seconds_left > Some(0.0));
    Ok(())
}

/// Breaks if compute_now() were the time of BEGIN, or of the statement.
#[test]
fn the_clock_moves_within_a_transaction() -> Result<()> {
    let (_, mut client) = SERVER.database("moves")?;
    let mut open = client.transaction()?;
    let passed: f64 = open
        .query_one(
            "WITH first AS MATERIALIZED (SELECT compute_now() AS t),
                  slept AS MATERIALIZED (SELECT t, pg_sleep(1) FROM first)
             SELECT extract(epoch FROM compute_now() - t)::float8 FROM slept",
            &[],
        )?
        .get(0);
    assert!((1.0..30.0).contains(&passed), "{passed} s");
    Ok(())
}

/// Keeps a lease's row locked while `call` waits for it in another session, until `holds` does.
/// Returns how many seconds are really left of the lease when `call` has its answer.
fn seconds_left_after_a_wait(
    client: &mut Client,
    holds: &str,
    call: impl FnOnce(&mut Client) -> Result<()> + Send + 'static,
) -> Result<f64> {
    let database: String = client.query_one("SELECT current_database()::text", &[])?.get(0);
    let server = SERVER.server()?;
    let (mut locker, mut waiter) = (server.connect(&database)?, server.connect(&database)?);
    waiter.batch_execute("SET lock_timeout = '1 min'")?;
    let mut open = locker.transaction()?;
    open.batch_execute("SELECT FROM lease.lease FOR UPDATE")?;
    let backend = watch::backend(&mut waiter)?;
    let left = "SELECT extract(epoch FROM expires_at - compute_now())::float8 FROM lease.lease";
    let waiting = thread::spawn(move || -> Result<f64> {
        call(&mut waiter)?;
        Ok(waiter.query_one(left, &[])?.get(0))
    });
    watch::until_waiting(client, backend, "transactionid")?;
    watch::until(client, holds, &format!("SELECT {holds} FROM lease.lease"))?;
    open.commit()?;
    waiting.join().map_err(|_| anyhow::anyhow!("the waiter died"))?
}

/// Breaks if the expiry was computed before the row was locked: the lease would be born expired.
#[test]
fn a_grant_after_a_wait_has_its_full_term() -> Result<()> {
    let (_, mut client) = SERVER.database("born")?;
    grant(&mut client, "job", "a")?;
    expire(&mut client, "job")?;
    // the wait is longer than the term: expire() sets the expiry to one second ago
    let waited = "expires_at < compute_now() - interval '3.2 s'";
    let left = seconds_left_after_a_wait(&mut client, waited, |waiter| {
        assert_eq!(acquire(waiter, "job", "b", "2 s")?.seconds_left, Some(2.0));
        Ok(())
    })?;
    assert!(left > 0.5 && left <= 2.0, "{left} s left");
    Ok(())
}

/// Breaks in the same way, and if a lapse that nobody used cost the owner its token.
#[test]
fn a_renewal_after_a_wait_has_its_full_term() -> Result<()> {
    let (_, mut client) = SERVER.database("waited")?;
    let token = acquire(&mut client, "job", "a", "2 s")?.token.context("no token")?;
    let waited = "expires_at < compute_now() - interval '0.2 s'";
    let left = seconds_left_after_a_wait(&mut client, waited, move |waiter| {
        assert_eq!(renew(waiter, "job", "a", token, "2 s")?.token, Some(token));
        Ok(())
    })?;
    assert!(left > 0.5 && left <= 2.0, "{left} s left");
    Ok(())
}

/// Breaks if an old expiry were taken for a clock that jumped, and pulled in.
#[test]
fn a_lease_that_expired_a_year_ago_is_free_to_take() -> Result<()> {
    let (_, mut client) = SERVER.database("year")?;
    let old = grant(&mut client, "job", "a")?;
    let mut later = jump(&mut client, "year", "366d")?;
    let answer = acquire(&mut later, "job", "b", "15 s")?;
    assert_eq!((answer.status.as_str(), answer.seconds_left), ("granted", Some(15.0)));
    assert!(answer.token > Some(old));
    Ok(())
}

/// Breaks if the ttl was added as a calendar's day: 23 hours in the night of the change.
#[test]
fn a_day_is_a_day_in_the_night_of_summer_time() -> Result<()> {
    let (_, mut client) = SERVER.database("summer")?;
    for (number, zone) in ["America/New_York", "Asia/Tokyo", "UTC"].into_iter().enumerate() {
        client.batch_execute(&format!("SET timezone = '{zone}'"))?;
        // half an hour before the clocks go forward, in New York in 2027
        client.batch_execute(
            "SELECT set_config('pg_lease.clock_offset', (1000 * extract(epoch FROM
                 timestamptz '2027-03-14 01:30 America/New_York' - clock_timestamp()))::bigint
                 ::text, false)",
        )?;
        let answer = acquire(&mut client, &format!("job:{number}"), "a", "1 day")?;
        assert_eq!(answer.seconds_left, Some(86_400.0), "{zone}");
    }
    Ok(())
}
