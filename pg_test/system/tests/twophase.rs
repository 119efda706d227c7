//! A prepared transaction that wrote under a token holds a takeover off until it is decided, also
//! across a crash and a promotion; and leaves nothing behind in its session.

use anyhow::Result;
use postgres::Client;
use rig::Server;
use system_tests::lease::{
    self, acquire, expire, grant, guarded_table, notes, present, takeover, write,
};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};

static SERVER: Shared = Shared::new();

/// Holder A has prepared a guarded write; the token that it wrote under.
fn prepared(client: &mut Client) -> Result<i64> {
    guarded_table(client, "job")?;
    let token = grant(client, "job", "a")?;
    present(client, "job", token)?;
    client.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('prepared')")?;
    client.batch_execute("PREPARE TRANSACTION 'handed over'")?;
    Ok(token)
}

/// Breaks if the lock of the commit check did not become the prepared transaction's, or came back
/// without its mode: then both the takeover and the old write would be committed.
fn holds_off_a_takeover(client: &mut Client) -> Result<()> {
    client.batch_execute("SET lock_timeout = '200 ms'")?;
    let told = refused(takeover(client, "job", "b", "1 hour"), "55P03")?;
    assert_eq!(told.message(), "lease \"job\" is busy");
    let detail = told.detail().unwrap_or_default();
    assert!(detail.ends_with("for a prepared transaction."), "{detail}");
    expire(client, "job")?;
    refused(acquire(client, "job", "b", "1 hour"), "55P03")?;
    client.batch_execute("RESET lock_timeout")?;
    Ok(())
}

/// Once it is committed, the successor follows, and sees what was written.
fn then_commits(client: &mut Client, old: i64) -> Result<()> {
    client.batch_execute("COMMIT PREPARED 'handed over'")?;
    let new = grant(client, "job", "b")?;
    assert!(new > old);
    assert_eq!(notes(client)?, ["prepared"]);
    present(client, "job", old)?;
    refused(write(client, "late"), "55000")?;
    Ok(())
}

#[test]
fn a_prepared_write_holds_a_takeover_off() -> Result<()> {
    let (server, mut client) = SERVER.database("holds")?;
    let old = prepared(&mut client)?;
    let mut other = server.connect("holds")?;
    holds_off_a_takeover(&mut other)?;
    then_commits(&mut other, old)
}

/// Breaks if the lock outlived ROLLBACK PREPARED: nobody could take the lease again.
#[test]
fn a_prepared_write_that_is_rolled_back_lets_go() -> Result<()> {
    let (server, mut client) = SERVER.database("lets_go")?;
    let old = prepared(&mut client)?;
    let mut other = server.connect("lets_go")?;
    holds_off_a_takeover(&mut other)?;
    other.batch_execute("ROLLBACK PREPARED 'handed over'")?;
    assert!(grant(&mut other, "job", "b")? > old);
    assert!(notes(&mut other)?.is_empty());
    Ok(())
}

/// Breaks if the lock were not one that the server writes down with the prepared transaction.
#[test]
fn a_prepared_write_holds_on_through_a_crash() -> Result<()> {
    let server = Server::start("crash")?;
    let old = prepared(&mut database(&server, "jobs")?)?;
    server.kill9()?;
    server.start_again()?;
    let mut client = server.connect("jobs")?;
    holds_off_a_takeover(&mut client)?;
    server.restart()?;
    let mut client = server.connect("jobs")?;
    holds_off_a_takeover(&mut client)?;
    then_commits(&mut client, old)
}

/// Breaks if a promoted standby came up without the lock.
#[test]
fn a_prepared_write_holds_on_through_a_promotion() -> Result<()> {
    let primary = Server::start("primary")?;
    let mut client = database(&primary, "jobs")?;
    let standby = Server::builder("standby").start_standby_of(&primary)?;
    let old = prepared(&mut client)?;
    primary.wait_for_replay(&standby)?;
    primary.kill9()?;
    standby.promote()?;
    let mut client = standby.connect("jobs")?;
    holds_off_a_takeover(&mut client)?;
    then_commits(&mut client, old)
}

/// Breaks if only COMMIT was checked: PREPARE would then promise what COMMIT PREPARED may not keep.
#[test]
fn a_stale_write_cannot_be_prepared() -> Result<()> {
    let (server, mut client) = SERVER.database("stale")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    present(&mut client, "job", token)?;
    client.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('late')")?;
    let mut other = server.connect("stale")?;
    takeover(&mut other, "job", "b", "1 hour")?;
    let late = client.batch_execute("PREPARE TRANSACTION 'late'");
    refused(late, "55000")?;
    let left = "SELECT count(*) FROM pg_prepared_xacts WHERE database = 'stale'";
    assert_eq!(other.query_one(left, &[])?.get::<_, i64>(0), 0);
    assert!(notes(&mut other)?.is_empty());
    Ok(())
}

