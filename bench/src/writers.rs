//! A stream of writers under a lease, and one who renews or takes over the lease meanwhile.

use crate::bed::{Bed, LEASE};
use anyhow::{Result, bail, ensure};
use postgres::error::SqlState;
use postgres::{Client, Statement};
use rig::wait_until;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub const WRITERS: usize = 16;
/// How long one renewal or takeover may wait before it is given up.
pub const CAP: Duration = Duration::from_secs(2);
/// How long a refused writer waits for news of a new token before it tries again.
const NEWS: Duration = Duration::from_millis(20);

/// What keeps stale writers out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    None,
    Ours,
    Share,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Renew,
    TakeOver,
}

/// How a cell is run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub guard: Guard,
    pub act: Act,
    /// What a writer does inside each transaction, beside writing.
    pub thinking: Duration,
    pub lasting: Duration,
}

pub struct Outcome {
    /// Milliseconds, sorted; one that was given up counts as the cap.
    pub waits: Vec<f64>,
    pub given_up: usize,
    pub written_per_second: f64,
    pub refused: u64,
}

/// What the writers and the one share.
struct Shared {
    token: AtomicI64,
    stop: AtomicBool,
    written: AtomicU64,
    refused: AtomicU64,
}

impl Shared {
    /// Whoever is refused has lost the lease: the next holder's writers take its place.
    fn wait_for_news(&self, old: i64) {
        let end = Instant::now() + NEWS;
        while self.token.load(Ordering::Relaxed) == old && Instant::now() < end {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Guard {
    pub fn title(self) -> &'static str {
        match self {
            Self::None => "writers unguarded",
            Self::Ours => "writers guarded by pg_lease",
            Self::Share => "writers with SELECT … FOR SHARE",
        }
    }

    fn table(self) -> &'static str {
        match self {
            Self::None => "stream_none",
            Self::Ours => "stream_ours",
            Self::Share => "stream_share",
        }
    }

    /// The token in force.
    pub fn token(self, client: &mut Client) -> Result<i64> {
        let asked = match self {
            Self::Share => "SELECT epoch FROM held WHERE name = $1",
            _ => "SELECT token FROM lease.lease WHERE name = $1",
        };
        Ok(client.query_one(asked, &[&LEASE])?.get(0))
    }
}

/// A session that writes under a token.
pub struct Writer {
    guard: Guard,
    client: Client,
    presented: Option<i64>,
    check: Statement,
    insert: Statement,
}

impl Writer {
    pub fn connect(bed: &Bed, guard: Guard) -> Result<Self> {
        let mut client = bed.server.connect("postgres")?;
        let check = "SELECT 1 FROM held WHERE name = $1 AND owner = 'bench' AND epoch = $2 \
            AND expires_at > clock_timestamp() FOR SHARE";
        let insert = format!("INSERT INTO {} (amount, note) VALUES (1, 'a note')", guard.table());
        let (check, insert) = (client.prepare(check)?, client.prepare(&insert)?);
        Ok(Self { guard, client, presented: None, check, insert })
    }

    /// Begins a transaction under a token and writes a row. False: the token is stale.
    pub fn write(&mut self, token: i64) -> Result<bool, postgres::Error> {
        let client = &mut self.client;
        if self.guard == Guard::Ours && self.presented != Some(token) {
            client.batch_execute(&format!("SET pg_lease.token = '{LEASE}={token}'"))?;
            self.presented = Some(token);
        }
        client.batch_execute("BEGIN")?;
        if self.guard == Guard::Share && client.query(&self.check, &[&LEASE, &token])?.is_empty() {
            return Ok(false);
        }
        client.execute(&self.insert, &[])?;
        Ok(true)
    }

    pub fn commit(&mut self) -> Result<(), postgres::Error> {
        self.client.batch_execute("COMMIT")
    }

    fn roll_back(&mut self) -> Result<(), postgres::Error> {
        self.client.batch_execute("ROLLBACK")
    }
}

impl Act {
    pub fn title(self) -> &'static str {
        match self {
            Self::Renew => "a renewal",
            Self::TakeOver => "a takeover",
        }
    }

    /// Between one and the next. Takeovers leave the writers time to write in between.
    fn pause(self) -> Duration {
        match self {
            Self::Renew => Duration::from_millis(4),
            Self::TakeOver => Duration::from_millis(25),
        }
    }

