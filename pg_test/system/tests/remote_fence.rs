//! sql/remote_fence.sql: the resource side on a server without the extension, installed by a role that
//! is no superuser. It refuses whom the extension refuses, with the same words.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use rig::server::clean_environment;
use rig::{Server, home, wait_until};
use std::fs;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use system_tests::refusal::refused;
use system_tests::watch;

/// A server that has never heard of the extension, with the roles that these tests use.
fn server() -> Result<&'static Server> {
    static SERVER: OnceLock<Server> = OnceLock::new();
    if let Some(server) = SERVER.get() {
        return Ok(server);
    }
    let server = Server::builder("managed").bare().conf("max_prepared_transactions = 5").start()?;
    server.execute("postgres", "CREATE ROLE keeper LOGIN; CREATE ROLE mover LOGIN")?;
    Ok(SERVER.get_or_init(|| server))
}

/// A new database of the keeper's with the script in it.
fn database(name: &str) -> Result<&'static Server> {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = server()?;
    server.execute("postgres", &format!("CREATE DATABASE {name} OWNER keeper"))?;
    let script = fs::read_to_string(home::checkout()?.join("sql/remote_fence.sql"))?;
    session(server, name, "keeper")?.batch_execute(&format!("BEGIN; {script} COMMIT;"))?;
    let extensions = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_lease'";
    let there: i64 = server.connect(name)?.query_one(extensions, &[])?.get(0);
    ensure!(there == 0, "the extension is here");
    Ok(server)
}

fn session(server: &Server, database: &str, user: &str) -> Result<Client> {
    Ok(server.config(database).user(user).connect(NoTls)?)
}

/// A database with a guarded tree, and two sessions of the mover's: one that has raised token 17, and
/// one that is to come under 18.
fn chunks(name: &str) -> Result<(&'static Server, Client, Client)> {
    let server = database(name)?;
    session(server, name, "keeper")?.batch_execute(
        "CREATE TABLE chunk (n int, note text) PARTITION BY LIST (n);
         CREATE TABLE chunk_1 PARTITION OF chunk FOR VALUES IN (1);
         CREATE TABLE chunk_2 PARTITION OF chunk FOR VALUES IN (2);
         CREATE TABLE parent (n int PRIMARY KEY);
         CREATE TABLE detail (n int REFERENCES parent ON DELETE CASCADE);
         SELECT lease_guard('chunk', 'mover', 'newest');
         SELECT lease_guard('detail', 'mover', 'newest');
         INSERT INTO parent VALUES (1);
         GRANT ALL ON ALL TABLES IN SCHEMA public TO mover;
         GRANT EXECUTE ON FUNCTION lease_fence_raise TO mover;",
    )?;
    let mut old = session(server, name, "mover")?;
    old.batch_execute("SELECT lease_fence_raise('mover', 17); SET pg_lease.token = 'mover=17';")?;
    old.batch_execute("INSERT INTO chunk VALUES (1, 'first'); INSERT INTO detail VALUES (1)")?;
    let mut new = session(server, name, "mover")?;
    new.batch_execute("SET pg_lease.token = 'mover=18'")?;
    Ok((server, old, new))
}

fn notes(client: &mut Client) -> Result<String> {
    let all = "SELECT COALESCE(string_agg(note, ',' ORDER BY n, note), '') FROM chunk";
    Ok(client.query_one(all, &[])?.get(0))
}

/// Nobody answers for anything once all transactions have ended.
fn nothing_is_left(server: &Server, database: &str) -> Result<()> {
    let left: i64 =
        server.connect(database)?.query_one("SELECT count(*) FROM lease.answering", &[])?.get(0);
    ensure!(left == 0, "{left} rows of ended transactions are left");
    Ok(())
}

const STALE: [&str; 12] = [
    "INSERT INTO chunk VALUES (1, 'late')",
    "INSERT INTO chunk_2 VALUES (2, 'late')",
    "INSERT INTO chunk SELECT 1, 'late' WHERE false",
    "UPDATE chunk SET note = 'late'",
    "UPDATE chunk_1 SET note = 'late'",
    "DELETE FROM chunk",
    "DELETE FROM parent",
    "MERGE INTO chunk USING (SELECT 1 AS n) AS s ON chunk.n = s.n WHEN MATCHED THEN DELETE",
    "COPY chunk FROM PROGRAM 'echo 1'",
    "TRUNCATE chunk",
    "TRUNCATE chunk_1",
    "TRUNCATE parent CASCADE",
];

