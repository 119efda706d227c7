//! lease_evict ends the sessions that still work under an old token, says which would not end, and
//! touches neither a good one nor a prepared transaction.

use anyhow::{Context, Result};
use postgres::{Client, NoTls};
use rig::{Server, process};
use std::time::{Duration, Instant};
use system_tests::lease::{grant, guarded_table, notes, present, takeover, write};
use system_tests::program::Program;
use system_tests::refusal::refused;
use system_tests::shared::Shared;
use system_tests::watch;

static SERVER: Shared = Shared::new();

/// A row of what lease_evict answers.
#[derive(Debug)]
struct Evicted {
    pid: Option<i32>,
    token: i64,
    ended: bool,
    role: String,
    application: Option<String>,
    state: String,
    gid: Option<String>,
    advice: String,
}

fn evict(client: &mut Client, lease: &str) -> Result<Vec<Evicted>, postgres::Error> {
    let call = "SELECT pid, token, ended, role, application, state, gid, coalesce(advice, '')
                FROM lease_evict($1) WHERE since < clock_timestamp()";
    let rows = client.query(call, &[&lease])?;
    let read = |row: &postgres::Row| Evicted {
        pid: row.get(0),
        token: row.get(1),
        ended: row.get(2),
        role: row.get(3),
        application: row.get(4),
        state: row.get(5),
        gid: row.get(6),
        advice: row.get(7),
    };
    Ok(rows.iter().map(read).collect())
}

/// Each session that is shown to be in the middle of work: its process, token, and whether stale.
fn shown(client: &mut Client, lease: &str) -> Result<Vec<(i32, i64, bool)>> {
    let look =
        "SELECT pid, token, stale FROM lease.fenced_backends WHERE lease = $1 ORDER BY token";
    let rows = client.query(look, &[&lease])?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
}

/// A client of this role with an open transaction that has written under the token.
fn at_work(
    server: &Server,
    database: &str,
    role: &str,
    lease: &str,
    token: i64,
) -> Result<(Client, i32)> {
    let mut client =
        server.config(database).user(role).application_name("worker").connect(NoTls)?;
    present(&mut client, lease, token)?;
    client.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('old')")?;
    let pid = watch::backend(&mut client)?;
    Ok((client, pid))
}

/// Breaks if what is stale were left, or what is good were ended.
#[test]
fn the_stale_end_and_the_good_go_on() -> Result<()> {
    let (server, mut client) = SERVER.database("stale_end")?;
    guarded_table(&mut client, "job")?;
    let old = grant(&mut client, "job", "a")?;
    let (mut first, first_pid) = at_work(server, "stale_end", "postgres", "job", old)?;
    let mut holder = Program::psql(server, "stale_end")?;
    holder.send(&format!("BEGIN; SELECT lease_fence_check('job', {old});"))?;
    holder.send("INSERT INTO work (note) VALUES ('late') RETURNING 'written';")?;
    holder.says("written")?;
    holder.freeze_in_transaction(&mut client, "frozen")?;
    assert!(shown(&mut client, "job")?.iter().all(|(_, token, stale)| *token == old && !stale));
    assert!(evict(&mut client, "job")?.is_empty(), "a good session was ended");

    let new = takeover(&mut client, "job", "b", "1 hour")?.token.context("no token")?;
    let (mut good, good_pid) = at_work(server, "stale_end", "postgres", "job", new)?;
    let seen = shown(&mut client, "job")?;
    assert_eq!(
        seen.iter().map(|(_, token, stale)| (*token, *stale)).collect::<Vec<_>>(),
        [(old, true), (old, true), (new, false)]
    );
    let began = Instant::now();
    let ended = evict(&mut client, "job")?;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(ended.len(), 2, "{ended:?}");
    for one in &ended {
        assert!(one.ended && one.token == old && one.pid != Some(good_pid), "{one:?}");
        assert_eq!((one.role.as_str(), one.state.as_str()), ("postgres", "idle in transaction"));
        assert!(one.gid.is_none() && one.advice.is_empty(), "{one:?}");
    }
    assert!(ended.iter().any(|one| one.pid == Some(first_pid)));
    assert!(ended.iter().any(|one| one.application.as_deref() == Some("frozen")));
    assert!(first.batch_execute("COMMIT").is_err());
    assert_eq!(shown(&mut client, "job")?, [(good_pid, new, false)]);
    let line = format!("lease \"job\": ended process {first_pid} (role \"postgres\"");
    assert!(server.log().contains(&line), "{}", server.log_tail());
    good.batch_execute("COMMIT")?;
    assert_eq!(notes(&mut client)?, ["old"]);
    assert!(evict(&mut client, "job")?.is_empty());
    Ok(())
}

