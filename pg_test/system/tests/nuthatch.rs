//! A lease handover between real workers: the old holder stops being allowed to write, the new one
//! takes over, and indexing goes on without two authorities.
//!
//! The workers are processes of their own (`chain_worker`), stopped with SIGSTOP and SIGKILL. The
//! store and the control plane are two servers, as only one of them is to go down.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::{Server, wait_until};
use std::process::Command;
use system_tests::lease;
use system_tests::program::Program;
use system_tests::shared::{Shared, database};
use system_tests::watch::{self, PATIENCE};

static STORE: Shared = Shared::new();
static CONTROL: Shared = Shared::new();
/// The one that goes down.
static FRAGILE_CONTROL: Shared = Shared::new();

/// A store with two chains, and the control plane that its workers report to.
struct Fleet {
    store: &'static Server,
    control: &'static Server,
    database: String,
    superuser: Client,
}

const CHAINS: [&str; 2] = ["arbitrum", "base"];

impl Fleet {
    fn new(name: &str) -> Result<Self> {
        Self::under(name, CONTROL.server()?)
    }

    fn under(name: &str, control: &'static Server) -> Result<Self> {
        let store = STORE.server()?;
        control.create_database(name)?;
        let register = "CREATE TABLE heartbeat (worker text PRIMARY KEY, at timestamptz)";
        control.execute(name, register)?;
        let mut superuser = database(store, name)?;
        for chain in CHAINS {
            // no key on the height: nothing but the fence keeps two writers apart
            superuser.batch_execute(&format!(
                "CREATE TABLE {chain}_block (height bigint, writer text, fence bigint);
                 CREATE TABLE {chain}_event (height bigint, n int);
                 SELECT lease_guard('{chain}_block', '{chain}');
                 SELECT lease_guard('{chain}_event', '{chain}')"
            ))?;
        }
        Ok(Self { store, control, database: name.to_owned(), superuser })
    }

    fn worker(&self, owner: &str, arguments: &[&str]) -> Result<Program> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chain_worker"));
        command.arg(owner).arg(self.store.conn_string(&self.database));
        command.arg(self.control.conn_string(&self.database)).args(arguments);
        Program::start(&mut command, self.store)
    }

    /// A worker that owns all chains and indexes them, and the token of the first.
    fn indexing(&mut self, owner: &str, arguments: &[&str]) -> Result<(Program, i64)> {
        let worker = self.worker(owner, &[arguments, &CHAINS].concat())?;
        let token = claimed(&worker, "arbitrum")?;
        claimed(&worker, "base")?;
        self.goes_on("arbitrum", owner)?;
        self.goes_on("base", owner)?;
        Ok((worker, token))
    }

    /// Waits until this owner has indexed some more blocks of a chain.
    fn goes_on(&mut self, chain: &str, owner: &str) -> Result<()> {
        let count = format!("SELECT count(*) FROM {chain}_block WHERE writer = $1");
        let mut blocks =
            || -> Result<i64> { Ok(self.superuser.query_one(&count, &[&owner])?.get(0)) };
        let before = blocks()?;
        wait_until("more blocks", PATIENCE, || Ok(blocks()? >= before + 5))
    }

    fn freeze(&mut self, worker: &Program, owner: &str) -> Result<()> {
        worker.freeze_in_transaction(&mut self.superuser, &format!("{owner}:arbitrum"))
    }

    /// Heights without a gap or a double, each owner's in one piece, fences that only rise, and
    /// three events for each block: two writers at once, or half a window, break one of them.
    fn is_consistent(&mut self, chain: &str) -> Result<Vec<(String, i64)>> {
        let runs = format!(
            "SELECT writer, fence, count(*), min(height), max(height)
             FROM {chain}_block GROUP BY writer, fence ORDER BY min(height)"
        );
        let mut next = 1;
        let mut owners = Vec::new();
        for row in self.superuser.query(&runs, &[])? {
            let (count, first, last): (i64, i64, i64) = (row.get(2), row.get(3), row.get(4));
            ensure!(first == next && last - first + 1 == count, "{chain}: hole or double: {row:?}");
            next = last + 1;
            owners.push((row.get(0), row.get(1)));
        }
        ensure!(owners.is_sorted_by_key(|(_, fence)| *fence), "{chain}: {owners:?}");
        let events = format!(
            "SELECT (SELECT count(*) FROM {chain}_event) = 3 * (SELECT count(*) FROM {chain}_block)"
        );
        ensure!(self.superuser.query_one(&events, &[])?.get::<_, bool>(0), "half a window");
        Ok(owners)
    }
}

/// The token under which a worker says that it has claimed a chain.
fn claimed(worker: &Program, chain: &str) -> Result<i64> {
    let line = worker.says(&format!("claimed {chain} "))?;
    ensure!(line.ends_with(" granted"), "not a new token: {line}");
    Ok(line.split(' ').nth(2).context("no token")?.parse()?)
}

fn owners(named: &[(&str, i64)]) -> Vec<(String, i64)> {
    named.iter().map(|(owner, token)| ((*owner).to_owned(), *token)).collect()
}

