//! A worker that asks a server for lines, one after the other, and writes each under its lease. It
//! waits for an answer for ever. A thread of its own renews the lease, whatever comes of that, and
//! says how many lines have been written. What happens is printed, a line each.

use anyhow::{Context, Result};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use postgres::{Client, Error, NoTls};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

const LEASE: &str = "feed";
const TTL: &str = "3 s";
const HEARTBEAT: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(50);

/// How it was told to work.
struct Order {
    owner: String,
    store: String,
    source: String,
    stall_after: String,
}

impl Order {
    fn read() -> Result<Self> {
        let mut words = std::env::args().skip(1);
        let mut next = || words.next().context("usage: OWNER STORE SOURCE STALL_AFTER");
        Ok(Self { owner: next()?, store: next()?, source: next()?, stall_after: next()? })
    }
}

fn main() -> Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    let order = Order::read()?;
    let mut store = Client::connect(&order.store, NoTls)?;
    let token = claim(&mut store, &order)?;
    println!("has {token}");
    let written = Arc::new(AtomicI64::new(0));
    let (counted, session, owner) =
        (Arc::clone(&written), order.store.clone(), order.owner.clone());
    thread::spawn(move || {
        if let Err(error) = renew(&session, &owner, token, &counted) {
            println!("no heartbeat: {error:#}");
        }
    });
    work(&mut store, &order, token, &written)
}

fn claim(store: &mut Client, order: &Order) -> Result<i64> {
    let call = "SELECT token FROM lease_acquire($1, $2, $3::text::interval,
                    stall_after => $4::text::interval)";
    loop {
        let row = store.query_one(call, &[&LEASE, &order.owner, &TTL, &order.stall_after])?;
        if let Some(token) = row.get(0) {
            return Ok(token);
        }
        thread::sleep(PAUSE);
    }
}

/// Renews without looking at the work itself, and does not give up.
fn renew(session: &str, owner: &str, token: i64, written: &AtomicI64) -> Result<()> {
    let mut store = Client::connect(session, NoTls)?;
    let call = "SELECT FROM lease_renew($1, $2, $3, $4::text::interval, $5)";
    loop {
        let progress = written.load(Ordering::Relaxed);
        match store.query_one(call, &[&LEASE, &owner, &token, &TTL, &progress]) {
            Ok(_) => println!("renewed at {progress}"),
            Err(error) => println!("not renewed at {progress}: {}", message(&error)),
        }
        thread::sleep(HEARTBEAT);
    }
}

fn work(store: &mut Client, order: &Order, token: i64, written: &AtomicI64) -> Result<()> {
    let mut source = TcpStream::connect(&order.source)?;
    let mut answers = BufReader::new(source.try_clone()?);
    loop {
        source.write_all(b"next\n")?;
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            return Ok(());
        }
        match write(store, &order.owner, token, line.trim_end()) {
            Ok(()) => println!("wrote {}", written.fetch_add(1, Ordering::Relaxed) + 1),
            Err(error) => println!("refused: {}", message(&error)),
        }
    }
}

fn write(store: &mut Client, owner: &str, token: i64, line: &str) -> Result<(), Error> {
    let mut transaction = store.transaction()?;
    transaction.execute("SELECT lease_fence_check($1, $2)", &[&LEASE, &token])?;
    let note = format!("{owner}: {line}");
    transaction.execute("INSERT INTO work (note) VALUES ($1)", &[&note])?;
    transaction.commit()
}

fn message(error: &Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |told| told.message().to_owned())
}
