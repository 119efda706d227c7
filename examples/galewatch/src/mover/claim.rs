//! The lease: taken, renewed, given back.

use crate::args::Args;
use crate::failure::unreachable;
use anyhow::{Context, Result};
use galewatch::LEASE;
use galewatch::event::{Event, Refusal};
use galewatch::log::Log;
use postgres::{Client, Config, Error, NoTls};
use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(100);

const ACQUIRE: &str = "
SELECT acquired, owner, token, (extract(epoch FROM expires_at) * 1e6)::bigint
FROM lease_acquire($1, $2, ttl => $3::text::interval)";
const RENEW: &str = "
SELECT (extract(epoch FROM expires_at) * 1e6)::bigint
FROM lease_renew($1, $2, $3, ttl => $4::text::interval)";
const RELEASE: &str = "SELECT status FROM lease_release($1, $2, $3)";
const LIST: &str = "SELECT turbine_id FROM moves ORDER BY turbine_id";

/// What came of asking for a renewal.
#[derive(PartialEq, Eq)]
pub enum Standing {
    Kept,
    Lost,
}

pub struct Claim {
    pub token: i64,
    routing: Routing,
    owner: String,
    ttl: Duration,
}

/// A connection to the routing database, made anew when the last one broke.
struct Routing {
    config: Config,
    client: Option<Client>,
}

impl Claim {
    /// Asks for the lease until it is granted.
    pub fn wait_for(args: &Args, log: &mut Log<impl Write>) -> Result<Self> {
        let config: Config = args.routing.parse().context("--routing")?;
        let mut claim = Self {
            token: 0,
            routing: Routing { config, client: None },
            owner: format!("{}/{}", args.name, std::process::id()),
            ttl: args.ttl(),
        };
        while !claim.ask(log)? {
            sleep(args.poll());
        }
        Ok(claim)
    }

    /// The turbines that are to move, from the top.
    pub fn list(&mut self) -> Result<Vec<String>> {
        let rows = self.routing.with(|client| client.query(LIST, &[]))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Renews the lease. When routing cannot be reached it tries again, less and less often, for as
    /// long as the lease lasts; then it goes on, rather than throw the work away over a blip.
    pub fn renew(&mut self, log: &mut Log<impl Write>) -> Result<Standing> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        for tries in 1.. {
            match self.try_renewal() {
                Ok(expires_us) => {
                    log.note(Event::Renewed { expires_us })?;
                    break;
                }
                Err(error) if unreachable(&error) => {
                    log.note(Event::Unreachable { error: reason(&error) })?;
                }
                Err(error) => return lost(error, log),
            }
            let after = began.elapsed();
            if after >= self.ttl {
                let after_ms = u64::try_from(after.as_millis())?;
                log.note(Event::CarriedOn { tries, after_ms })?;
                break;
            }
            sleep(pause.min(self.ttl - after));
            pause *= 2;
        }
        Ok(Standing::Kept)
    }

    pub fn release(&mut self) -> Result<()> {
        let (owner, token) = (&self.owner, self.token);
        self.routing.with(|client| client.query_one(RELEASE, &[&LEASE, owner, &token]))?;
        Ok(())
    }

    fn ask(&mut self, log: &mut Log<impl Write>) -> Result<bool> {
        let (owner, ttl) = (&self.owner, interval(self.ttl));
        let asked = self.routing.with(|client| client.query_one(ACQUIRE, &[&LEASE, owner, &ttl]));
        let row = match asked {
            Ok(row) => row,
            Err(error) if unreachable(&error) => {
                log.note(Event::Unreachable { error: reason(&error) })?;
                return Ok(false);
            }
            Err(error) => return Err(error).context("cannot ask for the lease"),
        };
        let acquired: bool = row.get(0);
        if acquired {
            self.token = row.get(2);
            log.note(Event::Acquired { token: self.token, expires_us: row.get(3) })?;
        } else {
            log.note(Event::Held { owner: row.get(1) })?;
        }
        Ok(acquired)
    }

    fn try_renewal(&mut self) -> Result<i64, Error> {
        let (owner, token, ttl) = (&self.owner, self.token, interval(self.ttl));
        let renew = |client: &mut Client| client.query_one(RENEW, &[&LEASE, owner, &token, &ttl]);
        Ok(self.routing.with(renew)?.get(0))
    }
}

impl Routing {
    fn with<T>(&mut self, run: impl FnOnce(&mut Client) -> Result<T, Error>) -> Result<T, Error> {
        let mut client = match self.client.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.config.connect(NoTls)?,
        };
        let answer = run(&mut client);
        self.client = Some(client);
        answer
    }
}

/// An answer that means that the lease is gone; any other error ends the mover.
fn lost(error: Error, log: &mut Log<impl Write>) -> Result<Standing> {
    let error = anyhow::Error::from(error);
    match Refusal::behind(&error).filter(Refusal::is_stale) {
        Some(error) => log.note(Event::Lost { error }).map(|()| Standing::Lost),
        None => Err(error.context("cannot renew the lease")),
    }
}

fn interval(ttl: Duration) -> String {
    format!("{} ms", ttl.as_millis())
}

/// The whole story of an error, in one line.
fn reason(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |e| e.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