/// Breaks if a path into the tables had no guard, or read an old snapshot.
#[test]
fn a_stale_writer_is_refused_on_every_path() -> Result<()> {
    let (server, mut old, mut new) = chunks("paths")?;
    new.batch_execute("SELECT lease_fence_raise('mover', 18)")?;
    server.execute("paths", "GRANT pg_execute_server_program TO mover")?;
    server.execute("paths", "GRANT SET ON PARAMETER session_replication_role TO mover")?;
    for statement in STALE {
        for before in ["", "SAVEPOINT s;", "SET LOCAL session_replication_role = replica;"] {
            for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
                if before.contains("replica") && statement.contains("parent") {
                    continue; // no cascade then, and nothing guarded is written
                }
                let all = format!("BEGIN ISOLATION LEVEL {level}; {before} {statement}; COMMIT");
                let told = refused(old.batch_execute(&all), "55000").with_context(|| all)?;
                assert_eq!(told.message(), "token 17 of lease \"mover\" is stale");
                old.batch_execute("ROLLBACK")?;
            }
        }
    }
    assert_eq!(notes(&mut new)?, "first");
    nothing_is_left(server, "paths")
}

/// Breaks if the check at the commit were missing: then the old transaction's write is there.
#[test]
fn an_open_transaction_delays_nobody_and_cannot_commit() -> Result<()> {
    let (server, mut old, mut new) = chunks("open")?;
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let begin = format!("BEGIN ISOLATION LEVEL {level}; INSERT INTO chunk VALUES (1, 'late')");
        for end in ["COMMIT", "PREPARE TRANSACTION 'late'", "SET CONSTRAINTS ALL IMMEDIATE"] {
            session(server, "open", "keeper")?
                .batch_execute("UPDATE lease.fence SET token = 17")?;
            old.batch_execute(&begin)?;
            new.batch_execute("SET lock_timeout = '10 s'; SELECT lease_fence_raise('mover', 18)")?;
            let told = refused(old.batch_execute(end), "55000").with_context(|| end)?;
            assert_eq!(told.message(), "token 17 of lease \"mover\" is stale");
            old.batch_execute("ROLLBACK")?;
        }
    }
    assert_eq!(notes(&mut new)?, "first");
    nothing_is_left(server, "open")
}

/// Breaks if the check at the commit were an ordinary trigger: a role that may turn those off is fenced,
/// too.
#[test]
fn a_replica_is_checked_at_its_commit() -> Result<()> {
    let (server, mut old, mut new) = chunks("replica")?;
    server.execute("replica", "GRANT SET ON PARAMETER session_replication_role TO mover")?;
    old.batch_execute("SET session_replication_role = replica")?;
    old.batch_execute("BEGIN; INSERT INTO chunk VALUES (1, 'late')")?;
    new.batch_execute("SELECT lease_fence_raise('mover', 18)")?;
    refused(old.batch_execute("COMMIT"), "55000")?;
    assert_eq!(notes(&mut new)?, "first");
    nothing_is_left(server, "replica")
}

/// Breaks if a transaction could act on a snapshot from before its own token was raised.
#[test]
fn a_token_raised_under_a_kept_snapshot_is_used_later() -> Result<()> {
    let (_, mut old, mut new) = chunks("kept")?;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        new.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM chunk"))?;
        old.batch_execute("INSERT INTO chunk VALUES (1, 'unseen')")?;
        let told = refused(new.batch_execute("DELETE FROM chunk"), "55000")?;
        assert_eq!(told.message(), "token 18 of lease \"mover\" is new to this database");
        new.batch_execute("ROLLBACK")?;
        new.batch_execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM chunk"))?;
        new.batch_execute("SELECT lease_fence_raise('mover', 18)")?;
        let told = refused(new.batch_execute("DELETE FROM chunk"), "55000")?;
        let here = "token 18 of lease \"mover\" cannot be used in the transaction that got it";
        assert_eq!(told.message(), here);
        new.batch_execute("ROLLBACK")?;
    }
    Ok(())
}

/// Breaks if a raise that is not yet committed did not stop commits under the old token.
#[test]
fn a_commit_meets_a_raise_that_is_under_way() -> Result<()> {
    let (server, mut old, mut new) = chunks("under_way")?;
    old.batch_execute("BEGIN; INSERT INTO chunk VALUES (1, 'late')")?;
    new.batch_execute("BEGIN; INSERT INTO chunk VALUES (2, 'new')")?;
    let told = refused(old.batch_execute("COMMIT"), "55000")?;
    assert_eq!(told.message(), "lease \"mover\" is no longer held with token 17");
    assert_eq!(told.detail(), Some("A takeover of the lease is under way."));
    new.batch_execute("COMMIT")?;
    assert_eq!(notes(&mut new)?, "first,new");
    nothing_is_left(server, "under_way")
}

