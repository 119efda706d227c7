//! Workers of a fleet as threads: a renewal loop on a timer of its own, and the work beside it.
//!
//! All statements are simple queries, so that they work through a pooler as well.

use anyhow::{Context, Result, anyhow};
use postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// How a worker connects: straight to the server, or through a pooler.
pub type Connect = Arc<dyn Fn() -> Result<Client> + Send + Sync>;

/// How long things last in a fleet.
#[derive(Clone, Copy)]
pub struct Times {
    pub ttl: Duration,
    pub live_for: Duration,
    pub renew: Duration,
}

impl Times {
    /// The seed's times, divided.
    pub fn divided_by(parts: u32) -> Self {
        let seconds = |s| Duration::from_secs(s) / parts;
        Self { ttl: seconds(15), live_for: seconds(30), renew: seconds(5) }
    }
}

/// A lease that a worker has.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub shard: Option<u32>,
    pub token: i64,
    pub seconds_left: f64,
}

pub type Leases = BTreeMap<String, Held>;

/// A pass: what the worker has now, and how often each change was told.
pub fn pass(
    client: &mut Client,
    worker: &str,
    times: Times,
    more: &str,
) -> Result<(Leases, BTreeMap<String, usize>), Error> {
    let ms = |time: Duration| format!("'{} ms'", time.as_millis());
    let (ttl, live_for) = (ms(times.ttl), ms(times.live_for));
    let call = format!(
        "SELECT name, change, shard, token, extract(epoch FROM expires_at - now)
         FROM lease_worker_pass('{worker}', ttl => {ttl}, live_for => {live_for}{more})"
    );
    let (mut leases, mut changes) = (Leases::new(), BTreeMap::new());
    for row in rows(client, &call)? {
        let text = |at| row.get(at).unwrap_or_default();
        *changes.entry(text(1).to_owned()).or_default() += 1;
        if ["kept", "gained", "orphan"].contains(&text(1)) {
            let (shard, token) = (text(2).parse().ok(), text(3).parse().unwrap_or(0));
            let held = Held { shard, token, seconds_left: text(4).parse().unwrap_or(0.0) };
            leases.insert(text(0).to_owned(), held);
        }
    }
    Ok((leases, changes))
}

pub fn rows(client: &mut Client, query: &str) -> Result<Vec<SimpleQueryRow>, Error> {
    let messages = client.simple_query(query)?.into_iter();
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    };
    Ok(messages.filter_map(row).collect())
}

pub fn ask(client: &mut Client, query: &str) -> Result<Option<String>, Error> {
    let rows = rows(client, query)?;
    Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
}

/// Who works on which key right now, as the processes themselves know it.
#[derive(Default)]
pub struct Ledger {
    running: Mutex<HashMap<String, String>>,
    /// How often two workers ran one key at once.
    pub overlaps: AtomicUsize,
}

impl Ledger {
    fn begin(&self, key: &str, worker: &str) {
        let before = locked(&self.running).insert(key.to_owned(), worker.to_owned());
        if before.is_some() {
            self.overlaps.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn end(&self, key: &str) {
        locked(&self.running).remove(key);
    }
}

struct Shared {
    name: String,
    times: Times,
    singletons: String,
    stopped: AtomicBool,
    held: Mutex<Leases>,
    ran: AtomicUsize,
    ledger: Arc<Ledger>,
    backends: Mutex<Vec<String>>,
}

/// A running worker. Its work is in the tables `todo (key)` and `ran (key, worker)`.
pub struct Worker {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Worker {
    pub fn start(
        name: &str,
        singletons: &str,
        times: Times,
        connect: &Connect,
        ledger: &Arc<Ledger>,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            times,
            singletons: singletons.to_owned(),
            stopped: AtomicBool::new(false),
            held: Mutex::default(),
            ran: AtomicUsize::new(0),
            ledger: Arc::clone(ledger),
            backends: Mutex::default(),
        });
        let mut threads = Vec::new();
        for run in [Shared::renew as fn(&Shared, &mut Client) -> Result<()>, Shared::work] {
            let (shared, mut client) = (Arc::clone(&shared), connect()?);
            let backend = ask(&mut client, "SELECT pg_backend_pid()")?.context("no backend")?;
            locked(&shared.backends).push(backend);
            threads.push(thread::spawn(move || run(&shared, &mut client)));
        }
        Ok(Self { shared, threads })
    }

    pub fn leases(&self) -> Leases {
        locked(&self.shared.held).clone()
    }

    /// How many keys it has run.
    pub fn ran(&self) -> usize {
        self.shared.ran.load(Ordering::SeqCst)
    }

    /// Kills its connections: nothing is released, nothing that it was running commits.
    pub fn kill(self, superuser: &mut Client) -> Result<()> {
        let backends = locked(&self.shared.backends).clone();
        for backend in backends {
            superuser.batch_execute(&format!("SELECT pg_terminate_backend({backend})"))?;
        }
        self.vanish()
    }

    /// Ends it without a word: nothing is released.
    pub fn vanish(self) -> Result<()> {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for thread in self.threads {
            let _ = thread.join().map_err(|_| anyhow!("a worker's thread died"))?;
        }
        Ok(())
    }

    /// Ends it in good order, up to the call that releases everything.
    pub fn stop(self) -> Result<()> {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().map_err(|_| anyhow!("a worker's thread died"))??;
        }
        Ok(())
    }
}

