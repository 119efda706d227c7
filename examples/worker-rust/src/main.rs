//! A worker of a fleet: looks after the nodes of its shards, for as long as it holds them.
//!
//! `worker-rust CONNECTION NAME [TTL [SHARDS]]`: one task renews, on a timer of its own; the other works. What
//! they share is which shards are held, under which tokens, and until when without another renewal.
//! The tables are those of `examples/worker-python/tables.sql`.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::env;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls};

/// A shard's lease, its token, and when to stop.
type Held = HashMap<i32, (String, i64, Instant)>;

struct Worker {
    dsn: String,
    name: String,
    incarnation: String,
    ttl: Duration,
    shards: i32,
    stop: watch::Sender<bool>,
}

const PASS: &str = "SELECT shard, name, token, change, extract(epoch FROM expires_at - now)::float8
    FROM lease_worker_pass($1, incarnation => $2, ttl => make_interval(secs => $3),
                           live_for => make_interval(secs => 2 * $3), shards => $4)";

const CLAIM: &str = "SELECT key, generation, shard
    FROM lease_work_claim('nodes', $1, 10, make_interval(secs => $2), $3, $4)";

/// A process that is frozen in a transaction keeps its rows locked: its successor would wait for them.
const PRESENT: &str = "SELECT lease_fence_check($1, $2),
    set_config('idle_in_transaction_session_timeout', $3, true)";

impl Worker {
    async fn connect(&self) -> Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.dsn, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Passes when one is due: a third of the ttl after the last, or as soon as a lease has less than that
    /// left. Whatever fails is tried again at the next tick.
    async fn renew(&self, held: watch::Sender<Held>) {
        let tick = (self.ttl / 15).clamp(Duration::from_millis(50), Duration::from_secs(1));
        let (mut client, mut due) = (None, Instant::now());
        while !*self.stop.borrow() {
            if Instant::now() >= due {
                match self.pass(&mut client).await {
                    Ok((now_held, next)) => {
                        held.send_replace(now_held);
                        due = next;
                    }
                    Err(error) => self.pass_failed(&error, &mut client),
                }
            }
            sleep(tick).await;
        }
    }

    async fn pass(&self, client: &mut Option<Client>) -> Result<(Held, Instant)> {
        if client.is_none() {
            *client = Some(self.connect().await?);
        }
        let client = client.as_ref().context("not connected")?;
        let (began, seconds) = (Instant::now(), self.ttl.as_secs_f64());
        let rows =
            client.query(PASS, &[&self.name, &self.incarnation, &seconds, &self.shards]).await?;
        let (mut held, mut due) = (Held::new(), began + self.ttl / 3);
        for row in rows {
            let (lease, change): (String, &str) = (row.get(1), row.get(3));
            if change != "kept" {
                println!("{change} {lease}");
            }
            // those released and lost have no expiry
            if let (Some(shard), Some(left)) = (row.get(0), row.get::<_, Option<f64>>(4)) {
                let left = Duration::from_secs_f64(left.max(0.0));
                due = due.min(began + left.saturating_sub(self.ttl / 3));
                held.insert(shard, (lease, row.get(2), began + self.ttl / 2));
            }
        }
        Ok((held, due))
    }

    fn pass_failed(&self, error: &anyhow::Error, client: &mut Option<Client>) {
        println!("pass failed: {error:#}");
        let code = error.downcast_ref::<tokio_postgres::Error>().and_then(|e| e.code());
        if code.is_some_and(|code| code.code() == "55000") {
            self.stop.send_replace(true); // a newer process of this name has taken over
        }
        *client = client.take().filter(|client| !client.is_closed());
    }