/// Breaks if a prepared transaction, or one that asked for its check early, did not keep the row.
#[test]
fn who_has_been_checked_is_waited_for() -> Result<()> {
    let (server, mut old, mut new) = chunks("waited_for")?;
    new.batch_execute("SET lock_timeout = '200 ms'")?;
    let write = "BEGIN; INSERT INTO chunk VALUES (1, 'checked')";
    for (check, end) in [
        ("PREPARE TRANSACTION 'checked'", "COMMIT PREPARED 'checked'"),
        ("SET CONSTRAINTS ALL IMMEDIATE", "COMMIT"),
    ] {
        old.batch_execute(&format!("{write}; {check}"))?;
        let told = refused(new.batch_execute("SELECT lease_fence_raise('mover', 18)"), "55P03")?;
        assert_eq!(told.message(), "lease \"mover\" is busy");
        old.batch_execute(end)?;
    }
    new.batch_execute("SELECT lease_fence_raise('mover', 18)")?;
    assert_eq!(notes(&mut new)?, "checked,checked,first");
    nothing_is_left(server, "waited_for")
}

/// Breaks if the check came too early for a raise that waits for it: the commit counts.
#[test]
fn a_raise_waits_for_a_commit_in_flight() -> Result<()> {
    let (server, mut old, mut new) = chunks("in_flight")?;
    old.batch_execute(
        "BEGIN; INSERT INTO chunk VALUES (1, 'in time'); SET CONSTRAINTS ALL IMMEDIATE",
    )?;
    let backend = watch::backend(&mut new)?;
    let raising = thread::spawn(move || {
        new.batch_execute("SET lock_timeout = '60 s'; SELECT lease_fence_raise('mover', 18)")
            .map(|()| new)
    });
    let mut watcher = server.connect("in_flight")?;
    watch::until_waiting(&mut watcher, backend, "transactionid")?;
    old.batch_execute("COMMIT")?;
    wait_until("the raise", Duration::from_secs(60), || Ok(raising.is_finished()))?;
    let mut new = raising.join().map_err(|_| anyhow::anyhow!("the raise died"))??;
    assert_eq!(notes(&mut new)?, "first,in time");
    refused(old.batch_execute("DELETE FROM chunk"), "55000")?;
    nothing_is_left(server, "in_flight")
}

/// Breaks if what a savepoint took back still counted, or what came after it did not.
#[test]
fn savepoints_take_back_what_they_presented() -> Result<()> {
    let (server, mut old, mut new) = chunks("savepoints")?;
    new.batch_execute(
        "BEGIN; SAVEPOINT s; INSERT INTO chunk VALUES (2, 'undone'); ROLLBACK TO s;
         SET LOCAL pg_lease.token = 'mover=17'; INSERT INTO chunk VALUES (2, 'kept'); COMMIT",
    )?;
    // a check that was declared goes with its savepoint, too
    old.batch_execute("RESET pg_lease.token")?;
    old.batch_execute("BEGIN; SAVEPOINT s")?;
    old.batch_execute("SELECT lease_fence_check('mover', 17); ROLLBACK TO s")?;
    refused(old.batch_execute("INSERT INTO chunk VALUES (1, 'undeclared')"), "55000")?;
    old.batch_execute("ROLLBACK; BEGIN; SELECT lease_fence_check('mover', 17)")?;
    old.batch_execute("INSERT INTO chunk VALUES (1, 'declared'); COMMIT")?;
    refused(old.batch_execute("INSERT INTO chunk VALUES (1, 'undeclared')"), "55000")?;
    // the token as it was at the write counts
    old.batch_execute("SET pg_lease.token = 'mover=17'; BEGIN; INSERT INTO chunk VALUES (1, 'x')")?;
    new.batch_execute("SELECT lease_fence_raise('mover', 18)")?;
    old.batch_execute("SET LOCAL pg_lease.token = 'mover=18'")?;
    refused(old.batch_execute("COMMIT"), "55000")?;
    assert_eq!(notes(&mut new)?, "declared,first,kept");
    nothing_is_left(server, "savepoints")
}

