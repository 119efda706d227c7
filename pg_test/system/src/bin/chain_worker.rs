//! A worker that indexes chains, each under a lease that lies in the store beside its data.
//!
//! Each tick it reports to the control plane first, and renews or claims only if that worked. Each
//! chain is indexed by a thread of its own, in transactions that name their token. What happens is
//! printed, a line each.

use anyhow::{Context, Result, bail};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use postgres::{Client, Error, NoTls};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(5);
const TTL: &str = "30 s";

/// How it was told to work.
struct Order {
    owner: String,
    store: String,
    control: String,
    /// Goes on indexing although a renewal was refused, until somebody restarts it.
    deaf: bool,
    chains: Vec<String>,
}

impl Order {
    fn read() -> Result<Self> {
        let mut words: Vec<String> = std::env::args().skip(1).collect();
        let deaf = words.iter().any(|word| word == "--deaf");
        words.retain(|word| word != "--deaf");
        let mut words = words.into_iter();
        let mut next = || words.next().context("usage: OWNER STORE CONTROL [--deaf] CHAIN…");
        Ok(Self { owner: next()?, store: next()?, control: next()?, deaf, chains: words.collect() })
    }
}

/// What a worker is to a chain.
enum Role {
    Candidate,
    /// Its token, and how to stop the thread that indexes it.
    Owner(i64, Arc<AtomicBool>),
    /// It does not claim a chain again that it has lost: somebody restarts it.
    Loser,
}

fn main() -> Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    let order = Order::read()?;
    let mut store = Client::connect(&order.store, NoTls)?;
    let mut control = ControlPlane { order: &order, session: None, away: false };
    let mut roles: Vec<Role> = order.chains.iter().map(|_| Role::Candidate).collect();
    loop {
        if control.heartbeat() {
            for (chain, role) in order.chains.iter().zip(&mut roles) {
                *role = match std::mem::replace(role, Role::Loser) {
                    Role::Candidate => claim(&mut store, &order, chain)?,
                    Role::Owner(token, stop) => renew(&mut store, &order, chain, token, stop)?,
                    Role::Loser => Role::Loser,
                }
            }
        }
        thread::sleep(TICK);
    }
}

/// The register of workers. It holds no ownership.
struct ControlPlane<'a> {
    order: &'a Order,
    session: Option<Client>,
    away: bool,
}

impl ControlPlane<'_> {
    fn heartbeat(&mut self) -> bool {
        let reached = self.beat().is_ok();
        if !reached {
            self.session = None;
        }
        if reached == self.away {
            println!("control plane is {}", if reached { "back" } else { "away" });
            self.away = !reached;
        }
        reached
    }

    fn beat(&mut self) -> Result<()> {
        if self.session.is_none() {
            self.session = Some(Client::connect(&self.order.control, NoTls)?);
        }
        let session = self.session.as_mut().context("no session")?;
        session.execute(
            "INSERT INTO heartbeat VALUES ($1, now())
             ON CONFLICT (worker) DO UPDATE SET at = excluded.at",
            &[&self.order.owner],
        )?;
        Ok(())
    }
}

fn claim(store: &mut Client, order: &Order, chain: &str) -> Result<Role> {
    let call = "SELECT status, token FROM lease_acquire($1, $2, $3::text::interval)";
    let row = store.query_one(call, &[&chain, &order.owner, &TTL])?;
    let Some(token) = row.get::<_, Option<i64>>(1) else { return Ok(Role::Candidate) };
    println!("claimed {chain} {token} {}", row.get::<_, &str>(0));
    let stop = Arc::new(AtomicBool::new(false));
    let session = format!("{} application_name={}:{chain}", order.store, order.owner);
    let (owner, chain, told) = (order.owner.clone(), chain.to_owned(), Arc::clone(&stop));
    thread::spawn(move || {
        if let Err(error) = index(&session, &owner, &chain, token, &told) {
            println!("stopped {chain} {error:#}");
        }
    });
    Ok(Role::Owner(token, stop))
}

fn renew(
    store: &mut Client,
    order: &Order,
    chain: &str,
    token: i64,
    stop: Arc<AtomicBool>,
) -> Result<Role> {
    let call = "SELECT status FROM lease_renew($1, $2, $3, $4::text::interval)";
    match store.query_one(call, &[&chain, &order.owner, &token, &TTL]) {
        Ok(_) => Ok(Role::Owner(token, stop)),
        Err(error) => {
            report("renewal", chain, &error)?;
            stop.store(!order.deaf, Ordering::Relaxed);
            Ok(Role::Loser)
        }
    }
}

/// Indexes until told to stop. A refusal is printed, and the next window is tried.
fn index(session: &str, owner: &str, chain: &str, token: i64, stop: &AtomicBool) -> Result<()> {
    let mut store = Client::connect(session, NoTls)?;
    while !stop.load(Ordering::Relaxed) {
        if let Err((step, error)) = window(&mut store, owner, chain, token) {
            report(step, chain, &error)?;
        }
        thread::sleep(PAUSE);
    }
    println!("stopped {chain} as told");
    Ok(())
}

/// One window: the next block and its events, in one transaction that names its token first.
fn window(
    store: &mut Client,
    owner: &str,
    chain: &str,
    token: i64,
) -> Result<(), (&'static str, Error)> {
    let write = |error| ("write", error);
    let mut window = store.transaction().map_err(write)?;
    window.execute("SELECT lease_fence_check($1, $2)", &[&chain, &token]).map_err(write)?;
    let block = format!(
        "INSERT INTO {chain}_block SELECT coalesce(max(height), 0) + 1, $1, $2 FROM {chain}_block
         RETURNING height"
    );
    let row = window.query_one(&block, &[&owner, &token]).map_err(write)?;
    let height: i64 = row.get(0);
    let events = format!("INSERT INTO {chain}_event SELECT $1, n FROM generate_series(1, 3) AS n");
    window.execute(&events, &[&height]).map_err(write)?;
    window.commit().map_err(|error| ("commit", error))
}

/// Prints a refusal. What is no refusal ends the work.
fn report(step: &str, chain: &str, error: &Error) -> Result<()> {
    let Some(told) = error.as_db_error() else { bail!("{step}: {error}") };
    println!("refused {step} {chain} {} {}", told.code().code(), told.message());
    Ok(())
}
