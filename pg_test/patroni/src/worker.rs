//! A worker as people write them: acquire, work under the token, renew; at an error connect again.

use crate::history::{Grant, History, Write};
use postgres::{Client, Error, NoTls};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TTL: &str = "3 s";
const RENEW_AFTER: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);
const WAIT: Duration = Duration::from_millis(200);

pub struct Worker<'a> {
    pub owner: String,
    pub url: String,
    pub history: &'a History,
    pub ids: &'a AtomicI64,
    pub stop: &'a AtomicBool,
}

impl Worker<'_> {
    pub fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            if let Ok(mut client) = Client::connect(&self.url, NoTls) {
                // whatever ends a session, the next one begins anew
                let _ = self.work(&mut client);
            }
            sleep(WAIT);
        }
    }

    fn work(&self, client: &mut Client) -> Result<(), Error> {
        // so that a server that is cut off does not hold it for ever
        client.batch_execute("SET statement_timeout = '10 s'")?;
        while !self.stop.load(Ordering::Relaxed) {
            match self.acquire(client)? {
                Some(token) => self.hold(client, token)?,
                None => sleep(WAIT),
            }
        }
        Ok(())
    }

    fn acquire(&self, client: &mut Client) -> Result<Option<i64>, Error> {
        let asked = Instant::now();
        let call = "SELECT status, token FROM lease_acquire('job', $1, $2::text::interval)";
        let row = client.query_one(call, &[&self.owner, &TTL])?;
        let (status, token): (String, Option<i64>) = (row.get(0), row.get(1));
        if let Some(token) = token.filter(|_| status == "granted") {
            let grant = Grant { owner: self.owner.clone(), token, asked, told: Instant::now() };
            self.history.add(|told| told.grants.push(grant));
        }
        Ok(token)
    }

    /// Works until the lease is lost.
    fn hold(&self, client: &mut Client, token: i64) -> Result<(), Error> {
        client.batch_execute(&format!("SET pg_lease.token = 'job={token}'"))?;
        let mut renewed = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            if renewed.elapsed() > RENEW_AFTER {
                let call = "SELECT FROM lease_renew('job', $1, $2, $3::text::interval)";
                match client.execute(call, &[&self.owner, &token, &TTL]) {
                    Err(error) if is_refusal(&error) => return Ok(()),
                    other => drop(other?),
                }
                renewed = Instant::now();
            }
            if !self.write(client, token)? {
                return Ok(());
            }
            sleep(PAUSE);
        }
        Ok(())
    }

    /// False where it was refused.
    fn write(&self, client: &mut Client, token: i64) -> Result<bool, Error> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let insert = "INSERT INTO work (id, token, owner) VALUES ($1, $2, $3)";
        let outcome = client.execute(insert, &[&id, &token, &self.owner]);
        let told = Instant::now();
        match outcome {
            Ok(_) => {
                self.history.add(|all| all.acknowledged.push(Write { id, told }));
                Ok(true)
            }
            Err(error) if is_refusal(&error) => {
                self.history.add(|all| all.refused.push(id));
                Ok(false)
            }
            Err(error) => {
                self.history.add(|all| all.unknown += 1);
                Err(error)
            }
        }
    }
}

fn is_refusal(error: &Error) -> bool {
    error.code().is_some_and(|state| state.code() == "55000")
}