/// Breaks without the check at the commit (A's window lands after B's), without the raise of the
/// token (A writes on), and if losing one lease stopped the other's cursor.
#[test]
fn a_worker_that_comes_back_is_refused() -> Result<()> {
    let mut fleet = Fleet::new("handover")?;
    let (a, old) = fleet.indexing("a", &["--deaf"])?;
    let b = fleet.worker("b", &["arbitrum"])?;
    fleet.freeze(&a, "a")?;
    lease::expire(&mut fleet.superuser, "arbitrum")?;
    let new = claimed(&b, "arbitrum")?;
    assert!(new > old, "{new} is not above {old}");
    fleet.goes_on("arbitrum", "b")?;

    a.thaw()?;
    for step in ["commit", "write", "renewal"] {
        let line = a.says(&format!("refused {step} arbitrum"))?;
        let told = format!("55000 lease \"arbitrum\" is no longer held with token {old}");
        assert!(line.ends_with(&told), "{line}");
    }
    fleet.goes_on("base", "a")?;
    fleet.goes_on("arbitrum", "b")?;
    assert!(!a.said().iter().any(|line| line.contains("base") && line.contains("refused")));
    assert_eq!(fleet.is_consistent("arbitrum")?, owners(&[("a", old), ("b", new)]));
    assert_eq!(fleet.is_consistent("base")?.len(), 1);
    Ok(())
}

/// Breaks if a refused renewal said nothing, or said it to the wrong cursor.
#[test]
fn a_worker_stops_the_cursor_that_it_lost_and_no_other() -> Result<()> {
    let mut fleet = Fleet::new("stops")?;
    let (a, old) = fleet.indexing("a", &[])?;
    let new: i64 = lease::takeover(&mut fleet.superuser, "arbitrum", "operator", "1 hour")?
        .token
        .context("no token")?;
    assert!(new > old);
    a.says("refused renewal arbitrum 55000")?;
    a.says("stopped arbitrum as told")?;
    fleet.goes_on("base", "a")?;
    assert!(!a.said().iter().any(|line| line.contains("stopped base")));
    assert_eq!(fleet.is_consistent("arbitrum")?, owners(&[("a", old)]));
    Ok(())
}

/// Breaks if a dead holder's lease or its open window held up the next one.
#[test]
fn a_killed_worker_is_followed_by_the_next() -> Result<()> {
    let mut fleet = Fleet::new("killed")?;
    let (mut a, old) = fleet.indexing("a", &[])?;
    let b = fleet.worker("b", &["arbitrum"])?;
    fleet.freeze(&a, "a")?;
    a.kill9()?;
    lease::expire(&mut fleet.superuser, "arbitrum")?;
    let new = claimed(&b, "arbitrum")?;
    fleet.goes_on("arbitrum", "b")?;
    assert_eq!(fleet.is_consistent("arbitrum")?, owners(&[("a", old), ("b", new)]));
    Ok(())
}

/// Breaks if an expiry alone refused a writer, or if an owner that renews late lost its token.
#[test]
fn an_outage_of_everything_but_the_store_changes_nothing() -> Result<()> {
    let control = FRAGILE_CONTROL.server()?;
    let mut fleet = Fleet::under("outage", control)?;
    let (a, token) = fleet.indexing("a", &[])?;
    control.stop_immediate()?;
    a.says("control plane is away")?;
    let mut b = fleet.worker("b", &["arbitrum"])?;
    b.says("control plane is away")?;

    // the term runs out, as nobody renews it
    lease::expire(&mut fleet.superuser, "arbitrum")?;
    assert_eq!(lease::state(&mut fleet.superuser, "arbitrum")?, ("expired".into(), token));
    fleet.goes_on("arbitrum", "a")?;
    assert_eq!(lease::state(&mut fleet.superuser, "arbitrum")?, ("expired".into(), token));
    assert!(!b.said().iter().any(|line| line.contains("claimed")));
    b.kill9()?;

    control.start_again()?;
    a.says("control plane is back")?;
    let renewed = "SELECT state = 'held' AND acquisitions = 1 FROM lease.status
                   WHERE name = 'arbitrum'";
    watch::until(&mut fleet.superuser, "the renewal", renewed)?;
    fleet.goes_on("arbitrum", "a")?;
    assert_eq!(fleet.is_consistent("arbitrum")?, owners(&[("a", token)]));
    assert!(!a.said().iter().any(|line| line.contains("refused")));
    Ok(())
}

/// Breaks if the same owner text got the same token after a lapse: its own late window would land.
#[test]
fn a_lapse_claimed_again_is_a_new_period_of_ownership() -> Result<()> {
    let mut fleet = Fleet::new("lapse")?;
    let (before, old) = fleet.indexing("a", &["--deaf"])?;
    fleet.freeze(&before, "a")?;
    lease::expire(&mut fleet.superuser, "arbitrum")?;
    let after = fleet.worker("a", &["arbitrum"])?;
    let new = claimed(&after, "arbitrum")?;
    assert!(new > old, "{new} is not above {old}");
    fleet.goes_on("arbitrum", "a")?;
    before.thaw()?;
    before.says("refused commit arbitrum 55000")?;
    before.says("refused renewal arbitrum 55000")?;
    assert_eq!(fleet.is_consistent("arbitrum")?, owners(&[("a", old), ("a", new)]));
    Ok(())
}
