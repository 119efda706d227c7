//! How long after a release, or an expiry, the next one has the lease.

use crate::bed::Bed;
use crate::estimate::{Estimate, quantile};
use crate::report::Section;
use crate::scale::Scale;
use crate::target::{Target, Want, number, shown};
use anyhow::{Context, Result};
use postgres::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const NAME: &str = "job/wait";
const POLL: Duration = Duration::from_millis(100);
/// Longer than the time between two looks of the head, which nobody tells of a shorter ttl.
const TTL: Duration = Duration::from_millis(1_500);

/// How a candidate gets it.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Wait,
    Poll,
}

/// What the next one gets it after.
#[derive(Clone, Copy)]
enum After {
    Release,
    Expiry,
}

impl After {
    /// An expiry takes its time.
    fn rounds(self, way: Way) -> usize {
        match (self, way) {
            (Self::Release, Way::Wait) => 200,
            (Self::Release, Way::Poll) => 50,
            (Self::Expiry, _) => 25,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Expiry => "expiry",
        }
    }
}

pub fn run(scale: Scale) -> Result<Section> {
    let bed = Bed::start("wait", scale)?;
    let mut section = Section::new("wait", "How soon the next one has the lease", &bed)?;
    section.paragraph(HOW);
    let mut rows = Vec::new();
    for (after, bound) in [(After::Release, 5.0), (After::Expiry, 20.0)] {
        for count in [1, 16] {
            let count = scale.pick(count, count.min(2));
            for way in [Way::Wait, Way::Poll] {
                let rounds = scale.pick(after.rounds(way), 2);
                let mut times = Crowd::start(&bed, way, count)?.times(after, rounds)?;
                let estimate = Estimate::of(&times);
                times.sort_by(f64::total_cmp);
                let how = if way == Way::Wait { "wait" } else { "asks every 100 ms" };
                rows.push(vec![
                    after.title().into(),
                    how.into(),
                    count.to_string(),
                    shown(&estimate),
                    number(quantile(&times, 0.99)),
                ]);
                if way == Way::Wait {
                    let what = format!(
                        "From {} to the next grant, {count} waiting: median in ms",
                        after.title()
                    );
                    section.target(Target::new(what, Want::Below(bound), estimate));
                }
            }
        }
    }
    section.table(&["after", "candidates", "how many", "median ms", "p99 ms"], rows);
    Ok(section)
}

const HOW: &str = "\
From the moment when the release is sent, or when the lease expires, until another client has read
its grant: commits on disk and round trips included. Beside it candidates that ask every 100 ms.";

struct Grant {
    owner: String,
    token: i64,
    at: Instant,
}

/// Candidates for one lease, each in a thread of its own, and who has it now.
struct Crowd {
    way: Way,
    count: usize,
    /// Releases and renews for whoever has the lease, and looks at the queue.
    client: Client,
    grants: Receiver<Grant>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    holder: Grant,
}

impl Crowd {
    fn start(bed: &Bed, way: Way, count: usize) -> Result<Self> {
        let mut client = bed.server.connect("postgres")?;
        let take = format!("SELECT token FROM lease_takeover('{NAME}', 'first', '1 day')");
        let token = client.query_one(&take, &[])?.get(0);
        let holder = Grant { owner: "first".into(), token, at: Instant::now() };
        let (tell, grants) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for number in 0..count {
            let (client, tell) = (bed.server.connect("postgres")?, tell.clone());
            let stop = Arc::clone(&stop);
            threads.push(thread::spawn(move || ask(client, way, number, &tell, &stop)));
        }
        Ok(Self { way, count, client, grants, stop, threads, holder })
    }

    /// How long it took, each time, in ms.
    fn times(mut self, after: After, rounds: usize) -> Result<Vec<f64>> {
        let mut times = Vec::new();
        for round in 0..rounds {
            self.settle(round)?;
            let free = self.let_go(after)?;
            self.holder = self.grants.recv().context("the candidates are gone")?;
            times.push(self.holder.at.saturating_duration_since(free).as_secs_f64() * 1_000.0);
        }
        self.stop()?;
        Ok(times)
    }

    /// Waits until all who wait are asleep, or lets some of the time between two polls pass.
    fn settle(&mut self, round: usize) -> Result<()> {
        if self.way == Way::Poll {
            sleep(POLL.mul_f64(round as f64 * 0.618_034 % 1.0));
            return Ok(());
        }
        let queued =
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 19464";
        while self.client.query_one(queued, &[])?.get::<_, i64>(0) < self.count as i64 {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(2));
        Ok(())
    }

    /// Returns when the lease is free.
    fn let_go(&mut self, after: After) -> Result<Instant> {
        let Grant { owner, token, .. } = &self.holder;
        let began = Instant::now();
        match after {
            After::Release => {
                self.client.query("SELECT lease_release($1, $2, $3)", &[&NAME, owner, token])?;
                Ok(began)
            }
            After::Expiry => {
                let ttl = format!("'{} ms'", TTL.as_millis());
                let renew = format!("SELECT lease_renew($1, $2, $3, {ttl})");
                self.client.query(&renew, &[&NAME, owner, token])?;
                Ok(began + TTL)
            }
        }
    }

    fn stop(mut self) -> Result<()> {
        self.stop.store(true, Ordering::SeqCst);
        let end = "SELECT pg_terminate_backend(pid) FROM pg_locks \
                   WHERE locktype = 'advisory' AND objsubid = 19464";
        while !self.threads.iter().all(JoinHandle::is_finished) {
            self.client.query(end, &[])?;
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Gets the lease again and again, until it is told to stop: each time as a new owner, who does not
/// have it yet.
fn ask(mut client: Client, way: Way, number: usize, tell: &Sender<Grant>, stop: &AtomicBool) {
    let wait = if way == Way::Wait { "1 hour" } else { "0" };
    let call = format!("SELECT token FROM lease_acquire('{NAME}', $1, '1 hour', wait => '{wait}')");
    let Ok(call) = client.prepare(&call) else { return };
    let mut grants = 0;
    while !stop.load(Ordering::SeqCst) {
        let owner = format!("candidate {number}/{grants}");
        let Ok(row) = client.query_one(&call, &[&owner]) else { return };
        if let Some(token) = row.get(0) {
            grants += 1;
            if tell.send(Grant { owner, token, at: Instant::now() }).is_err() {
                return;
            }
        }
        if way == Way::Poll {
            sleep(POLL);
        }
    }
}
