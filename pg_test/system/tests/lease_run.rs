//! lease-run with real commands: it runs them under a lease and as if it were not there, and when the
//! lease ends, nothing of them lives until somebody else could have it.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use postgres::Client;
use rig::server::clean_environment;
use rig::{Server, home, process, wait_until};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use system_tests::lease::{guarded_table, notes, state, takeover};
use system_tests::program::Program;
use system_tests::shared::{Shared, database};
use system_tests::watch::{PATIENCE, until};

static SHARED: Shared = Shared::new();

/// The program, which is built when it is first asked for.
fn program() -> Result<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let checkout = home::checkout().ok()?;
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "-p", "lease-run"]).current_dir(checkout);
        cargo.status().ok()?.success().then_some(())?;
        Some(home::target().ok()?.join("debug/lease-run"))
    });
    built.as_deref().context("lease-run does not build")
}

/// lease-run with libpq's variables to find a database.
fn connected(server: &Server, database: &str) -> Result<Command> {
    let mut run = Command::new(program()?);
    clean_environment(&mut run);
    run.env("PGHOST", server.host()).env("PGPORT", server.port().to_string());
    run.env("PGUSER", "postgres").env("PGDATABASE", database).env("HOME", server.host());
    Ok(run)
}

/// For the lease `job` of a database.
fn lease_run(
    server: &Server,
    database: &str,
    options: &[&str],
    command: &[&str],
) -> Result<Command> {
    let mut run = connected(server, database)?;
    run.args(["--lease", "job", "--verbose"]).args(options).arg("--").args(command);
    Ok(run)
}

/// Runs it to its end: its status, and what it and the command have said.
fn ended(server: &Server, run: &mut Command) -> Result<(i32, Vec<String>)> {
    let mut run = Program::start(run, server)?;
    let status = run.ends()?;
    Ok((status.code().context("it was killed")?, run.said()))
}

fn run(server: &Server, database: &str, options: &[&str], command: &[&str]) -> Result<i32> {
    Ok(ended(server, &mut lease_run(server, database, options, command)?)?.0)
}

/// A file for what a command writes.
fn file(server: &Server, name: &str) -> Result<PathBuf> {
    let dir = Path::new(&server.host()).join("lease-run");
    fs::create_dir_all(&dir)?;
    Ok(dir.join(name))
}

/// Waits until as many pids are in the file, and returns them.
fn pids(file: &Path, count: usize) -> Result<Vec<i32>> {
    let read = || -> Vec<i32> {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    wait_until("the command's pids", PATIENCE, || Ok(read().len() >= count))?;
    Ok(read())
}

fn none_lives(pids: &[i32]) -> Result<()> {
    let alive: Vec<_> = pids.iter().filter(|pid| process::alive(**pid)).collect();
    ensure!(alive.is_empty(), "{alive:?} of {pids:?} still run");
    Ok(())
}

/// How long the lease has been granted or renewed for, by its row.
fn expiry(client: &mut Client) -> Result<f64> {
    let shown = "SELECT extract(epoch FROM expires_at)::float8 FROM lease.lease WHERE name = 'job'";
    Ok(client.query_one(shown, &[])?.get(0))
}

/// A shell that ignores SIGTERM and has children: one in its group, one in a session of its own whose
/// parent is gone. All write their pids, and from then on the time, into files.
const STUBBORN: &str = r#"
trap '' TERM INT HUP
clock() { while :; do date +%s.%N >> "$TIMES"; sleep 0.02; done; }
(echo $BASHPID >> "$PIDS"; clock) &
(setsid bash -c 'trap "" TERM; echo $$ >> "$PIDS"; while :; do date +%s.%N >> "$TIMES"; sleep 0.02; done' &)
echo $$ >> "$PIDS"
clock
"#;

struct Stubborn {
    run: Program,
    pids: Vec<i32>,
    times: PathBuf,
}

impl Stubborn {
    fn start(server: &Server, database: &str, options: &[&str]) -> Result<Self> {
        let (pids_file, times) = (file(server, "pids")?, file(server, "times")?);
        let mut run = lease_run(server, database, options, &["bash", "-c", STUBBORN])?;
        run.env("PIDS", &pids_file).env("TIMES", &times);
        let run = Program::start(&mut run, server)?;
        Ok(Self { run, pids: pids(&pids_file, 3)?, times })
    }

    /// When any of them has written for the last time, in seconds since 1970.
    fn last(&self) -> Result<f64> {
        let text = fs::read_to_string(&self.times)?;
        let times = text.lines().filter_map(|line| line.parse::<f64>().ok());
        times.max_by(f64::total_cmp).context("nothing was written")
    }
}

#[test]
fn the_exit_status_is_the_commands_own() -> Result<()> {
    let (server, mut client) = SHARED.database("exit_status")?;
    for (script, wanted) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("exit 255", 255),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
    ] {
        assert_eq!(run(server, "exit_status", &[], &["sh", "-c", script])?, wanted, "{script}");
        assert_eq!(state(&mut client, "job")?.0, "free", "{script}");
    }
    let acquired = "SELECT acquisitions = 5 FROM lease.status WHERE name = 'job'";
    assert!(client.query_one(acquired, &[])?.get::<_, bool>(0));
    Ok(())
}