    /// Claims keys of the shards that it holds, and looks after each; false if there were none.
    async fn work(&self, client: &mut Client, held: &watch::Receiver<Held>) -> Result<bool> {
        let mut mine = held.borrow().clone();
        mine.retain(|shard, one| self.holds(held, *shard, one.1));
        let (shards, tokens): (Vec<i32>, Vec<i64>) =
            mine.iter().map(|(shard, (_, token, _))| (*shard, *token)).unzip();
        let claim_for = 2.0 * self.ttl.as_secs_f64();
        let keys = client.query(CLAIM, &[&self.name, &claim_for, &shards, &tokens]).await?;
        for row in &keys {
            let (key, generation, shard): (&str, i64, i32) = (row.get(0), row.get(1), row.get(2));
            let Some((lease, token, _)) = mine.get(&shard) else { continue };
            let (mut reason, mut pause) = ("not begun".to_owned(), Some("0"));
            if self.holds(held, shard, *token) {
                match self.look_after(client, key, shard, (lease, *token), generation).await {
                    Ok(()) => continue,
                    // refused or failed: rolled back, the claim's end too
                    Err(error) => (reason, pause) = (said(&error), None),
                }
            }
            println!("not done: {key} {reason}");
            let retry = "SELECT lease_work_retry('nodes', $1, $2, $3, $4::text::interval)";
            client.execute(retry, &[&key, &generation, &reason, &pause]).await?;
        }
        Ok(!keys.is_empty())
    }

    /// Whether to go on under this token: asked before each key, as a pass may have come between.
    fn holds(&self, held: &watch::Receiver<Held>, shard: i32, token: i64) -> bool {
        let held = held.borrow();
        let now = held.get(&shard).is_some_and(|one| one.1 == token && Instant::now() < one.2);
        now && !*self.stop.borrow()
    }

    /// The work on one node, and the end of the claim, under the shard's token: all or nothing.
    async fn look_after(
        &self,
        client: &mut Client,
        key: &str,
        shard: i32,
        (lease, token): (&str, i64),
        generation: i64,
    ) -> Result<(), tokio_postgres::Error> {
        let work = client.transaction().await?;
        let most = self.ttl.as_millis().to_string();
        work.execute(PRESENT, &[&lease, &token, &most]).await?;
        let look = format!(
            "INSERT INTO node_{shard} AS node VALUES ($1, 1, $2) ON CONFLICT (id)
             DO UPDATE SET looks = node.looks + 1, seen_by = excluded.seen_by"
        );
        work.execute(&look, &[&key, &self.name]).await?;
        work.execute("SELECT lease_work_done('nodes', $1, $2)", &[&key, &generation]).await?;
        work.commit().await
    }

    async fn run(&self, held: &watch::Receiver<Held>) -> Result<()> {
        let mut client = self.connect().await?;
        while !*self.stop.borrow() {
            if held.borrow().is_empty() || !self.work(&mut client, held).await? {
                sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    async fn keep_working(&self, held: &watch::Receiver<Held>) {
        while !*self.stop.borrow() {
            if let Err(error) = self.run(held).await {
                println!("work failed: {error:#}");
                sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

/// What the server says, which the error by itself does not show.
fn said(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |e| e.message().to_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().collect();
    let [_, dsn, name, rest @ ..] = arguments.as_slice() else {
        anyhow::bail!("usage: worker-rust CONNECTION NAME [TTL [SHARDS]]");
    };
    let ttl = rest.first().map_or(Ok(15.0), |ttl| ttl.parse())?;
    let shards = rest.get(1).map_or(Ok(16), |shards| shards.parse())?;
    let started = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_nanos();
    let incarnation = format!("{}-{started}", std::process::id());
    let (stop, _) = watch::channel(false);
    let ttl = Duration::from_secs_f64(ttl);
    let worker = Worker { dsn: dsn.clone(), name: name.clone(), incarnation, ttl, shards, stop };
    let (sender, held) = watch::channel(Held::new());
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = worker.stop.clone();
    tokio::spawn(async move {
        terminated.recv().await;
        stop.send_replace(true);
    });
    // in one task: should either panic, the process ends
    tokio::join!(worker.renew(sender), worker.keep_working(&held));
    let leave = "SELECT lease_worker_leave($1, incarnation => $2)";
    let left = worker.connect().await?;
    let left: i64 = left.query_one(leave, &[&worker.name, &worker.incarnation]).await?.get(0);
    println!("left {left}");
    Ok(())
}
