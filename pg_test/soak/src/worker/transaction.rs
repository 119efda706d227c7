//! One guarded transaction, in one of many shapes.

use super::session::{Session, Tried};
use super::{Held, Order, Trouble, taken};
use crate::dice::Dice;
use crate::history::{Answer, Recorder, Write};
use std::thread::sleep;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Present {
    Check,
    SetLocal,
    /// For the session, before the transaction.
    Set,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Savepoint {
    None,
    Released,
    RolledBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
    CommitPrepared,
    RollbackPrepared,
    ReleaseAndCommit,
}

/// The shape of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    isolation: &'static str,
    present: Present,
    mode: &'static str,
    savepoint: Savepoint,
    end: End,
    parts: usize,
    /// Between statements, and before the end.
    pause: Duration,
}

const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// The part of a row that a rolled-back savepoint wrote: it may never be seen.
pub const UNDONE: i32 = -1;

impl Plan {
    pub fn plain() -> Self {
        Self {
            isolation: LEVELS[0],
            present: Present::Check,
            mode: "current",
            savepoint: Savepoint::None,
            end: End::Commit,
            parts: 1,
            pause: Duration::ZERO,
        }
    }

    /// One that is idle most of the time.
    pub fn slow(dice: &mut Dice) -> Self {
        let isolation = LEVELS[dice.below(3)];
        Self { isolation, parts: 3, pause: Duration::from_millis(250), ..Self::plain() }
    }

    pub fn of(dice: &mut Dice, order: &Order) -> Self {
        let end = match dice.below(100) {
            80..=87 if !order.prepares => End::Commit,
            0..=79 => End::Commit,
            80..=85 => End::CommitPrepared,
            86..=87 => End::RollbackPrepared,
            88..=93 => End::Rollback,
            _ => End::ReleaseAndCommit,
        };
        let mut ways = vec![Present::Check, Present::SetLocal];
        if !order.pooled {
            ways.push(Present::Set);
        }
        Self {
            isolation: LEVELS[dice.below(3)],
            present: ways[dice.below(ways.len())],
            savepoint: [Savepoint::None, Savepoint::Released, Savepoint::RolledBack][dice.below(3)],
            end,
            parts: 1 + dice.below(3),
            pause: pause(dice),
            ..Self::plain()
        }
    }

    /// One that acquires its lease first: only READ COMMITTED may write under such a token.
    pub fn that_takes(dice: &mut Dice) -> Self {
        let end = if dice.chance(70) { End::Commit } else { End::Rollback };
        Self { end, parts: 1 + dice.below(2), pause: pause(dice), ..Self::plain() }
    }

    pub fn at_resource(dice: &mut Dice) -> Self {
        let isolation = LEVELS[dice.below(3)];
        let end = if dice.chance(90) { End::Commit } else { End::Rollback };
        Self {
            isolation,
            mode: "newest",
            end,
            parts: 1 + dice.below(2),
            pause: pause(dice),
            ..Self::plain()
        }
    }

    pub fn releases(&self) -> bool {
        self.end == End::ReleaseAndCommit
    }

    /// What the history says of it.
    pub fn write(&self, lease: &str, token: Option<i64>, durable: bool) -> Write {
        Write {
            lease: lease.to_owned(),
            token,
            ttl_ms: 0,
            parts: self.parts,
            isolation: self.isolation.to_owned(),
            durable,
            prepared: matches!(self.end, End::CommitPrepared | End::RollbackPrepared),
            releases: self.releases(),
        }
    }
}

/// Mostly short; now and then longer than any lease.
fn pause(dice: &mut Dice) -> Duration {
    match dice.below(20) {
        0 => dice.millis(700, 2_000),
        1..=5 => dice.millis(20, 150),
        _ => dice.millis(0, 10),
    }
}

/// One transaction to be run.
pub struct Run<'a> {
    pub held: &'a Held,
    pub operation: &'a str,
    pub owner: &'a str,
    pub plan: Plan,
}

