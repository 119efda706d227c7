//! Who may do what survives dumps and copies by the names of the roles, and never by numbers that stand
//! for others there.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use rig::Server;
use std::process::Stdio;
use system_tests::lease::{acquire, renew, state};
use system_tests::refusal::refused;
use system_tests::shared::database;

/// A server with roles, made in this order, so that their OIDs are the same on every new server.
fn server(name: &str, roles: &[&str]) -> Result<Server> {
    let server = Server::start(name)?;
    for role in roles {
        server.execute("postgres", &format!("CREATE ROLE {role} LOGIN"))?;
    }
    Ok(server)
}

fn connect(server: &Server, database: &str, role: &str) -> Result<Client> {
    Ok(server.config(database).user(role).connect(NoTls)?)
}

fn copy(from: &Server, name: &str, to: &Server, into: &str) -> Result<()> {
    to.create_database(into)?;
    let mut dump = from.client("pg_dump", name).stdout(Stdio::piped()).spawn()?;
    let script = dump.stdout.take().context("no stdout")?;
    let mut psql = to.client("psql", into);
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]).stdin(script);
    let restored = psql.status()?;
    ensure!(dump.wait()?.success() && restored.success(), "the copy failed");
    Ok(())
}

fn oid(client: &mut Client, role: &str) -> Result<u32> {
    Ok(client.query_one("SELECT oid FROM pg_roles WHERE rolname = $1", &[&role])?.get(0))
}

fn may_acquire(server: &Server, database: &str, role: &str, name: &str) -> Result<bool> {
    let answer = acquire(&mut connect(server, database, role)?, name, role, "1 h");
    match answer {
        Ok(answer) => Ok(answer.status == "granted" || answer.status == "renewed"),
        refused_call => refused(refused_call, "42501").map(|_| false),
    }
}

/// Breaks if a restore failed where a role is missing, or took a role's OID for the same role there.
#[test]
fn another_cluster_has_the_same_roles_by_their_names() -> Result<()> {
    let here = server("here", &["worker", "missing"])?;
    let there = server("there", &["stranger", "worker"])?;
    let mut original = database(&here, "jobs")?;
    original
        .batch_execute("SELECT lease_allow('worker', 'job:*'), lease_allow('missing', 'job:*')")?;
    let granted = acquire(&mut connect(&here, "jobs", "worker")?, "job:1", "w", "1 h")?;
    copy(&here, "jobs", &there, "jobs")?;
    let mut restored = there.connect("jobs")?;
    assert_eq!(oid(&mut original, "worker")?, oid(&mut restored, "stranger")?);
    assert_eq!(state(&mut restored, "job:1")?.0, "void");

    assert!(!may_acquire(&there, "jobs", "stranger", "job:1")?);
    let mut worker = connect(&there, "jobs", "worker")?;
    let token = granted.token.context("no token")?;
    refused(renew(&mut worker, "job:1", "w", token, "1 h"), "55000")?;
    assert!(may_acquire(&there, "jobs", "worker", "job:1")?);
    let lines =
        "SELECT string_agg(role || ' ' || role_exists, ', ' ORDER BY role) FROM lease.access";
    let shown: String = restored.query_one(lines, &[])?.get(0);
    assert_eq!(shown, "missing false, worker true");

    // once the copy has made the lines its own, a name alone opens nothing any more
    restored.batch_execute("SELECT lease_disallow('missing', 'job:*')")?;
    restored.batch_execute("DROP ROLE worker; CREATE ROLE worker LOGIN")?;
    assert!(!may_acquire(&there, "jobs", "worker", "job:2")?);
    Ok(())
}

/// Breaks if copies within a cluster, whose roles are the same, lost what was allowed; or if a rename
/// after the dump was not seen.
#[test]
fn a_copy_in_the_same_cluster_keeps_what_was_allowed() -> Result<()> {
    let here = server("same", &["worker", "other"])?;
    let mut original = database(&here, "jobs")?;
    original.batch_execute("SELECT lease_allow('worker', 'job:*')")?;
    copy(&here, "jobs", &here, "restored")?;
    drop(original);
    here.execute("postgres", "CREATE DATABASE made TEMPLATE jobs")?;
    for name in ["jobs", "restored", "made"] {
        assert!(may_acquire(&here, name, "worker", "job:1")?, "{name}");
        assert!(!may_acquire(&here, name, "other", "job:1")?, "{name}");
    }
    here.execute("postgres", "ALTER ROLE worker RENAME TO renamed")?;
    assert!(may_acquire(&here, "jobs", "renamed", "job:2")?);
    assert!(!may_acquire(&here, "made", "renamed", "job:2")?);
    Ok(())
}

/// A data-only dump, taken back into the same database: the OIDs are the right ones, and a role that
/// was dropped in between leaves its lease to nobody. Breaks if the rows could not be loaded.
#[test]
fn rows_that_are_loaded_again_know_their_roles() -> Result<()> {
    let here = server("again", &["worker", "gone"])?;
    let mut client = database(&here, "jobs")?;
    client.batch_execute("SELECT lease_allow('worker', '*'), lease_allow('gone', '*')")?;
    let mut tokens = Vec::new();
    for role in ["worker", "gone"] {
        let granted = acquire(&mut connect(&here, "jobs", role)?, role, role, "1 h")?;
        tokens.push(granted.token.context("no token")?);
    }
    let dumped = here
        .client("pg_dump", "jobs")
        .args(["--data-only", "--disable-triggers"])
        .stdout(Stdio::piped())
        .output()?;
    ensure!(dumped.status.success(), "pg_dump failed");
    client.batch_execute("DROP ROLE gone; TRUNCATE lease.lease, lease.fence, lease.allowed")?;
    let mut psql = here.client("psql", "jobs");
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]).stdin(Stdio::piped());
    let mut loading = psql.spawn()?;
    std::io::Write::write_all(&mut loading.stdin.take().context("no stdin")?, &dumped.stdout)?;
    ensure!(loading.wait()?.success(), "loading failed");

    let mut worker = connect(&here, "jobs", "worker")?;
    assert_eq!(renew(&mut worker, "worker", "worker", tokens[0], "1 h")?.status, "renewed");
    refused(renew(&mut worker, "gone", "gone", tokens[1], "1 h"), "42501")?;
    client.batch_execute("CREATE ROLE gone LOGIN")?;
    assert!(!may_acquire(&here, "jobs", "gone", "gone")?);
    let by_owner = renew(&mut client, "gone", "gone", tokens[1], "1 h")?;
    assert_eq!(by_owner.status, "renewed");
    Ok(())
}