#[test]
fn what_cannot_run_takes_no_lease() -> Result<()> {
    let (server, mut client) = SHARED.database("cannot_run")?;
    assert_eq!(run(server, "cannot_run", &["--once", "a"], &["no-such-command"])?, 127);
    assert_eq!(run(server, "cannot_run", &["--once", "a"], &["/etc/passwd"])?, 126);
    assert_eq!(run(server, "cannot_run", &["--ttl", "1"], &["true"])?, 64);
    assert_eq!(run(server, "cannot_run", &["--dsn", "hots=x"], &["true"])?, 64);
    assert_eq!(run(server, "cannot_run", &["--dsn", "host=127.0.0.1 port=1"], &["true"])?, 69);
    let (status, said) = ended(server, &mut lease_run(server, "postgres", &[], &["true"])?)?;
    assert_eq!(status, 69);
    assert!(said.iter().any(|line| line.contains("no extension pg_lease")), "{said:?}");
    let untouched = "SELECT (SELECT count(*) FROM lease.lease) + (SELECT count(*) FROM lease.once)";
    assert_eq!(client.query_one(untouched, &[])?.get::<_, i64>(0), 0);
    Ok(())
}

#[test]
fn a_second_one_is_told_75_or_waits() -> Result<()> {
    let (server, mut client) = SHARED.database("second")?;
    let ran = file(server, "ran")?;
    let ran_text = ran.display().to_string();
    let mut first = Program::start(
        &mut lease_run(server, "second", &["--ttl", "10s"], &["sh", "-c", "read line"])?,
        server,
    )?;
    first.says("acquired")?;
    let (status, said) =
        ended(server, &mut lease_run(server, "second", &[], &["touch", &ran_text])?)?;
    assert_eq!(status, 75);
    assert!(said.iter().any(|line| line.contains("is held: \"")), "{said:?}");
    assert!(!ran.exists());
    let mut quiet = connected(server, "second")?;
    quiet.args(["--quiet", "--lease", "job", "--", "true"]);
    assert_eq!(ended(server, &mut quiet)?, (75, Vec::new()));
    let waiting = ["--wait", "60s"];
    let mut second =
        Program::start(&mut lease_run(server, "second", &waiting, &["touch", &ran_text])?, server)?;
    second.says("waiting")?;
    assert!(!ran.exists());
    first.send("go on")?;
    assert_eq!(first.ends()?.code(), Some(0));
    assert_eq!(second.ends()?.code(), Some(0));
    assert!(ran.exists());
    assert_eq!(state(&mut client, "job")?.0, "free");
    Ok(())
}

#[test]
fn a_wait_ends_with_a_signal() -> Result<()> {
    let (server, mut client) = SHARED.database("wait_ends")?;
    system_tests::lease::grant(&mut client, "job", "another")?;
    let mut waiting = lease_run(server, "wait_ends", &["--wait", "1h"], &["true"])?;
    let mut waiting = Program::start(&mut waiting, server)?;
    waiting.says("waiting")?;
    process::send(waiting.pid(), Signal::SIGTERM)?;
    assert_eq!(waiting.ends()?.code(), Some(143));
    Ok(())
}

