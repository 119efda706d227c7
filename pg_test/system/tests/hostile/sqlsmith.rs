//! Random queries: sqlsmith makes them of everything that the database has, our functions, views and
//! guarded tables among it.

use crate::amount;
use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::Server;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use system_tests::lease::grant;
use system_tests::shared::database;

/// Two roles share these.
const LITTLE: u32 = 300;
const MUCH: u32 = 10_000;

/// What a backend may hold more at the end than near the beginning, in kB. Random queries need very
/// different amounts, so the least that it held in each part is compared.
const SLACK_KB: i64 = 32 * 1024;

/// Guarded tables, leases, and a role that sqlsmith works as.
fn prepare(client: &mut Client, role: &str) -> Result<()> {
    client.batch_execute(&format!(
        "CREATE ROLE {role} LOGIN;
         CREATE TABLE work (id int PRIMARY KEY, note text, at timestamptz);
         CREATE TABLE tree (id int, note text) PARTITION BY RANGE (id);
         CREATE TABLE leaf PARTITION OF tree FOR VALUES FROM (0) TO (100);
         CREATE TABLE free (id int, note text);
         SELECT lease_guard('work', 'job'), lease_guard('tree', 'far', 'newest');
         GRANT ALL ON work, tree, leaf, free TO {role};
         ALTER ROLE {role} SET statement_timeout = '1 s';
         ALTER ROLE {role} SET lock_timeout = '100 ms'"
    ))?;
    grant(client, "job", "a").map(drop)
}

/// Every right that can be given to somebody who is no superuser.
fn privilege(client: &mut Client, role: &str) -> Result<()> {
    client.batch_execute(&format!(
        "SELECT lease_allow('{role}', '*', '{{use,force}}');
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public, lease TO {role};
         GRANT SELECT ON ALL TABLES IN SCHEMA lease TO {role};
         GRANT pg_monitor TO {role};
         ALTER TABLE work OWNER TO {role}; ALTER TABLE free OWNER TO {role};
         ALTER TABLE tree OWNER TO {role}; ALTER TABLE leaf OWNER TO {role}"
    ))?;
    Ok(())
}

fn start(server: &Server, name: &str, role: &str, queries: u32) -> Result<Child> {
    let target = format!("host={} port={} dbname={name} user={role}", server.host(), server.port());
    Command::new("sqlsmith")
        .arg(format!("--target={target}"))
        .arg(format!("--max-queries={queries}"))
        .arg(format!("--seed={}", std::env::var("SEED").unwrap_or_else(|_| "1".to_owned())))
        .stdin(Stdio::null())
        .arg("--dump-all-queries")
        .stdout(fs::File::create(server.data_dir().join("queries"))?)
        .stderr(Stdio::null())
        .spawn()
        .context("sqlsmith does not run: make deps")
}

/// Waits for its end, and returns what its backend held meanwhile, in kB.
fn watch(client: &mut Client, role: &str, smith: &mut Child) -> Result<Vec<i64>> {
    let mut held = Vec::new();
    loop {
        if let Some(status) = smith.try_wait()? {
            ensure!(status.success(), "sqlsmith ended with {status}");
            return Ok(held);
        }
        let backends = "SELECT pid FROM pg_stat_activity
                        WHERE usename = $1 AND backend_type = 'client backend'";
        for row in client.query(backends, &[&role])? {
            held.extend(own_memory(row.get(0)));
        }
        sleep(Duration::from_millis(50));
    }
}

fn own_memory(pid: i32) -> Option<i64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn did_not_grow(held: &[i64]) -> Result<()> {
    let fifth = held.len() / 5;
    let least = |part: &[i64]| part.iter().min().copied();
    let (early, late) = (least(&held[fifth..2 * fifth]), least(&held[held.len() - fifth..]));
    println!("least held: {early:?} kB early, {late:?} kB late, of {} looks", held.len());
    match (early, late) {
        (Some(early), Some(late)) => ensure!(late <= early + SLACK_KB, "{early} kB became {late}"),
        _ => println!("it was too short to say whether the backend grows"),
    }
    Ok(())
}

/// No crash, no panic of ours, no guard touched, nothing left behind.
fn is_unharmed(server: &Server, client: &mut Client, guards: &str, before: &str) -> Result<()> {
    let log = server.log();
    let bad = |line: &&str| {
        line.contains("terminated by signal")
            || line.contains("PANIC")
            || (line.contains("XX000") && (line.contains("pg_lease") || line.contains("panic")))
    };
    let found: Vec<&str> = log.lines().filter(bad).collect();
    ensure!(found.is_empty(), "\n{}", found.join("\n"));
    let after: String = client.query_one(guards, &[])?.get(0);
    ensure!(before == after, "the guards were {before}, and are {after}");
    let left = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid > 2";
    ensure!(client.query_one(left, &[])?.get::<_, i64>(0) == 0, "locks are left");
    let written = "SELECT count(*) FROM work";
    ensure!(client.query_one(written, &[])?.get::<_, i64>(0) == 0, "a guarded table was written");
    Ok(())
}

fn smith(name: &str, privileged: bool) -> Result<()> {
    let server = Server::builder(name).conf("log_error_verbosity = verbose").start()?;
    let mut client = database(&server, "smithy")?;
    prepare(&mut client, name)?;
    if privileged {
        privilege(&mut client, name)?;
    }
    let guards = "SELECT string_agg(g::text, ' ' ORDER BY relation) FROM lease.guards AS g";
    let before: String = client.query_one(guards, &[])?.get(0);
    let queries = amount(LITTLE, MUCH);
    let mut child = start(&server, "smithy", name, queries)?;
    let held = watch(&mut client, name, &mut child)?;
    let ran = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'smithy'";
    client.batch_execute("SELECT pg_stat_force_next_flush()")?;
    let ran: i64 = client.query_one(ran, &[])?.get(0);
    println!("{queries} queries as {name}: {ran} transactions");
    let asked = fs::read_to_string(server.data_dir().join("queries"))?;
    let ours = asked.lines().filter(|line| line.contains("lease")).count();
    println!("{ours} lines of them name something of ours");
    ensure!(ours > 0, "sqlsmith does not know the extension");
    ensure!(ran >= i64::from(queries), "only {ran} transactions ran");
    is_unharmed(&server, &mut client, guards, &before)?;
    did_not_grow(&held)
}

#[test]
fn random_queries_of_a_plain_role_do_no_harm() -> Result<()> {
    smith("outsider", false)
}

#[test]
fn random_queries_of_a_privileged_role_do_no_harm() -> Result<()> {
    smith("insider", true)
}
