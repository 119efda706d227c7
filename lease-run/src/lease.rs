//! The lease functions, as lease-run calls them.

use crate::clock::Moment;
use crate::deadline::Term;
use crate::session::{Failure, Link, Question};
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Claim {
    pub name: String,
    pub owner: String,
    pub ttl: Duration,
    /// How long the command may stand still.
    pub stall_after: Option<Duration>,
}

/// What a lease function has answered.
#[derive(Debug)]
pub struct Answer {
    pub status: String,
    pub owner: Option<String>,
    pub token: Option<i64>,
    /// Until it expires.
    pub left: Option<Duration>,
    renew_after: Option<Duration>,
    stop_after: Option<Duration>,
}

impl Answer {
    fn of(row: &Row) -> Result<Self, tokio_postgres::Error> {
        let duration = |at: usize| -> Result<Option<Duration>, tokio_postgres::Error> {
            let seconds: Option<f64> = row.try_get(at)?;
            Ok(seconds.and_then(|s| Duration::try_from_secs_f64(s.max(0.0)).ok()))
        };
        Ok(Self {
            status: row.try_get(0)?,
            owner: row.try_get(1)?,
            token: row.try_get(2)?,
            left: duration(3)?,
            renew_after: duration(4)?,
            stop_after: duration(5)?,
        })
    }

    /// What it gives to the one who has the lease, and had asked at `sent`.
    pub fn term(&self, sent: Moment, ttl: Duration) -> Term {
        let renew_after = self.renew_after.unwrap_or(ttl / 3);
        Term::new(sent, ttl, renew_after, self.stop_after.unwrap_or(ttl / 2))
    }
}

/// The columns of an answer, times as seconds.
macro_rules! answer_of {
    ($call:literal) => {
        concat!(
            "SELECT a.status, a.owner, a.token,
                    CASE WHEN pg_catalog.isfinite(a.expires_at)
                         THEN extract(epoch FROM a.expires_at - a.now)::float8 END,
                    extract(epoch FROM a.renew_after)::float8,
                    extract(epoch FROM a.stop_after)::float8
             FROM {}.",
            $call,
            " AS a"
        )
    };
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

impl Link {
    /// A new token each time: if this owner has the lease already, that was a former self.
    pub async fn acquire(&mut self, claim: &Claim, by: Moment) -> Result<Answer, Failure> {
        let (ttl, stall_after) = (milliseconds(claim.ttl), claim.stall_after.map(milliseconds));
        let question = Question {
            text: answer_of!(
                "lease_acquire($1, $2, $3::interval, 'never', stall_after => $4::interval)"
            ),
            with: &[
                (&claim.name, Type::TEXT),
                (&claim.owner, Type::TEXT),
                (&ttl, Type::TEXT),
                (&stall_after, Type::TEXT),
            ],
        };
        Ok(Answer::of(&self.ask(&question, by).await?)?)
    }

    /// As a batch of one, which tells what has become of the lease instead of raising an error.
    pub async fn renew(
        &mut self,
        claim: &Claim,
        token: i64,
        progress: Option<i64>,
        by: Moment,
    ) -> Result<Answer, Failure> {
        let ttl = milliseconds(claim.ttl);
        let question = Question {
            text: answer_of!(
                "lease_renew_many(ARRAY[$1], $2, ARRAY[$3], $4::interval, progress => ARRAY[$5])"
            ),
            with: &[
                (&claim.name, Type::TEXT),
                (&claim.owner, Type::TEXT),
                (&token, Type::INT8),
                (&ttl, Type::TEXT),
                (&progress, Type::INT8),
            ],
        };
        Ok(Answer::of(&self.ask(&question, by).await?)?)
    }

    pub async fn release(
        &mut self,
        claim: &Claim,
        token: i64,
        by: Moment,
    ) -> Result<Answer, Failure> {
        let question = Question {
            text: answer_of!("lease_release($1, $2, $3)"),
            with: &[(&claim.name, Type::TEXT), (&claim.owner, Type::TEXT), (&token, Type::INT8)],
        };
        Ok(Answer::of(&self.ask(&question, by).await?)?)
    }

    /// Whether this is the first to begin the run.
    pub async fn begin_once(&mut self, job: &str, run: &str, by: Moment) -> Result<bool, Failure> {
        self.of_run("SELECT {}.lease_once($1, $2)", job, run, by).await
    }

    pub async fn once_done(&mut self, job: &str, run: &str, by: Moment) -> Result<bool, Failure> {
        self.of_run("SELECT {}.lease_once_done($1, $2)", job, run, by).await
    }

    async fn of_run(
        &mut self,
        text: &str,
        job: &str,
        run: &str,
        by: Moment,
    ) -> Result<bool, Failure> {
        let question = Question { text, with: &[(&job, Type::TEXT), (&run, Type::TEXT)] };
        Ok(self.ask(&question, by).await?.try_get(0)?)
    }
}