#[test]
fn a_guarded_psql_just_works() -> Result<()> {
    let (server, mut client) = SHARED.database("guarded")?;
    guarded_table(&mut client, "job")?;
    let psql = server.tree().program("psql").display().to_string();
    let write = "INSERT INTO work (note) VALUES (current_setting('work_mem'))";
    let command = [psql.as_str(), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", write];
    let mut refused = server.client("psql", "guarded");
    let refused = refused.args(&command[1..]).output()?;
    assert!(!refused.status.success(), "an unguarded psql wrote");
    let mut run = lease_run(server, "guarded", &[], &command)?;
    let (status, said) = ended(server, run.env("PGOPTIONS", r"-c work_mem=7777kB -c a.b=c\ d"))?;
    assert_eq!(status, 0, "{said:?}");
    assert_eq!(notes(&mut client)?, ["7777kB"]);
    Ok(())
}

/// Breaks if the inner lease's token takes the place of the outer one's.
#[test]
fn leases_can_be_nested() -> Result<()> {
    let (server, mut client) = SHARED.database("nested")?;
    guarded_table(&mut client, "job")?;
    let psql = server.tree().program("psql").display().to_string();
    let inner = program()?.display().to_string();
    let write = "INSERT INTO work (note) VALUES (current_setting('pg_lease.token'))";
    let command =
        [&inner, "-l", "inner", "--", &psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", write];
    let (status, said) = ended(server, &mut lease_run(server, "nested", &[], &command)?)?;
    assert_eq!(status, 0, "{said:?}");
    let written = notes(&mut client)?;
    assert!(written[0].starts_with("job=") && written[0].contains(",inner="), "{written:?}");
    Ok(())
}

#[test]
fn signals_are_passed_on() -> Result<()> {
    let (server, _client) = SHARED.database("signals")?;
    let script = "trap 'echo got USR1' USR1; trap 'echo got HUP' HUP; trap 'exit 9' TERM
                  echo ready; while :; do sleep 0.02; done";
    let mut run =
        Program::start(&mut lease_run(server, "signals", &[], &["bash", "-c", script])?, server)?;
    run.says("ready")?;
    for (signal, said) in [(Signal::SIGUSR1, "got USR1"), (Signal::SIGHUP, "got HUP")] {
        process::send(run.pid(), signal)?;
        run.says(said)?;
    }
    process::send(run.pid(), Signal::SIGTERM)?;
    assert_eq!(run.ends()?.code(), Some(9));
    Ok(())
}

#[test]
fn a_run_is_begun_once() -> Result<()> {
    let (server, mut client) = SHARED.database("once")?;
    let once =
        |run_name: &str, command: &[&str]| run(server, "once", &["--once", run_name], command);
    assert_eq!(once("monday", &["true"])?, 0);
    assert_eq!(once("monday", &["true"])?, 73);
    assert_eq!(once("tuesday", &["false"])?, 1);
    assert_eq!(once("tuesday", &["true"])?, 73);
    assert_eq!(state(&mut client, "job")?.0, "free");
    let unfinished = client.query_one("SELECT job, run FROM lease.once_unfinished", &[])?;
    assert_eq!((unfinished.get(0), unfinished.get(1)), ("job", "tuesday"));
    Ok(())
}

/// Breaks if the lease is free while something of the command still runs.
#[test]
fn what_a_command_leaves_behind_ends_before_the_release() -> Result<()> {
    let (server, mut client) = SHARED.database("left_behind")?;
    let written = file(server, "left_behind")?;
    let script = "sleep 600 & echo $! >> $PIDS; setsid sleep 600 & echo $! >> $PIDS
                  (trap '' TERM; exec sleep 600) & echo $! >> $PIDS; exit 5";
    let options = ["--kill-after", "300ms"];
    let mut run = lease_run(server, "left_behind", &options, &["sh", "-c", script])?;
    let (status, said) = ended(server, run.env("PIDS", &written))?;
    assert_eq!(status, 5);
    none_lives(&pids(&written, 3)?)?;
    let at = |part: &str| said.iter().position(|line| line.contains(part));
    assert!(at("killing what still runs").is_some(), "{said:?}");
    assert!(at("killing what still runs") < at("released"), "{said:?}");
    assert_eq!(state(&mut client, "job")?.0, "free");
    Ok(())
}

#[test]
fn a_takeover_ends_all_of_the_command() -> Result<()> {
    let server = Server::start("run_takeover")?;
    let mut client = database(&server, "jobs")?;
    let options = ["--ttl", "3s", "--kill-after", "200ms"];
    let mut stubborn = Stubborn::start(&server, "jobs", &options)?;
    let before = expiry(&mut client)?;
    wait_until("a renewal", PATIENCE, || Ok(expiry(&mut client)? > before))?;
    let taken = takeover(&mut client, "job", "operator", "1 hour")?;
    let began = Instant::now();
    assert_eq!(stubborn.run.ends()?.code(), Some(76));
    // told at its next renewal, a third of the ttl after the last at most
    assert!(began.elapsed() < Duration::from_millis(2_700), "{:?}", began.elapsed());
    none_lives(&stubborn.pids)?;
    assert_eq!(state(&mut client, "job")?, ("held".to_owned(), taken.token.context("no token")?));
    Ok(())
}

#[test]
fn a_command_that_obeys_is_not_killed() -> Result<()> {
    let (server, mut client) = SHARED.database("obeys")?;
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    let options = ["--ttl", "2s"];
    let command = ["bash", "-c", script];
    let mut run = Program::start(&mut lease_run(server, "obeys", &options, &command)?, server)?;
    run.says("ready")?;
    takeover(&mut client, "job", "operator", "1 hour")?;
    assert_eq!(run.ends()?.code(), Some(76));
    run.says("bye")?;
    assert!(!run.said().iter().any(|line| line.contains("killing")), "{:?}", run.said());
    Ok(())
}

/// Breaks if a restart of the server costs the lease.
#[test]
fn a_server_that_comes_back_in_time_is_found_again() -> Result<()> {
    let server = Server::start("run_restart")?;
    let mut client = database(&server, "jobs")?;
    let mut run = Program::start(
        &mut lease_run(&server, "jobs", &["--ttl", "60s"], &["sh", "-c", "read line"])?,
        &server,
    )?;
    run.says("acquired")?;
    let before = (expiry(&mut client)?, state(&mut client, "job")?);
    server.kill9()?;
    server.start_again()?;
    let began = Instant::now();
    let mut client = server.connect("jobs")?;
    wait_until("a renewal", PATIENCE, || Ok(expiry(&mut client)? > before.0))?;
    // as soon as the connection broke: a third of the ttl would be 20 s
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(state(&mut client, "job")?, before.1);
    run.send("go on")?;
    assert_eq!(run.ends()?.code(), Some(0));
    assert_eq!(state(&mut client, "job")?.0, "free");
    Ok(())
}

/// Breaks if anything of the command lives when its lease has expired.
#[test]
fn without_a_server_all_is_dead_before_the_lease_ends() -> Result<()> {
    let server = Server::start("run_away")?;
    let mut client = database(&server, "jobs")?;
    let mut stubborn = Stubborn::start(&server, "jobs", &["--ttl", "6s"])?;
    let before = expiry(&mut client)?;
    wait_until("a renewal", PATIENCE, || Ok(expiry(&mut client)? > before))?;
    server.kill9()?;
    assert_eq!(stubborn.run.ends()?.code(), Some(76));
    none_lives(&stubborn.pids)?;
    server.start_again()?;
    let (expired, last) = (expiry(&mut server.connect("jobs")?)?, stubborn.last()?);
    let left = expired - last;
    println!("the last write was {left:.3} s before the lease ended");
    // killed a tenth of the ttl before its end, and no earlier than that
    assert!((0.0..1.5).contains(&left), "{left} s");
    Ok(())
}

/// Breaks if a server that does not answer is waited for.
#[test]
fn a_renewal_that_hangs_is_given_up() -> Result<()> {
    let server = Server::start("run_hangs")?;
    let mut client = database(&server, "jobs")?;
    let options = ["--ttl", "9s"];
    let command = ["sh", "-c", "read line"];
    let mut run = Program::start(&mut lease_run(&server, "jobs", &options, &command)?, &server)?;
    run.says("acquired")?;
    let backend: i32 = client
        .query_one("SELECT pid FROM pg_stat_activity WHERE application_name = 'lease-run'", &[])?
        .get(0);
    let before = expiry(&mut client)?;
    process::freeze(backend)?;
    let renewed = wait_until("a renewal", PATIENCE, || Ok(expiry(&mut client)? > before));
    process::thaw(backend)?;
    renewed?;
    run.says("cannot renew, trying again: no answer in time")?;
    run.send("go on")?;
    assert_eq!(run.ends()?.code(), Some(0));
    Ok(())
}

/// Nobody can end a command while it is frozen itself: it does so as soon as it can.
#[test]
fn a_frozen_one_ends_the_command_when_it_wakes_up() -> Result<()> {
    let server = Server::start("run_frozen")?;
    let mut client = database(&server, "jobs")?;
    let options = ["--ttl", "1s", "--kill-after", "0s"];
    let mut stubborn = Stubborn::start(&server, "jobs", &options)?;
    process::freeze(stubborn.run.pid())?;
    until(&mut client, "the lease to expire", "SELECT state = 'expired' FROM lease.status")?;
    takeover(&mut client, "job", "another", "1 hour")?;
    stubborn.run.thaw()?;
    assert_eq!(stubborn.run.ends()?.code(), Some(76));
    none_lives(&stubborn.pids)?;
    Ok(())
}

#[test]
fn a_command_dies_with_lease_run() -> Result<()> {
    let (server, _client) = SHARED.database("dies_with")?;
    let written = file(server, "dies_with")?;
    let script = "echo $$ >> $PIDS; while :; do sleep 0.02; done";
    let mut run = lease_run(server, "dies_with", &[], &["bash", "-c", script])?;
    let mut run = Program::start(run.env("PIDS", &written), server)?;
    let pids = pids(&written, 1)?;
    run.kill9()?;
    wait_until("the command to die", PATIENCE, || Ok(none_lives(&pids).is_ok()))
}

/// A worker that moves slowly keeps the lease; when it hangs, it is ended, and the lease is free.
#[test]
fn a_command_that_stands_still_is_ended() -> Result<()> {
    let (server, mut client) = SHARED.database("stands_still")?;
    let progress = file(server, "progress")?.display().to_string();
    let script = "for i in $(seq 40); do echo $i > $0; sleep 0.1; done; echo hangs; exec sleep 600";
    let options =
        ["--ttl", "1500ms", "--stall-after", "1s", "--progress-file", &progress, "-k", "0s"];
    let command = ["sh", "-c", script, &progress];
    let mut run =
        Program::start(&mut lease_run(server, "stands_still", &options, &command)?, server)?;
    // four seconds: longer than stall_after and a ttl
    run.says("hangs")?;
    let began = Instant::now();
    assert_eq!(run.ends()?.code(), Some(76));
    let took = began.elapsed();
    println!("ended {took:?} after its last move");
    assert!(took > Duration::from_millis(900) && took < Duration::from_secs(6), "{took:?}");
    assert!(run.said().iter().any(|line| line.contains("it is stalled")), "{:?}", run.said());
    assert_eq!(state(&mut client, "job")?.0, "free");
    Ok(())
}

/// Two with one name are one: the second takes the lease from its former self.
#[test]
fn an_owner_that_comes_again_takes_the_lease() -> Result<()> {
    let (server, _client) = SHARED.database("same_owner")?;
    let options = ["--owner", "host-7", "--ttl", "2s"];
    let command = ["sleep", "600"];
    let mut first =
        Program::start(&mut lease_run(server, "same_owner", &options, &command)?, server)?;
    first.says("acquired")?;
    assert_eq!(run(server, "same_owner", &options, &["true"])?, 0);
    assert_eq!(first.ends()?.code(), Some(76));
    Ok(())
}

/// Breaks if a command that reads from the terminal is stopped for that.
#[test]
fn the_command_has_the_terminal() -> Result<()> {
    let (server, _client) = SHARED.database("terminal")?;
    let command = r#"stty -echo; echo ready; read line; echo "got $line""#;
    let inner = lease_run(server, "terminal", &[], &["sh", "-c", command])?;
    let quoted = |argument: &std::ffi::OsStr| format!("'{}'", argument.to_string_lossy());
    let line: Vec<String> =
        std::iter::once(inner.get_program()).chain(inner.get_args()).map(quoted).collect();
    // gives it a terminal of its own
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let mut run = Program::start(&mut script, server)?;
    run.says("ready")?;
    run.send("hello")?;
    run.says("got hello")?;
    assert_eq!(run.ends()?.code(), Some(0));
    Ok(())
}

/// A certificate for localhost, signed by itself, with the key beside it.
fn certificate(directory: &Path, name: &str) -> Result<PathBuf> {
    let (certificate, key) =
        (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-new", "-x509", "-days", "2", "-nodes", "-subj", "/CN=localhost"]);
    let made = openssl.arg("-out").arg(&certificate).arg("-keyout").arg(&key).output()?;
    ensure!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    let about = fs::metadata(directory)?;
    for file in [&certificate, &key] {
        std::os::unix::fs::chown(
            file,
            Some(std::os::unix::fs::MetadataExt::uid(&about)),
            Some(std::os::unix::fs::MetadataExt::gid(&about)),
        )?;
    }
    Ok(certificate)
}

/// A server that takes a role `worker` with a password, over TLS only.
fn tls_server() -> Result<Server> {
    let server = Server::start("run_tls")?;
    let mut client = database(&server, "jobs")?;
    client.batch_execute(
        "SET password_encryption = 'scram-sha-256'; CREATE ROLE worker LOGIN PASSWORD 'se:cret';
         SELECT lease_allow('worker', 'job')",
    )?;
    certificate(&server.data_dir(), "server")?;
    let hba = "local all postgres trust\nhostssl all worker all scram-sha-256\n";
    fs::write(server.data_dir().join("pg_hba.conf"), hba)?;
    server.configure(&["ssl = on"])?;
    until(&mut client, "TLS", "SELECT current_setting('ssl') = 'on'")?;
    Ok(server)
}

#[test]
fn tls_and_passwords_are_libpqs() -> Result<()> {
    let server = tls_server()?;
    let root = server.data_dir().join("server.crt").display().to_string();
    let other = certificate(Path::new(&server.host()), "other")?.display().to_string();
    let passfile = Path::new(&server.host()).join("passwords");
    fs::write(&passfile, format!("localhost:{}:jobs:worker:se\\:cret\n", server.port()))?;
    fs::set_permissions(&passfile, fs::Permissions::from_mode(0o600))?;
    let place = format!("postgresql://worker@localhost:{}/jobs", server.port());
    let with = |more: &str, mode: u32| -> Result<(i32, Vec<String>)> {
        fs::set_permissions(&passfile, fs::Permissions::from_mode(mode))?;
        let url = format!("{place}?{more}");
        let mut run = lease_run(&server, "jobs", &["--dsn", &url], &["true"])?;
        ended(&server, run.env("PGPASSFILE", &passfile))
    };
    for good in ["sslmode=prefer", "sslmode=require&channel_binding=require"] {
        assert_eq!(with(good, 0o600)?.0, 0, "{good}");
    }
    assert_eq!(with(&format!("sslmode=verify-full&sslrootcert={root}"), 0o600)?.0, 0);
    let by_address =
        format!("sslmode=verify-full&sslrootcert={root}&host=127.0.0.1&password=se:cret");
    for (bad, why) in [
        ("sslmode=disable", "no encryption"),
        (&format!("sslmode=verify-ca&sslrootcert={other}"), "certificate verify failed"),
        (&format!("sslmode=require&sslrootcert={other}"), "certificate verify failed"),
        (&by_address, "mismatch"),
    ] {
        let (status, said) = with(bad, 0o600)?;
        assert_eq!(status, 69, "{bad}: {said:?}");
        assert!(said.iter().any(|line| line.contains(why)), "{bad}: {said:?}");
    }
    let not_by_name =
        format!("sslmode=verify-ca&sslrootcert={root}&host=127.0.0.1&password=se:cret");
    assert_eq!(with(&not_by_name, 0o600)?.0, 0);
    let (status, said) = with("sslmode=require", 0o644)?;
    assert_eq!(status, 69);
    assert!(said.iter().any(|line| line.contains("group or world access")), "{said:?}");
    Ok(())
}

/// Breaks if a host that is silent, away, or only reads, keeps it from the one that takes writes.
#[test]
fn of_several_hosts_the_one_that_takes_writes() -> Result<()> {
    let primary = Server::start("run_primary")?;
    let mut client = database(&primary, "jobs")?;
    let standby = Server::builder("run_standby").start_standby_of(&primary)?;
    // takes connections, and never answers
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let silent_port = silent.local_addr()?.port();
    let ports = format!("{silent_port},1,{},{}", standby.port(), primary.port());
    let (status, said) = ended(
        &primary,
        lease_run(&primary, "jobs", &["--ttl", "20s"], &["true"])?
            .env("PGHOST", ["127.0.0.1"; 4].join(","))
            .env("PGPORT", &ports)
            .env("PGTARGETSESSIONATTRS", "prefer-standby"),
    )?;
    assert_eq!(status, 0, "{said:?}");
    assert_eq!(state(&mut client, "job")?.0, "free");
    Ok(())
}

/// Breaks when an option is added, or reworded, and the page is not.
#[test]
fn the_page_shows_the_help() -> Result<()> {
    let help = Command::new(program()?).arg("--help").output()?;
    assert!(help.status.success());
    let help = String::from_utf8(help.stdout)?;
    let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than a terminal: {wide:#?}");
    let page = fs::read_to_string(home::checkout()?.join("docs/lease-run.md"))?;
    let settled = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert!(
        settled(&page).contains(settled(&help).trim()),
        "docs/lease-run.md should show:\n{help}"
    );
    Ok(())
}
