//! A private server can be started, crashed, copied and promoted, and leaves nothing behind.

use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use rig::{Server, process};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

fn bare(name: &str) -> Result<Server> {
    Server::builder(name).bare().start()
}

fn count(server: &Server) -> Result<i64> {
    Ok(server.connect("postgres")?.query_one("SELECT count(*) FROM kept", &[])?.get(0))
}

#[test]
fn runs_from_the_tree_and_leaves_nothing() -> Result<()> {
    let server = bare("plain")?;
    let data = server.data_dir();
    let row = server.connect("postgres")?.query_one(
        "SELECT current_setting('max_prepared_transactions'), setting
         FROM pg_config WHERE name = 'SHAREDIR'",
        &[],
    )?;
    assert_eq!(row.get::<_, &str>(0), "20");
    assert!(row.get::<_, &str>(1).starts_with(server.tree().root.to_str().context("path")?));
    drop(server);
    assert!(process::working_in(&data).is_empty());
    assert!(!data.parent().context("no parent")?.exists());
    Ok(())
}

#[test]
fn data_survives_a_crash_but_an_open_transaction_does_not() -> Result<()> {
    let server = bare("crash")?;
    server.execute("postgres", "CREATE TABLE kept AS SELECT 1 AS n")?;
    let mut open = server.connect("postgres")?;
    let mut transaction = open.transaction()?;
    transaction.execute("INSERT INTO kept VALUES (2)", &[])?;
    server.kill9()?;
    assert!(!server.is_running() && process::working_in(&server.data_dir()).is_empty());
    server.start_again()?;
    assert_eq!(count(&server)?, 1);
    server.restart()?;
    assert_eq!(server.psql("postgres", "SELECT n FROM kept")?, "1\n");
    Ok(())
}

#[test]
fn a_standby_follows_and_takes_over() -> Result<()> {
    let primary = bare("primary")?;
    let standby = Server::builder("standby").bare().application_name("spare");
    let standby = standby.slot("spare").start_standby_of(&primary)?;
    primary.execute("postgres", "CREATE TABLE kept AS SELECT 1 AS n")?;
    primary.wait_for_replay(&standby)?;
    let shown = primary.psql("postgres", "SELECT application_name FROM pg_stat_replication")?;
    assert_eq!(shown, "spare\n");
    primary.kill9()?;
    standby.promote()?;
    standby.execute("postgres", "INSERT INTO kept VALUES (2)")?;
    assert_eq!(count(&standby)?, 2);
    Ok(())
}

#[test]
fn a_copy_of_the_storage_is_the_same_system() -> Result<()> {
    let original = bare("original")?;
    original.stop()?;
    let copy = Server::builder("copy").bare().start_copy_of(&original)?;
    original.start_again()?;
    let asked = "SELECT system_identifier FROM pg_control_system()";
    assert_eq!(original.psql("postgres", asked)?, copy.psql("postgres", asked)?);
    Ok(())
}

#[test]
fn a_setting_is_added_and_reloaded() -> Result<()> {
    let server = bare("settings")?;
    server.configure(&["work_mem = '7MB'"])?;
    let second = Duration::from_secs(30);
    rig::wait_until("work_mem to change", second, || {
        Ok(server.psql("postgres", "SHOW work_mem")? == "7MB\n")
    })
}

/// Run by the next test in a process of its own, which is then killed.
#[test]
#[ignore = "only a part of another test"]
fn holds_a_server_for_ever() -> Result<()> {
    let server = bare("orphan")?;
    println!("data={}", server.data_dir().display());
    loop {
        std::thread::park();
    }
}

#[test]
fn a_killed_process_leaves_nothing() -> Result<()> {
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        killed_leaves_nothing(signal).with_context(|| format!("with {signal}"))?;
    }
    Ok(())
}

fn killed_leaves_nothing(signal: Signal) -> Result<()> {
    let mut holder = Command::new(std::env::current_exe()?)
        .args(["--exact", "holds_a_server_for_ever", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(holder.stdout.take().context("no stdout")?).lines();
    let data = lines.by_ref().map_while(Result::ok);
    let data = data.filter_map(|l| Some(l.split_once("data=")?.1.to_owned())).next();
    let data = PathBuf::from(data.context("no server")?);
    assert!(!process::working_in(&data).is_empty());
    process::send(holder.id() as i32, signal)?;
    holder.wait()?;
    rig::wait_until("the watchdog", Duration::from_secs(20), || {
        Ok(process::working_in(&data).is_empty() && !data.exists())
    })
}
