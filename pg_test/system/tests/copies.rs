//! A copy of a database keeps its guards and forgets its holders: leases come back void, old tokens
//! are refused, and new ones are above every old one.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::Server;
use std::process::Stdio;
use system_tests::history::{all_above, all_differ};
use system_tests::lease::{self, expire, grant, grant_many, guarded_table, notes, present, state};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};

static HERE: Shared = Shared::new();
static ELSEWHERE: Shared = Shared::new();

/// A database with a holder that has written, and a fence raised for a lease granted elsewhere.
struct Original {
    server: &'static Server,
    client: Client,
    name: &'static str,
    token: i64,
}

impl Original {
    fn new(name: &'static str) -> Result<Self> {
        let (server, mut client) = HERE.database(name)?;
        guarded_table(&mut client, "job")?;
        client.batch_execute(
            "CREATE TABLE far (n int); SELECT lease_guard('far', 'far', 'newest')",
        )?;
        let token = grant(&mut client, "job", "a")?;
        grant(&mut client, "idle", "a")?;
        present(&mut client, "job", token)?;
        lease::write(&mut client, "before")?;
        client.batch_execute("SELECT lease_fence_raise('far', 7)")?;
        Ok(Self { server, client, name, token })
    }

    /// Copies it with pg_dump and psql.
    fn restore_into(&self, server: &Server, name: &str) -> Result<()> {
        server.create_database(name)?;
        let mut dump = self.server.client("pg_dump", self.name).stdout(Stdio::piped()).spawn()?;
        let script = dump.stdout.take().context("no stdout")?;
        let mut psql = server.client("psql", name);
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]).stdin(script);
        let restored = psql.status()?;
        ensure!(dump.wait()?.success() && restored.success(), "the copy failed");
        Ok(())
    }

    /// Breaks if a copy took the original's tokens for its own, or counted on from them.
    fn is_void_in(&self, copy: &mut Client) -> Result<()> {
        assert_eq!(state(copy, "job")?, ("void".into(), self.token));
        assert_eq!(state(copy, "idle")?.0, "void");
        for check in
            ["INSERT INTO work (note) VALUES ('no token')", "DELETE FROM work", "TRUNCATE work"]
        {
            let told = refused(copy.batch_execute(check), "55000")?;
            assert_eq!(told.message(), "no token presented for lease \"job\"");
        }
        present(copy, "job", self.token)?;
        refused(lease::write(copy, "old token"), "55000")?;
        refused(lease::renew(copy, "job", "a", self.token, "1 h"), "55000")?;
        assert_eq!(lease::release(copy, "job", "a", self.token)?.status, "not_held");
        self.is_fenced_in(copy)
    }

    fn is_fenced_in(&self, copy: &mut Client) -> Result<()> {
        let next = grant(copy, "job", "b")?; // at once: nobody holds it here
        all_above(&[next, grant(copy, "new", "b")?], &[self.token])?;
        present(copy, "job", next)?;
        lease::write(copy, "after")?;
        assert_eq!(notes(copy)?, ["before", "after"]);
        let mut far = |token: i64| {
            let set = format!("SET pg_lease.token = 'far={token}'; INSERT INTO far VALUES (1)");
            copy.batch_execute(&set)
        };
        refused(far(6), "55000")?;
        Ok(far(7)?)
    }

    /// A copy changes nothing for the original.
    fn goes_on(&mut self) -> Result<()> {
        assert_eq!(state(&mut self.client, "job")?, ("held".into(), self.token));
        lease::write(&mut self.client, "still")?;
        Ok(())
    }
}

/// Another system: breaks if the identity left the cluster out.
#[test]
fn a_dump_restored_into_another_cluster() -> Result<()> {
    let mut original = Original::new("dumped")?;
    let server = ELSEWHERE.server()?;
    original.restore_into(server, "dumped")?;
    original.is_void_in(&mut server.connect("dumped")?)?;
    original.goes_on()
}

/// The same system, another database: breaks if the identity left the database out.
#[test]
fn a_dump_restored_into_the_same_cluster() -> Result<()> {
    let mut original = Original::new("twice")?;
    original.restore_into(original.server, "twice_copy")?;
    original.is_void_in(&mut original.server.connect("twice_copy")?)?;
    original.goes_on()
}

/// Breaks if lease.lease, lease.fence or lease.change was not marked for dumps, or a column of it was lost.
#[test]
fn a_dump_keeps_every_row() -> Result<()> {
    let mut original = Original::new("rows")?;
    let server = ELSEWHERE.server()?;
    original.restore_into(server, "rows")?;
    let mut copy = server.connect("rows")?;
    for table in ["lease.lease", "lease.fence", "lease.change"] {
        let all =
            format!("SELECT count(*), string_agg(t::text, ' ' ORDER BY name) FROM {table} AS t");
        let of = |client: &mut Client| -> Result<(i64, Option<String>)> {
            let row = client.query_one(&all, &[])?;
            Ok((row.get(0), row.get(1)))
        };
        let rows = of(&mut original.client)?;
        assert!(rows.0 > 0);
        assert_eq!(rows, of(&mut copy)?, "{table}");
    }
    Ok(())
}

/// The same files even: breaks if the identity lay in the database itself.
#[test]
fn a_database_made_from_a_template() -> Result<()> {
    let mut original = Original::new("template")?;
    let server = original.server;
    original.client = server.connect("postgres")?;
    let copied = "CREATE DATABASE template_copy TEMPLATE template";
    // the session that has just left may still be on its way out: the server waits for it
    server.execute("postgres", copied)?;
    original.is_void_in(&mut server.connect("template_copy")?)?;
    original.client = server.connect("template")?;
    present(&mut original.client, "job", original.token)?;
    original.goes_on()
}

/// Breaks if a new extension's sequence started at 1, or where a dropped one had stopped.
#[test]
fn an_extension_dropped_and_created_again() -> Result<()> {
    let (_, mut client) = HERE.database("again")?;
    let mut before: Vec<i64> = Vec::new();
    for _ in 0..3 {
        let names: Vec<String> = (0..50).map(|n| format!("job:{n}")).collect();
        let tokens = grant_many(&mut client, &names, "a")?;
        if !before.is_empty() {
            all_above(&tokens, &before)?;
        }
        before.extend(tokens);
        client.batch_execute("DROP EXTENSION pg_lease CASCADE; CREATE EXTENSION pg_lease")?;
    }
    all_differ(&before)
}

/// Breaks if a server could not tell its own restart from a copy of its storage: both would count
/// on from the same number. Holders stay, as after a restart: nothing tells the copy from it.
#[test]
fn a_copy_of_the_storage_grants_other_tokens() -> Result<()> {
    let original = Server::start("original")?;
    let mut client = database(&original, "jobs")?;
    let before = grant(&mut client, "job", "a")?;
    drop(client);
    original.stop()?;
    let copy = Server::builder("copy").start_copy_of(&original)?;
    original.start_again()?;
    let names: Vec<String> = (0..100).map(|n| format!("new:{n}")).collect();
    let mut all = vec![before];
    for server in [&original, &copy] {
        let mut client = server.connect("jobs")?;
        assert_eq!(state(&mut client, "job")?, ("held".into(), before));
        expire(&mut client, "job")?;
        let taken = grant(&mut client, "job", "b")?;
        let granted = grant_many(&mut client, &names, "b")?;
        all_above(&granted, &[before])?;
        all.push(taken);
        all.extend(granted);
    }
    all_differ(&all)
}