/// Breaks if a lease that nobody has any more could not be cleared: released, dropped.
#[test]
fn sessions_of_a_released_and_a_dropped_lease_end() -> Result<()> {
    let (server, mut client) = SERVER.database("dropped")?;
    client.batch_execute("CREATE TABLE work (id bigserial, note text)")?;
    let token = grant(&mut client, "job", "a")?;
    let check = format!("BEGIN; SELECT lease_fence_check('job', {token})");
    let mut released = server.connect("dropped")?;
    released.batch_execute(&check)?;
    let mut dropped = server.connect("dropped")?;
    dropped.batch_execute(&check)?;
    let dropped_pid = watch::backend(&mut dropped)?;
    client.execute("SELECT lease_release('job', 'a', $1)", &[&token])?;
    assert_eq!(evict(&mut client, "job")?.iter().filter(|one| one.ended).count(), 2);

    let token = grant(&mut client, "job", "a")?;
    let mut dropped = server.connect("dropped")?;
    dropped.batch_execute(&format!("BEGIN; SELECT lease_fence_check('job', {token})"))?;
    let pid = watch::backend(&mut dropped)?;
    assert_ne!(pid, dropped_pid);
    client.execute("SELECT lease_release('job', 'a', $1)", &[&token])?;
    client.execute("SELECT lease_drop('job')", &[])?;
    let look = "SELECT pid FROM lease.fenced_backends WHERE lease IS NULL AND stale IS NULL";
    assert_eq!(client.query_one(look, &[])?.get::<_, i32>(0), pid);
    let call = "SELECT pid, token, ended FROM lease_evict('job')";
    let row = client.query_one(call, &[])?;
    assert_eq!((row.get(0), row.get(1), row.get(2)), (pid, None::<i64>, true));
    Ok(())
}

/// Breaks if evict waited for ever for a backend that is stopped, or took it for ended; the wait is
/// for all of them together.
#[test]
fn a_stopped_backend_is_named() -> Result<()> {
    let (server, mut client) = SERVER.database("stopped")?;
    guarded_table(&mut client, "job")?;
    let old = grant(&mut client, "job", "a")?;
    let workers = [
        at_work(server, "stopped", "postgres", "job", old)?,
        at_work(server, "stopped", "postgres", "job", old)?,
        at_work(server, "stopped", "postgres", "job", old)?,
    ];
    takeover(&mut client, "job", "b", "1 hour")?;
    let stopped = [workers[0].1, workers[1].1];
    stopped.iter().try_for_each(|pid| process::freeze(*pid))?;
    let began = Instant::now();
    let told = evict(&mut client, "job");
    let took = began.elapsed();
    stopped.iter().try_for_each(|pid| process::thaw(*pid))?;
    let told = told?;
    assert!(took > Duration::from_secs(5) && took < Duration::from_secs(9), "{took:?}");
    assert_eq!(told.len(), 3);
    for one in told {
        let pid = one.pid.context("no pid")?;
        assert_eq!(one.ended, !stopped.contains(&pid), "{one:?}");
        assert_eq!(one.advice.contains(&format!("process {pid} goes on")), !one.ended);
    }
    for pid in stopped {
        watch::until_gone(&mut client, pid)?;
    }
    Ok(())
}

/// Breaks if a prepared transaction were left out, or decided by us.
#[test]
fn prepared_transactions_are_listed() -> Result<()> {
    let (_, mut client) = SERVER.database("prepared")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    present(&mut client, "job", token)?;
    client.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('x')")?;
    client.batch_execute("PREPARE TRANSACTION 'night''s work'")?;
    let look =
        "SELECT pid IS NULL, lease, token, stale, state, since < clock_timestamp(), role, gid
                FROM lease.fenced_backends";
    let row = client.query_one(look, &[])?;
    assert!(row.get::<_, bool>(0) && !row.get::<_, bool>(3) && row.get::<_, bool>(5));
    assert_eq!((row.get(1), row.get(2), row.get(4)), ("job", token, "prepared"));
    assert_eq!((row.get(6), row.get(7)), ("postgres", "night's work"));
    let told = evict(&mut client, "job")?;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(!told[0].ended && told[0].pid.is_none() && told[0].token == token);
    assert_eq!(told[0].gid.as_deref(), Some("night's work"));
    assert!(told[0].advice.contains("ROLLBACK PREPARED 'night''s work'"), "{told:?}");
    client.batch_execute("COMMIT PREPARED 'night''s work'")?;
    assert_eq!(notes(&mut client)?, ["x"]);
    assert!(evict(&mut client, "job")?.is_empty());
    Ok(())
}