impl Run<'_> {
    pub fn go(
        &self,
        session: &mut Session,
        recorder: &mut Recorder,
        _: &mut Dice,
    ) -> Tried<Answer> {
        let Held { lease, token, .. } = self.held;
        if self.plan.present == Present::Set {
            session.run(&format!("SET pg_lease.token = '{lease}={token}'"))?;
        }
        let tried = self.begin(session).and_then(|()| {
            self.present(session, *token)?;
            self.look(session, recorder)?;
            self.write(session, *token)?;
            self.end(session, recorder)
        });
        undone(session, tried)
    }

    /// Acquires the lease in the same transaction.
    pub fn take_and_go(
        &self,
        session: &mut Session,
        recorder: &mut Recorder,
        _: &mut Dice,
        ttl_ms: u64,
        token: &mut i64,
    ) -> Tried<Answer> {
        let tried = self.begin(session).and_then(|()| {
            let Held { lease, .. } = self.held;
            let owner = self.owner;
            let call = format!("lease_acquire('{lease}', '{owner}', '{ttl_ms} ms')");
            let answer = taken(&session.row(&format!("SELECT status, token FROM {call}"))?);
            match answer {
                Answer::Granted(new) => {
                    recorder.shown(new)?;
                    *token = new;
                }
                Answer::Kept(old) => *token = old,
                answer => {
                    session.run("ROLLBACK")?;
                    return Ok(answer);
                }
            }
            self.present(session, *token)?;
            self.write(session, *token)?;
            self.end(session, recorder)
        });
        undone(session, tried)
    }

    fn begin(&self, session: &mut Session) -> Tried<()> {
        session.run(&format!("BEGIN ISOLATION LEVEL {}", self.plan.isolation))
    }

    fn present(&self, session: &mut Session, token: i64) -> Tried<()> {
        let (lease, mode) = (&self.held.lease, self.plan.mode);
        match self.plan.present {
            Present::Check => {
                session.run(&format!("SELECT lease_fence_check('{lease}', {token}, '{mode}')"))
            }
            Present::SetLocal => {
                session.run(&format!("SET LOCAL pg_lease.token = '{lease}={token}'"))
            }
            Present::Set => Ok(()),
        }
    }

    /// The first transaction after a grant looks at what is there.
    fn look(&self, session: &mut Session, recorder: &mut Recorder) -> Tried<()> {
        if self.held.looked {
            return Ok(());
        }
        let table = Order::table(&self.held.lease);
        let row = session.row(&format!("SELECT count(*) FROM {table}"))?;
        let rows = row.into_iter().next().flatten().and_then(|count| count.parse().ok());
        Ok(recorder.saw(rows.unwrap_or(0))?)
    }

    fn write(&self, session: &mut Session, token: i64) -> Tried<()> {
        match self.plan.savepoint {
            Savepoint::None => {}
            Savepoint::Released => session.run("SAVEPOINT a")?,
            Savepoint::RolledBack => {
                session.run("SAVEPOINT a")?;
                self.insert(session, token, UNDONE)?;
                session.run("ROLLBACK TO a")?;
            }
        }
        for part in 0..self.plan.parts {
            self.insert(session, token, i32::try_from(part).unwrap_or(0))?;
            sleep(self.plan.pause);
        }
        match self.plan.savepoint {
            Savepoint::Released => session.run("RELEASE a"),
            Savepoint::None | Savepoint::RolledBack => Ok(()),
        }
    }

    fn insert(&self, session: &mut Session, token: i64, part: i32) -> Tried<()> {
        let (table, operation) = (Order::table(&self.held.lease), self.operation);
        session.run(&format!("INSERT INTO {table} VALUES ('{operation}', {part}, {token})"))
    }

    fn end(&self, session: &mut Session, recorder: &mut Recorder) -> Tried<Answer> {
        match self.plan.end {
            End::Rollback => {
                session.run("ROLLBACK")?;
                return Ok(Answer::RolledBack);
            }
            End::CommitPrepared | End::RollbackPrepared => return self.prepare(session, recorder),
            End::ReleaseAndCommit => {
                let Held { lease, token, .. } = self.held;
                let owner = self.owner;
                session.run(&format!("SELECT lease_release('{lease}', '{owner}', {token})"))?;
                sleep(self.plan.pause);
            }
            End::Commit => {}
        }
        recorder.ending()?;
        session.run("COMMIT")?;
        Ok(Answer::Done)
    }

    /// Once it is prepared, only the decision's own acknowledgement says what became of it.
    fn prepare(&self, session: &mut Session, recorder: &mut Recorder) -> Tried<Answer> {
        let operation = self.operation;
        session.run(&format!("PREPARE TRANSACTION '{operation}'"))?;
        sleep(self.plan.pause);
        let (word, answer) = match self.plan.end {
            End::RollbackPrepared => ("ROLLBACK", Answer::RolledBack),
            _ => ("COMMIT", Answer::Done),
        };
        recorder.ending()?;
        match session.run(&format!("{word} PREPARED '{operation}'")) {
            Ok(()) => Ok(answer),
            Err(Trouble::Refused { state, said }) => Err(Trouble::Lost(format!("{state} {said}"))),
            Err(trouble) => Err(trouble),
        }
    }
}

/// After an error, the session is made ready for the next transaction; the answer stands.
fn undone(session: &mut Session, tried: Tried<Answer>) -> Tried<Answer> {
    if matches!(tried, Err(Trouble::Refused { .. })) {
        let _ = session.run("ROLLBACK");
    }
    tried
}
