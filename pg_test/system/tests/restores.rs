//! What a restore leaves behind is named: guards that a data-only restore switched, leases that a
//! recovery to a point in time set back, keys that did not come along. No token is granted again.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::{Server, wait_until};
use std::process::{Command, Stdio};
use system_tests::history::all_above;
use system_tests::lease::{self, grant, guarded_table, notes, present, state};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};
use system_tests::watch;

static SERVER: Shared = Shared::new();

/// Feeds what one program prints to psql, in another database of the same server.
fn restore(server: &Server, dump: &mut Command, into: &str) -> Result<()> {
    let mut dump = dump.stdout(Stdio::piped()).spawn()?;
    let script = dump.stdout.take().context("no stdout")?;
    let mut psql = server.client("psql", into);
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]).stdin(script);
    let restored = psql.status()?;
    ensure!(dump.wait()?.success() && restored.success(), "the copy failed");
    Ok(())
}

fn guards(client: &mut Client) -> Result<String> {
    let all = "SELECT string_agg(relation || ' ' || enabled, ',' ORDER BY relation::text)
               FROM lease.guards";
    Ok(client.query_one(all, &[])?.get(0))
}

/// Breaks if rows were refused that a restore must put back, if the guards it switched off stayed
/// off, or if lease.guards kept silent about what they are afterwards.
#[test]
fn data_alone_with_triggers_disabled() -> Result<()> {
    let (server, mut original) = SERVER.database("data")?;
    guarded_table(&mut original, "job")?;
    let token = grant(&mut original, "job", "a")?;
    present(&mut original, "job", token)?;
    lease::write(&mut original, "before")?;
    server.create_database("data_copy")?;
    restore(server, server.client("pg_dump", "data").arg("-s"), "data_copy")?;
    let mut copy = server.connect("data_copy")?;
    assert_eq!(guards(&mut copy)?, "work always");
    let data = ["-a", "--disable-triggers"];
    restore(server, server.client("pg_dump", "data").args(data), "data_copy")?;
    assert_eq!(notes(&mut copy)?, ["before"]);
    assert_eq!(guards(&mut copy)?, "work origin");
    assert_eq!(state(&mut copy, "job")?, ("void".into(), token));
    present(&mut copy, "job", token)?;
    refused(lease::write(&mut copy, "old token"), "55000")?;
    // what origin means, and how it is put right
    copy.batch_execute("SET session_replication_role = replica")?;
    lease::write(&mut copy, "unguarded")?;
    let trigger: String = copy.query_one("SELECT trigger::text FROM lease.guards", &[])?.get(0);
    copy.batch_execute(&format!("ALTER TABLE work ENABLE ALWAYS TRIGGER \"{trigger}\""))?;
    assert_eq!(guards(&mut copy)?, "work always");
    refused(lease::write(&mut copy, "old token"), "55000")?;
    all_above(&[grant(&mut copy, "job", "b")?], &[token])?;
    Ok(())
}

/// Breaks if a dump with a row guard could not be restored, if the guard were not there in the copy, as
/// it was and on every table, or if rows that come later passed it.
#[test]
fn a_row_guard_comes_along() -> Result<()> {
    let (server, mut original) = SERVER.database("rows")?;
    original.batch_execute(
        "CREATE TABLE block (gone int, chain text, n int) PARTITION BY RANGE (n);
         ALTER TABLE block DROP gone;
         CREATE TABLE low PARTITION OF block FOR VALUES FROM (0) TO (10);
         CREATE TABLE \"Other\" (n int, \"The chain\" varchar(9)) ;
         INSERT INTO block VALUES ('a', 1), ('b', 2);
         INSERT INTO \"Other\" VALUES (1, 'a');
         SELECT lease_guard('block', lease_column => 'chain', prefix => 'chain:', mode => 'live');
         SELECT lease_guard('\"Other\"', lease_column => 'The chain', signed => true);",
    )?;
    server.create_database("rows_copy")?;
    restore(server, &mut server.client("pg_dump", "rows"), "rows_copy")?;
    let mut copy = server.connect("rows_copy")?;
    let all = "SELECT string_agg(g::text, ' ' ORDER BY relation::text COLLATE \"C\")
               FROM lease.guards AS g";
    let shown = |client: &mut Client| client.query_one(all, &[]).map(|row| row.get(0));
    let (there, here): (String, String) = (shown(&mut original)?, shown(&mut copy)?);
    assert_eq!(here, there);
    assert_eq!(here.matches("always").count(), 3, "{here}");
    for write in ["INSERT INTO block VALUES ('a', 3)", "DELETE FROM low", "TRUNCATE block"] {
        refused(copy.batch_execute(write), "55000")?;
    }
    // rows alone: refused, unless whoever restores switches triggers off, which shows
    server.create_database("rows_empty")?;
    restore(server, server.client("pg_dump", "rows").arg("-s"), "rows_empty")?;
    let mut empty = server.connect("rows_empty")?;
    ensure!(restore(server, server.client("pg_dump", "rows").arg("-a"), "rows_empty").is_err());
    assert_eq!(empty.query_one("SELECT count(*) FROM block", &[])?.get::<_, i64>(0), 0);
    // of what failed, the extension's own rows are there
    empty.batch_execute("TRUNCATE lease.guarded")?;
    let data = ["-a", "--disable-triggers"];
    restore(server, server.client("pg_dump", "rows").args(data), "rows_empty")?;
    assert_eq!(empty.query_one("SELECT count(*) FROM block", &[])?.get::<_, i64>(0), 2);
    assert_eq!(guards(&mut empty)?, "\"Other\" origin,block always,low origin");
    refused(empty.batch_execute("DELETE FROM low"), "55000")?;
    Ok(())
}

