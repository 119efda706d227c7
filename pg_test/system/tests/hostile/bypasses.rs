//! Ways around a guard that need more than one session or one database (docs/bypasses.md has all).

use anyhow::{Result, ensure};
use postgres::Client;
use rig::Server;
use std::process::Stdio;
use system_tests::history::all_above;
use system_tests::lease::{grant, guarded_table, notes, present, state, write};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};
use system_tests::watch;

static SERVER: Shared = Shared::new();

fn enabled(client: &mut Client) -> Result<String> {
    let shown = "SELECT string_agg(relation || ' ' || enabled, ', ') FROM lease.guards";
    Ok(client.query_one(shown, &[])?.get(0))
}

/// Row 3. A dump tool that switches triggers off does so as the table's owner. Breaks if that, or that
/// it switches them on again without ALWAYS, did not show.
#[test]
fn a_load_with_triggers_disabled_shows() -> Result<()> {
    let (server, mut client) = SERVER.database("loaded")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    present(&mut client, "job", token)?;
    write(&mut client, "written")?;
    ensure!(enabled(&mut client)? == "work always");
    let mut dump = server.client("pg_dump", "loaded");
    let dump = dump.args(["--data-only", "--disable-triggers", "--table=work"]).output()?;
    let load = |script: &[u8]| -> Result<bool> {
        let mut psql = server.client("psql", "loaded");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]).stdin(Stdio::piped());
        let mut psql = psql.stderr(Stdio::null()).spawn()?;
        if let Some(mut stdin) = psql.stdin.take() {
            let _ = std::io::Write::write_all(&mut stdin, script);
        }
        Ok(psql.wait()?.success())
    };
    ensure!(load(&dump.stdout)?, "the load failed");
    ensure!(notes(&mut client)?.len() == 2);
    ensure!(enabled(&mut client)? == "work origin");
    // without the option the guard is asked
    let mut dump = server.client("pg_dump", "loaded");
    let dump = dump.args(["--data-only", "--table=work"]).output()?;
    ensure!(!load(&dump.stdout)?, "a load without a token passed");
    ensure!(notes(&mut client)?.len() == 2);
    Ok(())
}

/// Row 21. Another session, opened by this one, presents nothing of this one's.
#[test]
fn a_session_of_dblink_or_postgres_fdw_presents_nothing() -> Result<()> {
    let (server, mut client) = SERVER.database("linked")?;
    if !server.tree().own.share.join("extension/dblink.control").is_file() {
        println!("skipped: this PostgreSQL has no contrib modules");
        return Ok(());
    }
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    present(&mut client, "job", token)?;
    let (host, port) = (server.host(), server.port());
    client.batch_execute(&format!(
        "CREATE EXTENSION dblink; CREATE EXTENSION postgres_fdw;
         CREATE SERVER itself FOREIGN DATA WRAPPER postgres_fdw
             OPTIONS (host '{host}', port '{port}', dbname 'linked');
         CREATE USER MAPPING FOR postgres SERVER itself OPTIONS (user 'postgres');
         CREATE FOREIGN TABLE far_work (note text) SERVER itself OPTIONS (table_name 'work')"
    ))?;
    let link = format!("host={host} port={port} dbname=linked user=postgres");
    let by_dblink = format!("SELECT dblink_exec('{link}', 'INSERT INTO work (note) VALUES (1)')");
    refused(client.batch_execute(&by_dblink), "55000")?;
    refused(client.batch_execute("INSERT INTO far_work VALUES ('far')"), "55000")?;
    refused(client.batch_execute("SELECT lease_guard('far_work', 'job')"), "42809")?;
    // the far side presents a token of its own
    client.batch_execute(&format!(
        "SELECT dblink_exec('{link}',
            'SET pg_lease.token = ''job={token}''; INSERT INTO work (note) VALUES (2)')"
    ))?;
    ensure!(notes(&mut client)? == ["2"]);
    Ok(())
}

/// Row 22. The apply worker fires no statement trigger: a table that a subscription writes is not
/// guarded against it. lease_guard says so; this is what becomes of a subscription made later.
#[test]
fn a_subscription_is_refused_or_writes_unseen() -> Result<()> {
    let server = Server::builder("subscribed").conf("wal_level = logical").start()?;
    let mut from = database(&server, "publisher")?;
    let mut to = database(&server, "subscriber")?;
    from.batch_execute(
        "CREATE TABLE work (id bigserial PRIMARY KEY, note text);
         CREATE TABLE later (id bigserial PRIMARY KEY, note text);
         CREATE PUBLICATION p FOR TABLE work, later",
    )?;
    from.batch_execute("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")?;
    to.batch_execute(&format!(
        "CREATE TABLE work (id bigserial PRIMARY KEY, note text);
         CREATE TABLE later (id bigserial PRIMARY KEY, note text);
         SELECT lease_guard('work', 'job');
         CREATE SUBSCRIPTION s CONNECTION '{} port={} dbname=publisher user=postgres' PUBLICATION p
             WITH (create_slot = false, slot_name = s, copy_data = false)",
        format_args!("host={}", server.host()),
        server.port(),
    ))?;
    from.batch_execute("INSERT INTO work (note) VALUES ('applied')")?;
    watch::until(&mut to, "the row to be applied", "SELECT count(*) = 1 FROM work")?;
    ensure!(enabled(&mut to)? == "work always");
    refused(to.batch_execute("INSERT INTO work (note) VALUES ('no token')"), "55000")?;
    refused(to.batch_execute("SELECT lease_guard('later', 'job')"), "42809")?;
    to.batch_execute("DROP SUBSCRIPTION s")?;
    Ok(())
}

/// Row 30. The timeline goes back, the system identifier changes, rows and guards stay. Breaks if a
/// lease of before were good, or a token came again.
#[test]
fn pg_upgrade_keeps_guards_and_rights_and_voids_leases() -> Result<()> {
    let old = Server::start("before")?;
    old.execute("postgres", "CREATE ROLE worker")?;
    let mut client = database(&old, "jobs")?;
    guarded_table(&mut client, "job")?;
    client.batch_execute("SELECT lease_allow('worker', 'job')")?;
    let token = grant(&mut client, "job", "a")?;
    present(&mut client, "job", token)?;
    write(&mut client, "before")?;
    drop(client);
    old.stop()?;
    let new = Server::builder("after").start_upgrade_of(&old)?;
    let mut client = new.connect("jobs")?;
    ensure!(state(&mut client, "job")? == ("void".into(), token));
    ensure!(enabled(&mut client)? == "work always");
    let access = "SELECT string_agg(role || ' ' || pattern, ', ') FROM lease.access
                  WHERE role_exists";
    ensure!(client.query_one(access, &[])?.get::<_, String>(0) == "worker job");
    present(&mut client, "job", token)?;
    refused(write(&mut client, "old token"), "55000")?;
    client.batch_execute("SET ROLE worker")?;
    let next = grant(&mut client, "job", "a")?;
    client.batch_execute("RESET ROLE")?;
    all_above(&[next], &[token])?;
    present(&mut client, "job", next)?;
    write(&mut client, "after")?;
    ensure!(notes(&mut client)? == ["before", "after"]);
    Ok(())
}

/// Row 36. Large objects have no triggers, so nothing can guard them: said in docs/guards.md.
#[test]
fn large_objects_are_not_fenced() -> Result<()> {
    let (_, mut client) = SERVER.database("large")?;
    refused(client.batch_execute("SELECT lease_guard('pg_largeobject', 'job')"), "42501")?;
    client.batch_execute("SELECT lo_from_bytea(0, 'anything')")?;
    Ok(())
}