/// Breaks if a prepared transaction were not found any more once the server has read it from disk.
#[test]
fn prepared_transactions_are_listed_after_a_restart() -> Result<()> {
    let server = Server::start("again")?;
    let mut client = system_tests::shared::database(&server, "jobs")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    present(&mut client, "job", token)?;
    for gid in ["one", "two"] {
        client.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('x')")?;
        client.batch_execute(&format!("PREPARE TRANSACTION '{gid}'"))?;
    }
    server.restart()?;
    let mut client = server.connect("jobs")?;
    let look = "SELECT string_agg(gid, ' ' ORDER BY gid) FROM lease.fenced_backends
                WHERE lease = 'job' AND NOT stale AND role = 'postgres'";
    assert_eq!(client.query_one(look, &[])?.get::<_, &str>(0), "one two");
    assert_eq!(evict(&mut client, "job")?.len(), 2);
    Ok(())
}

/// Breaks if a role needed more than its right: it ends sessions of others, a superuser's too, as the
/// extension's owner is one.
#[test]
fn a_role_with_the_right_ends_the_sessions_of_others() -> Result<()> {
    let (server, mut client) = SERVER.database("rights")?;
    client.batch_execute(
        "CREATE ROLE oncall LOGIN; CREATE ROLE worker LOGIN; CREATE ROLE nobody LOGIN;
         SELECT lease_allow('oncall', 'job', '{evict}'); SELECT lease_allow('worker', 'job')",
    )?;
    guarded_table(&mut client, "job")?;
    client.batch_execute("GRANT ALL ON work, work_id_seq TO worker")?;
    let connect = |role: &str| server.config("rights").user(role).connect(NoTls);
    let old = grant(&mut connect("worker")?, "job", "a")?;
    let (_worker, pid) = at_work(server, "rights", "worker", "job", old)?;
    let (_superuser, superuser_pid) = at_work(server, "rights", "postgres", "job", old)?;
    takeover(&mut client, "job", "b", "1 hour")?;
    for role in ["nobody", "worker"] {
        let told = refused(evict(&mut connect(role)?, "job"), "42501")?;
        let expected = format!("role \"{role}\" may not evict lease \"job\"");
        assert_eq!(told.message(), expected);
    }
    let mut ended: Vec<_> =
        evict(&mut connect("oncall")?, "job")?.into_iter().filter_map(|one| one.pid).collect();
    ended.sort_unstable();
    let mut expected = [pid, superuser_pid];
    expected.sort_unstable();
    assert_eq!(ended, expected);
    Ok(())
}

/// An extension whose owner is not a superuser ends what that role may end, and says what it may not.
#[test]
fn an_owner_without_the_power_says_so() -> Result<()> {
    let (server, mut client) = SERVER.database("owned")?;
    client.batch_execute(
        "CREATE ROLE keeper LOGIN IN ROLE pg_signal_backend, pg_monitor; CREATE ROLE plain LOGIN;
         SELECT lease_allow('plain', 'job')",
    )?;
    guarded_table(&mut client, "job")?;
    client.batch_execute("GRANT ALL ON work, work_id_seq TO plain")?;
    client.batch_execute(
        "DO $$ DECLARE one record; BEGIN
           FOR one IN SELECT c.oid::regclass AS name, relkind FROM pg_class c
                      WHERE relnamespace = 'lease'::regnamespace AND relkind IN ('r', 'v', 'S') LOOP
             EXECUTE format('ALTER %s %s OWNER TO keeper', CASE one.relkind WHEN 'r' THEN 'TABLE'
               WHEN 'v' THEN 'VIEW' ELSE 'SEQUENCE' END, one.name);
           END LOOP; END $$;
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA lease TO keeper",
    )?;
    let old = grant(&mut server.config("owned").user("plain").connect(NoTls)?, "job", "a")?;
    let (_plain, plain_pid) = at_work(server, "owned", "plain", "job", old)?;
    let (mut superuser, superuser_pid) = at_work(server, "owned", "postgres", "job", old)?;
    takeover(&mut client, "job", "b", "1 hour")?;
    let told = evict(&mut client, "job")?;
    assert_eq!(told.len(), 2, "{told:?}");
    for one in told {
        let forbidden = one.pid == Some(superuser_pid);
        assert!(forbidden || one.pid == Some(plain_pid));
        assert_eq!(one.ended, !forbidden, "{one:?}");
        assert_eq!(one.advice.contains("a superuser"), forbidden, "{one:?}");
    }
    refused(superuser.batch_execute("COMMIT"), "55000")?;
    let mut after = server.connect("owned")?;
    assert!(notes(&mut after)?.is_empty());
    write(&mut after, "x").err().context("an unguarded table")?;
    Ok(())
}