/// Breaks if what a prepared transaction has to answer for stayed in its session: the next commit
/// there, of whatever, would be refused after the takeover.
#[test]
fn the_session_that_prepared_is_free() -> Result<()> {
    let (server, mut client) = SERVER.database("free")?;
    client.batch_execute("CREATE TABLE plain (n int); CREATE TABLE other (n int)")?;
    client.execute("SELECT lease_guard('other', 'other')", &[])?;
    let other_token = grant(&mut client, "other", "a")?;
    prepared(&mut client)?;
    client.batch_execute("INSERT INTO plain VALUES (1)")?;
    let mut another = server.connect("free")?;
    another.batch_execute("COMMIT PREPARED 'handed over'")?;
    takeover(&mut another, "job", "b", "1 hour")?;
    client.batch_execute("INSERT INTO plain VALUES (2)")?;
    client.batch_execute("BEGIN; INSERT INTO plain VALUES (3); COMMIT")?;
    present(&mut client, "other", other_token)?;
    client.batch_execute("INSERT INTO other VALUES (1)")?;
    let locks = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON l.database = d.oid
                 WHERE locktype = 'advisory' AND datname = 'free'";
    assert_eq!(client.query_one(locks, &[])?.get::<_, i64>(0), 0);
    Ok(())
}

/// A change of ownership may not stay undecided for as long as nobody comes back to it.
#[test]
fn a_change_of_ownership_cannot_be_prepared() -> Result<()> {
    let (_, mut client) = SERVER.database("changes")?;
    let mut token = grant(&mut client, "job", "a")?;
    let changes =
        ["acquire('new', 'a')", "takeover('job', 'b', '1 h')", "release('job', 'a', TOKEN)"];
    for change in changes {
        let change = change.replace("TOKEN", &token.to_string());
        client.batch_execute(&format!("BEGIN; SELECT lease_{change}"))?;
        let told = refused(client.batch_execute("PREPARE TRANSACTION 'change'"), "0A000")?;
        assert!(told.message().contains("changed who owns lease"), "{}", told.message());
    }
    assert_eq!(lease::state(&mut client, "job")?, ("held".into(), token));
    token = lease::renew(&mut client, "job", "a", token, "1 h")?.token.unwrap_or(0);
    assert_eq!(lease::state(&mut client, "job")?, ("held".into(), token));
    Ok(())
}

/// Breaks if only the lease's own lock were held: the one for many leases must be prepared too.
#[test]
fn a_prepared_write_under_many_leases_holds_takeovers_off() -> Result<()> {
    let (server, mut client) = SERVER.database("many")?;
    let names: Vec<String> = (0..70).map(|n| format!("job:{n}")).collect();
    let tokens = lease::grant_many(&mut client, &names, "a")?;
    client.batch_execute("CREATE TABLE plain (n int); BEGIN; INSERT INTO plain VALUES (1)")?;
    for (name, token) in names.iter().zip(tokens) {
        client.execute("SELECT lease_fence_check($1, $2)", &[name, &token])?;
    }
    client.batch_execute("PREPARE TRANSACTION 'many'")?;
    let mut other = server.connect("many")?;
    other.batch_execute("SET lock_timeout = '200 ms'")?;
    let told = refused(takeover(&mut other, "job:69", "b", "1 hour"), "55P03")?;
    let detail = told.detail().unwrap_or_default();
    assert!(detail.ends_with("for a prepared transaction."), "{detail}");
    client.batch_execute("COMMIT PREPARED 'many'")?;
    assert_eq!(takeover(&mut other, "job:69", "b", "1 hour")?.status, "granted");
    Ok(())
}

/// Breaks if mode newest left its lock out of PREPARE: a newer token would be obeyed while an older
/// one's write is still to come.
#[test]
fn a_prepared_write_holds_a_raised_fence_off() -> Result<()> {
    let (server, mut client) = SERVER.database("raised")?;
    client.batch_execute("CREATE TABLE far (n int); SELECT lease_guard('far', 'far', 'newest')")?;
    client.batch_execute("SELECT lease_fence_raise('far', 17)")?;
    client.batch_execute("SET pg_lease.token = 'far=17'; BEGIN; INSERT INTO far VALUES (17)")?;
    client.batch_execute("PREPARE TRANSACTION 'seventeen'")?;
    let mut other = server.connect("raised")?;
    other.batch_execute("SET lock_timeout = '200 ms'")?;
    refused(other.batch_execute("SELECT lease_fence_raise('far', 18)"), "55P03")?;
    client.batch_execute("COMMIT PREPARED 'seventeen'")?;
    other.batch_execute("SELECT lease_fence_raise('far', 18)")?;
    refused(client.batch_execute("INSERT INTO far VALUES (17)"), "55000")?;
    Ok(())
}