impl Shared {
    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// A pass is due every `renew`, or earlier with less than a third of a ttl left.
    fn renew(&self, client: &mut Client) -> Result<()> {
        let more = format!(", singletons => '{{{}}}'", self.singletons);
        let mut last: Option<Instant> = None;
        let mut least_left = Duration::ZERO;
        while !self.stopped() {
            let passed = last.map_or(Duration::MAX, |last| last.elapsed());
            let soon = least_left.saturating_sub(passed) < self.times.ttl / 3;
            if passed >= self.times.renew || soon {
                let began = Instant::now();
                let (leases, _) = pass(client, &self.name, self.times, &more)?;
                let seconds = leases.values().map(|held| held.seconds_left);
                let least = seconds.fold(f64::from(u32::MAX), f64::min).max(0.0);
                (least_left, last) = (Duration::from_secs_f64(least), Some(began));
                *locked(&self.held) = leases;
            }
            sleep(self.times.renew / 10);
        }
        Ok(())
    }

    fn work(&self, client: &mut Client) -> Result<()> {
        while !self.stopped() {
            let held = locked(&self.held).clone();
            let shards: Vec<String> =
                held.values().filter_map(|h| h.shard).map(|s| s.to_string()).collect();
            let pick = format!(
                "SELECT key, lease_shard_of(key) FROM todo
                 WHERE lease_shard_of(key) = ANY ('{{{}}}'::integer[]) LIMIT 1",
                shards.join(",")
            );
            let Some(found) = rows(client, &pick)?.into_iter().next() else {
                sleep(Duration::from_millis(5));
                continue;
            };
            let (key, shard) = (found.get(0).unwrap_or_default(), found.get(1).unwrap_or_default());
            let name = format!("shard:{shard}");
            let token = held.get(&name).map_or(0, |held| held.token);
            self.ledger.begin(key, &self.name);
            let done = self.run_one(client, key, &name, token);
            self.ledger.end(key);
            match done {
                Err(error) if error.code().is_some_and(|code| code.code() == "55000") => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Works on a key, and writes it under the shard's token.
    fn run_one(
        &self,
        client: &mut Client,
        key: &str,
        lease: &str,
        token: i64,
    ) -> Result<(), Error> {
        sleep(Duration::from_millis(3));
        client
            .batch_execute(&format!(
                "BEGIN; SELECT lease_fence_check('{lease}', {token});
             DELETE FROM todo WHERE key = '{key}';
             INSERT INTO ran VALUES ('{key}', '{}'); COMMIT",
                self.name
            ))
            .inspect_err(|_| drop(client.batch_execute("ROLLBACK")))?;
        self.ran.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Puts keys into `todo` until it is dropped.
pub struct Enqueuer {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Enqueuer {
    pub fn start(mut client: Client, keys: usize, every: Duration) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        let thread = thread::spawn(move || -> Result<()> {
            for number in (0..keys).cycle() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let add = "INSERT INTO todo VALUES ('node-%') ON CONFLICT DO NOTHING";
                client.batch_execute(&add.replace('%', &number.to_string()))?;
                sleep(every);
            }
            Ok(())
        });
        Self { stopped, thread: Some(thread) }
    }

    pub fn stop(mut self) -> Result<()> {
        self.stopped.store(true, Ordering::SeqCst);
        let thread = self.thread.take().context("stopped before")?;
        thread.join().map_err(|_| anyhow!("the enqueuer died"))?
    }
}

impl Drop for Enqueuer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