/// Breaks if a new partition were thought to be guarded before lease_guard is called again, or not
/// afterwards; or if somebody else could set, remove or get around a guard.
#[test]
fn guards_are_the_owners_and_cover_what_is_there() -> Result<()> {
    let (server, mut mover, _) = chunks("owners")?;
    let mut keeper = session(server, "owners", "keeper")?;
    keeper.batch_execute("CREATE TABLE chunk_3 PARTITION OF chunk FOR VALUES IN (3)")?;
    let again = "SELECT string_agg(guard, ',') FROM lease_guard('chunk', 'mover', 'newest')";
    assert_eq!(keeper.query_one(again, &[])?.get::<_, String>(0), "kept,kept,kept,created");
    refused(keeper.batch_execute("SELECT lease_guard('chunk_3', 'other')"), "42809")?;
    refused(keeper.batch_execute("SELECT lease_guard('chunk', 'mover', 'live')"), "22023")?;
    refused(
        keeper.batch_execute("SELECT lease_guard('chunk', 'mover', always => false)"),
        "42710",
    )?;
    for closed in [
        "SELECT lease_unguard('chunk')",
        "SELECT lease_guard('chunk', 'mover')",
        "SELECT lease.raise_fence('mover', 99)",
        "SELECT lease.obey('mover', 99, true); SELECT 1",
        "SELECT lease.answer_for('mover', 17)",
        "UPDATE lease.fence SET token = 1",
        "DELETE FROM lease.answering",
        "CREATE TEMP TABLE own (n int); CREATE TRIGGER g BEFORE INSERT ON own
             EXECUTE FUNCTION lease.guard_writes('mover', 'newest')",
    ] {
        refused(mover.batch_execute(closed), "42501").with_context(|| closed)?;
    }
    for bad in ["mover", "mover=x", "mover=1,mover=2", "a b=1", "mover=0", "mover=1.x"] {
        mover.batch_execute(&format!("SET pg_lease.token = '{bad}'"))?;
        refused(mover.batch_execute("DELETE FROM chunk"), "22023").with_context(|| bad)?;
    }
    let unguard = "SELECT lease_unguard('chunk')";
    assert_eq!(keeper.query_one(unguard, &[])?.get::<_, i64>(0), 4);
    refused(keeper.batch_execute(unguard), "42704")?;
    Ok(())
}

/// What the extension's tests print, this prints, to the letter.
#[test]
fn the_extensions_own_tests_pass() -> Result<()> {
    let server = database("the_same")?;
    let output = home::target()?.join(format!("test/remote-{}", std::process::id()));
    fs::create_dir_all(&output)?;
    let drive = |driver: &str, kind: &str, tests: &[&str]| -> Result<()> {
        let mut run = Command::new(server.tree().origin.test_driver(driver)?);
        clean_environment(&mut run);
        run.args(["--use-existing", "--dbname=the_same", "--user=postgres"]);
        run.arg(format!("--host={}", server.host())).arg(format!("--port={}", server.port()));
        run.arg(format!("--bindir={}", server.tree().own.bin.display()));
        run.arg(format!("--inputdir={}", home::checkout()?.join("pg_test").join(kind).display()));
        run.arg(format!("--outputdir={}", output.display())).args(tests);
        let ran = run.stdin(Stdio::null()).output()?;
        let differences = fs::read_to_string(output.join("regression.diffs")).unwrap_or_default();
        ensure!(ran.status.success(), "{}\n{differences}", String::from_utf8_lossy(&ran.stdout));
        Ok(())
    };
    server.execute("the_same", "ALTER DATABASE the_same SET client_min_messages = warning")?;
    let ran = drive("regress/pg_regress", "regress", &["newest_poison"]).and_then(|()| {
        drive("isolation/pg_isolation_regress", "isolation", &["newest_raised_at_the_statement"])
    });
    let _ = fs::remove_dir_all(&output);
    ran
}

/// The wording, DETAIL and HINT included, is the extension's: what is raised here is written there.
#[test]
fn every_refusal_is_worded_as_the_extension_words_it() -> Result<()> {
    let script = fs::read_to_string(home::checkout()?.join("sql/remote_fence.sql"))?;
    let rules = fs::read_to_string(home::checkout()?.join("src/rules/refusal.rs"))?;
    let rules = words(&rules.replace("\\\n", " "));
    for text in [
        "is stale",
        "has obeyed token",
        "Stop the work, and acquire the lease again before going on.",
        "no token presented for lease",
        "takes writes under a token of this lease only.",
        "is new to this database",
        "A check is open to everybody, so it raises the newest token only for who may do that.",
        "Grant the role EXECUTE on lease_fence_raise, or let a guarded write raise it.",
        "cannot be used in the transaction that got it",
        "Commit first, then write under the token in the next transaction.",
        "was never granted for lease",
        "A takeover of the lease is under way.",
        "a pg_lease guard is attached in a wrong way",
        "Drop the trigger and attach it with lease_guard().",
        "cannot be checked on a standby",
        "Try again, or raise lock_timeout.",
        "cannot be guarded alone",
        "Guard the topmost parent; the guard covers everything below it.",
    ] {
        assert!(words(&script).contains(text), "the script does not say: {text}");
        assert!(rules.contains(text), "the extension does not say: {text}");
    }
    Ok(())
}

/// A text with one space between its words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