/// Breaks if a recovery to a point in time granted a number again that was granted after that point,
/// or if lease_void_all left a holder of then in charge.
#[test]
fn a_recovery_to_a_point_in_time() -> Result<()> {
    let primary = Server::start("present")?;
    let mut client = database(&primary, "jobs")?;
    guarded_table(&mut client, "job")?;
    let restored = Server::builder("past")
        .conf("recovery_target_name = 'noon'")
        .conf("recovery_target_action = 'promote'")
        .start_standby_of(&primary)?;
    let then = grant(&mut client, "job", "a")?;
    present(&mut client, "job", then)?;
    lease::write(&mut client, "before noon")?;
    client.batch_execute("SELECT pg_create_restore_point('noon')")?;
    let later = lease::takeover(&mut client, "job", "b", "1 hour")?.token.context("no token")?;
    present(&mut client, "job", later)?;
    lease::write(&mut client, "after noon")?;
    let mut past = restored.connect("jobs")?;
    wait_until("the recovery to end", watch::PATIENCE, || {
        Ok(!past.query_one("SELECT pg_is_in_recovery()", &[])?.get::<_, bool>(0))
    })?;
    assert_eq!(notes(&mut past)?, ["before noon"]);
    // the holder of then is in charge again: nothing tells this from a promotion
    assert_eq!(state(&mut past, "job")?, ("held".into(), then));
    present(&mut past, "job", later)?;
    refused(lease::write(&mut past, "from the future"), "55000")?;
    let ended: i64 = past.query_one("SELECT lease_void_all()", &[])?.get(0);
    assert_eq!(ended, 1);
    present(&mut past, "job", then)?;
    refused(lease::write(&mut past, "back again"), "55000")?;
    let next = grant(&mut past, "job", "c")?;
    all_above(&[next, grant(&mut past, "new", "c")?], &[then, later])?;
    present(&mut past, "job", next)?;
    lease::write(&mut past, "afternoon")?;
    assert_eq!(notes(&mut past)?, ["before noon", "afternoon"]);
    Ok(())
}

fn keys(client: &mut Client) -> Result<String> {
    let all = "SELECT COALESCE(string_agg(state, ',' ORDER BY state), '') FROM lease.keys";
    Ok(client.query_one(all, &[])?.get(0))
}

/// Breaks if a private key were dumped, or went on signing in a copy; or if a resource that was
/// restored did not know any more whom it trusts.
#[test]
fn keys_stay_with_their_database() -> Result<()> {
    let (server, mut original) = SERVER.database("signs")?;
    let token = grant(&mut original, "job", "a")?;
    original.batch_execute("SELECT lease_key_trust(lease_key_make(), 'job')")?;
    let sign = format!("SELECT lease_token_sign('job', {token})");
    let signature: String = original.query_one(&sign, &[])?.get(0);
    let check = format!("SELECT lease_fence_raise('job', {token}, '{signature}')");
    assert_eq!(keys(&mut original)?, "signs,trusted");
    drop(original);
    server.create_database("signs_dump")?;
    restore(server, &mut server.client("pg_dump", "signs"), "signs_dump")?;
    server.execute("postgres", "CREATE DATABASE signs_copy TEMPLATE signs")?;
    for (name, there) in [("signs_dump", "trusted"), ("signs_copy", "trusted,void")] {
        let mut copy = server.connect(name)?;
        assert_eq!(keys(&mut copy)?, there, "{name}");
        copy.batch_execute(&check)?;
        let mine = grant(&mut copy, "job", "b")?;
        let told =
            refused(copy.query(&format!("SELECT lease_token_sign('job', {mine})"), &[]), "42704")?;
        assert_eq!(told.message(), "there is no key to sign tokens with");
        copy.batch_execute("SELECT lease_key_make()")?;
        assert_eq!(keys(&mut copy)?, "signs,trusted");
        // its signatures are another database's
        let signed: String =
            copy.query_one(&format!("SELECT lease_token_sign('job', {mine})"), &[])?.get(0);
        let raise = format!("SELECT lease_fence_raise('job', {mine}, '{signed}')");
        refused(server.connect("signs")?.batch_execute(&raise), "55000")?;
    }
    // a restart and a promotion keep it: the same database
    let mut original = server.connect("signs")?;
    assert_eq!(original.query_one(&sign, &[])?.get::<_, String>(0), signature);
    Ok(())
}