    fn statement(self, guard: Guard) -> &'static str {
        match (self, guard) {
            (Self::Renew, Guard::Share) => {
                "UPDATE held SET expires_at = clock_timestamp() + interval '1 day' \
                 WHERE name = $1 AND owner = 'bench' AND epoch = $2 RETURNING epoch"
            }
            (Self::TakeOver, Guard::Share) => {
                "UPDATE held SET expires_at = clock_timestamp() + interval '1 day', \
                 epoch = epoch + 1 WHERE name = $1 AND epoch = $2 RETURNING epoch"
            }
            (Self::Renew, _) => "SELECT token FROM lease_renew($1, 'bench', $2, '1 day')",
            (Self::TakeOver, _) => {
                "SELECT token FROM lease_takeover($1, 'bench', '1 day') WHERE $2::bigint > 0"
            }
        }
    }

    /// Does it once. None: it was given up after the cap. Otherwise the token from now on.
    pub fn perform(self, client: &mut Client, guard: Guard, token: i64) -> Result<Option<i64>> {
        match client.query(self.statement(guard), &[&LEASE, &token]) {
            Ok(rows) => {
                ensure!(rows.len() == 1, "{} found no lease", self.title());
                Ok(Some(rows[0].get(0)))
            }
            Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

pub fn prepare(bed: &Bed) -> Result<()> {
    let mut script = String::new();
    for guard in [Guard::None, Guard::Ours, Guard::Share] {
        script += &format!("CREATE TABLE {} (LIKE sample INCLUDING ALL);", guard.table());
    }
    script += &format!("SELECT lease_guard('{}', '{LEASE}')", Guard::Ours.table());
    bed.server.execute("postgres", &script)
}

/// A connection whose statements are given up after the cap.
pub fn impatient(bed: &Bed) -> Result<Client> {
    let mut client = bed.server.connect("postgres")?;
    client.batch_execute(&format!("SET statement_timeout = {}", CAP.as_millis()))?;
    Ok(client)
}

impl Setup {
    pub fn run(&self, bed: &Bed) -> Result<Outcome> {
        let mut one = impatient(bed)?;
        let shared = Shared {
            token: AtomicI64::new(self.guard.token(&mut one)?),
            stop: AtomicBool::new(false),
            written: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        };
        let began = Instant::now();
        let (waits, wrote) = thread::scope(|scope| {
            let writers: Vec<_> =
                (0..WRITERS).map(|_| scope.spawn(|| self.write_on(bed, &shared))).collect();
            let waits = self.act_on(&mut one, &shared);
            shared.stop.store(true, Ordering::Relaxed);
            let ended = writers.into_iter().map(|writer| match writer.join() {
                Ok(ended) => ended,
                Err(_) => bail!("a writer panicked"),
            });
            (waits, ended.collect::<Result<Vec<()>>>())
        });
        wrote?;
        let mut waits = waits?;
        waits.sort_by(f64::total_cmp);
        let cap = CAP.as_secs_f64() * 1_000.0;
        let written = shared.written.load(Ordering::Relaxed) as f64;
        Ok(Outcome {
            given_up: waits.iter().filter(|wait| **wait >= cap).count(),
            waits,
            written_per_second: written / began.elapsed().as_secs_f64(),
            refused: shared.refused.load(Ordering::Relaxed),
        })
    }

    /// One writer: a transaction after the other, under the newest token it has heard of.
    fn write_on(&self, bed: &Bed, shared: &Shared) -> Result<()> {
        let mut writer = Writer::connect(bed, self.guard)?;
        while !shared.stop.load(Ordering::Relaxed) {
            let token = shared.token.load(Ordering::Relaxed);
            if self.one_transaction(&mut writer, token)? {
                shared.written.fetch_add(1, Ordering::Relaxed);
            } else {
                shared.refused.fetch_add(1, Ordering::Relaxed);
                shared.wait_for_news(token);
            }
        }
        Ok(())
    }

    /// False: refused, because the token is stale.
    fn one_transaction(&self, writer: &mut Writer, token: i64) -> Result<bool> {
        let wrote = writer.write(token);
        if matches!(wrote, Ok(true)) && !self.thinking.is_zero() {
            thread::sleep(self.thinking);
        }
        let ended = match wrote {
            Ok(true) => writer.commit().map(|()| true),
            other => other,
        };
        match ended {
            Ok(true) => Ok(true),
            Ok(false) => Ok(writer.roll_back().map(|()| false)?),
            Err(error) if is_stale(&error) => Ok(writer.roll_back().map(|()| false)?),
            Err(error) => Err(error.into()),
        }
    }

    /// The one who renews or takes over, again and again. How long each took, in ms.
    fn act_on(&self, one: &mut Client, shared: &Shared) -> Result<Vec<f64>> {
        wait_until("all writers to be at it", Duration::from_secs(60), || {
            Ok(shared.written.load(Ordering::Relaxed) >= 2 * WRITERS as u64)
        })?;
        let mut waits = Vec::new();
        let began = Instant::now();
        while waits.is_empty() || began.elapsed() < self.lasting {
            let token = shared.token.load(Ordering::Relaxed);
            let asked = Instant::now();
            let granted = self.act.perform(one, self.guard, token)?;
            let took = asked.elapsed();
            if let Some(token) = granted {
                shared.token.store(token, Ordering::Relaxed);
            }
            let took = if granted.is_some() { took } else { took.max(CAP) };
            waits.push(took.as_secs_f64() * 1_000.0);
            thread::sleep(self.act.pause());
        }
        Ok(waits)
    }
}

pub fn is_stale(error: &postgres::Error) -> bool {
    error.code() == Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE)
}
