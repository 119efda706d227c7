//! A client: a process of its own, that can be frozen and killed.

pub mod order;
pub mod session;
mod transaction;

pub use order::{Order, Role};
pub use session::{Place, Session, Tried, Trouble};
pub use transaction::UNDONE;

use crate::dice::Dice;
use crate::history::{Answer, Ask, Recorder, Write};
use anyhow::Result;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::thread::sleep;
use std::time::Duration;

/// A lease that this client believes to hold, or once held.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    lease: String,
    token: i64,
    /// It has looked at what its predecessor left.
    looked: bool,
}

struct Worker {
    order: Order,
    dice: Dice,
    recorder: Recorder,
    session: Option<Session>,
    resource: Option<Session>,
    held: Vec<Held>,
    /// Tokens that it was told to have lost, and tries all the same now and then.
    lost: Vec<Held>,
}

/// How many leases a worker keeps, and how many lost tokens it remembers.
const MOST_HELD: usize = 2;
const MOST_LOST: usize = 4;

const PAUSE_BEFORE_RECONNECTING: Duration = Duration::from_millis(50);

/// Runs until told to stop.
pub fn run(order: Order) -> Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    let mut worker = Worker {
        dice: Dice::of(order.seed, &order.name),
        recorder: Recorder::start(&order.directory, &order.name)?,
        order,
        session: None,
        resource: None,
        held: Vec::new(),
        lost: Vec::new(),
    };
    while !worker.order.stop.exists() {
        match worker.order.role {
            Role::Worker => worker.step()?,
            Role::Holder => worker.hold_on()?,
            Role::Sweeper => worker.sweep()?,
        }
    }
    Ok(())
}

impl Worker {
    fn step(&mut self) -> Result<()> {
        sleep(self.dice.millis(2, 25));
        let free = self.held.len() < MOST_HELD;
        match self.dice.below(100) {
            0..=29 if free => self.acquire_any(),
            0..=2 => self.take_over_any(),
            30..=39 => self.renew_one(),
            40..=43 => self.release_one(),
            44..=47 => self.write_in_vain(),
            _ => self.write_one(),
        }
    }

    /// Every lease, one after the other.
    fn sweep(&mut self) -> Result<()> {
        let first = self.dice.below(self.order.leases);
        for step in 0..self.order.leases {
            let number = (first + step) % self.order.leases;
            let Some(held) = self.acquire(number, 600)? else { continue };
            let plan = transaction::Plan::plain();
            self.write_under(&held, plan)?;
            if self.dice.chance(80) {
                self.release(&held)?;
            }
            self.held.clear();
        }
        sleep(Duration::from_millis(60));
        Ok(())
    }

    /// One slow transaction after the other under the first lease.
    fn hold_on(&mut self) -> Result<()> {
        let Some(held) = self.acquire(0, 1_000)? else {
            sleep(Duration::from_millis(20));
            return Ok(());
        };
        let plan = transaction::Plan::slow(&mut self.dice);
        self.write_under(&held, plan)
    }

    fn acquire_any(&mut self) -> Result<()> {
        let number = self.dice.below(self.order.leases);
        if self.dice.chance(15) {
            return self.acquire_and_write(number);
        }
        let ttl_ms = self.ttl_ms();
        self.acquire(number, ttl_ms).map(drop)
    }

    fn ttl_ms(&mut self) -> u64 {
        [500, 700, 1_000, order::LONGEST_TTL_MS][self.dice.below(4)]
    }

    fn acquire(&mut self, number: usize, ttl_ms: u64) -> Result<Option<Held>> {
        let lease = Order::lease(number);
        let keep = ["while_live", "while_live", "while_owner", "never"][self.dice.below(4)];
        let name = self.order.name.clone();
        let call = format!("lease_acquire('{lease}', '{name}', '{ttl_ms} ms', '{keep}')");
        self.take(Ask::Acquire { lease: lease.clone(), ttl_ms }, &lease, &call)
    }

    fn take_over_any(&mut self) -> Result<()> {
        let lease = Order::lease(self.dice.below(self.order.leases));
        let (ttl_ms, name) = (self.ttl_ms(), self.order.name.clone());
        let call = format!("lease_takeover('{lease}', '{name}', '{ttl_ms} ms', 'soak')");
        self.take(Ask::Takeover { lease: lease.clone(), ttl_ms }, &lease, &call).map(drop)
    }

    fn take(&mut self, ask: Ask, lease: &str, call: &str) -> Result<Option<Held>> {
        let statement = format!("SELECT status, token FROM {call}");
        let answer = self.ask(&ask, |session, _, _| Ok(taken(&session.row(&statement)?)))?;
        Ok(match answer {
            Answer::Granted(token) => Some(self.hold(lease, token)),
            Answer::Kept(token) => Some(self.hold(lease, token)),
            _ => None,
        })
    }

    fn hold(&mut self, lease: &str, token: i64) -> Held {
        let held = Held { lease: lease.to_owned(), token, looked: false };
        self.held.retain(|other| other.lease != lease);
        self.held.push(held.clone());
        held
    }

    fn any_held(&mut self) -> Option<Held> {
        let at = self.dice.below(self.held.len());
        self.held.get(at).cloned()
    }

    fn renew_one(&mut self) -> Result<()> {
        let Some(held) = self.any_held() else { return Ok(()) };
        let Held { lease, token, .. } = &held;
        let (ttl_ms, name) = (self.ttl_ms(), &self.order.name);
        let statement = format!("SELECT lease_renew('{lease}', '{name}', {token}, '{ttl_ms} ms')");
        let ask = Ask::Renew { lease: lease.clone(), token: *token, ttl_ms };
        let answer =
            self.ask(&ask, |session, _, _| session.run(&statement).map(|()| Answer::Done))?;
        self.settle(&held, &answer);
        Ok(())
    }

    fn release_one(&mut self) -> Result<()> {
        match self.any_held() {
            Some(held) => self.release(&held),
            None => Ok(()),
        }
    }

    fn release(&mut self, held: &Held) -> Result<()> {
        let Held { lease, token, .. } = held;
        let name = &self.order.name;
        let statement = format!("SELECT status FROM lease_release('{lease}', '{name}', {token})");
        let ask = Ask::Release { lease: lease.clone(), token: *token };
        let answer = self.ask(&ask, |session, _, _| {
            let row = session.row(&statement)?;
            let status = row.into_iter().next().flatten().unwrap_or_default();
            Ok(if status == "released" { Answer::Done } else { Answer::No(status) })
        })?;
        if matches!(answer, Answer::Done | Answer::No(_)) {
            self.forget(held);
        }
        Ok(())
    }

    fn write_one(&mut self) -> Result<()> {
        let Some(held) = self.any_held() else { return Ok(()) };
        let plan = transaction::Plan::of(&mut self.dice, &self.order);
        if self.order.resource.is_some() && self.dice.chance(40) {
            return self.write_at_resource(&held);
        }
        self.write_under(&held, plan)
    }

    /// A client that has not understood, or has just been thawed, writes under what it had.
    fn write_in_vain(&mut self) -> Result<()> {
        let at = self.dice.below(self.lost.len());
        let Some(held) = self.lost.get(at).cloned() else { return Ok(()) };
        if self.order.resource.is_some() && self.dice.chance(50) {
            return self.write_at_resource(&held);
        }
        let plan = transaction::Plan::of(&mut self.dice, &self.order);
        self.write_under(&Held { looked: true, ..held }, plan)
    }

    fn write_under(&mut self, held: &Held, plan: transaction::Plan) -> Result<()> {
        let ask = Ask::Write(plan.write(&held.lease, Some(held.token), self.order.durable));
        let operation = self.recorder.next_name();
        let run =
            transaction::Run { held, operation: &operation, owner: &self.order.name.clone(), plan };
        let answer = self.ask(&ask, |session, recorder, dice| run.go(session, recorder, dice))?;
        if answer == Answer::Done {
            if run.plan.releases() {
                self.forget(held);
            }
            self.held.iter_mut().filter(|other| *other == held).for_each(|h| h.looked = true);
        }
        self.settle(held, &answer);
        Ok(())
    }

    fn acquire_and_write(&mut self, number: usize) -> Result<()> {
        let lease = Order::lease(number);
        let plan = transaction::Plan::that_takes(&mut self.dice);
        let (ttl_ms, owner) = (self.ttl_ms(), self.order.name.clone());
        let write = plan.write(&lease, None, self.order.durable);
        let ask = Ask::Write(Write { ttl_ms, ..write });
        let operation = self.recorder.next_name();
        let held = Held { lease: lease.clone(), token: 0, looked: true };
        let run = transaction::Run { held: &held, operation: &operation, owner: &owner, plan };
        let mut token = 0;
        let answer = self.ask(&ask, |session, recorder, dice| {
            run.take_and_go(session, recorder, dice, ttl_ms, &mut token)
        })?;
        if answer == Answer::Done {
            self.hold(&lease, token);
        }
        Ok(())
    }

    fn write_at_resource(&mut self, held: &Held) -> Result<()> {
        let Some(path) = self.order.resource.clone() else { return Ok(()) };
        if self.resource.is_none() {
            let opened = Session::open(&Place::read(&path)?, &self.order.name, &[]);
            self.resource = opened.ok();
        }
        let Some(session) = self.resource.as_mut() else { return Ok(()) };
        let plan = transaction::Plan::at_resource(&mut self.dice);
        let ask = Ask::Write(plan.write(&held.lease, Some(held.token), true));
        let operation = self.recorder.next_name();
        self.recorder.asked(&session.server, &ask)?;
        let held = Held { looked: true, ..held.clone() };
        let run = transaction::Run { held: &held, operation: &operation, owner: "", plan };
        let tried = run.go(session, &mut self.recorder, &mut self.dice);
        let answer = answer_of(tried)?;
        if matches!(answer, Answer::Unknown(_)) {
            self.resource = None;
        }
        self.recorder.answered(&answer)
    }

    /// A refusal means that the lease is lost: it is remembered, to be tried in vain later.
    fn settle(&mut self, held: &Held, answer: &Answer) {
        if matches!(answer, Answer::Refused { state, .. } if state == "55000")
            && self.held.iter().any(|other| other.token == held.token)
        {
            self.forget(held);
            self.lost.push(held.clone());
            if self.lost.len() > MOST_LOST {
                self.lost.remove(0);
            }
        }
    }

    fn forget(&mut self, held: &Held) {
        self.held.retain(|other| other.token != held.token);
    }

    /// Asks the server, in a session that is opened if need be, and writes down both ends.
    fn ask(
        &mut self,
        ask: &Ask,
        work: impl FnOnce(&mut Session, &mut Recorder, &mut Dice) -> Tried<Answer>,
    ) -> Result<Answer> {
        let nothing = Answer::No("no connection".to_owned());
        let Some(session) = self.connected()? else { return Ok(nothing) };
        let mut session = session;
        self.recorder.asked(&session.server, ask)?;
        let mut answer = answer_of(work(&mut session, &mut self.recorder, &mut self.dice))?;
        if session.was_doubtful() {
            answer = Answer::Unknown("committed here, perhaps not on the standby".to_owned());
        }
        self.recorder.answered(&answer)?;
        if matches!(answer, Answer::Unknown(_)) {
            sleep(PAUSE_BEFORE_RECONNECTING);
        } else {
            self.session = Some(session);
        }
        Ok(answer)
    }

    fn connected(&mut self) -> Result<Option<Session>> {
        if let Some(session) = self.session.take() {
            return Ok(Some(session));
        }
        let place = Place::read(&self.order.place)?;
        match Session::open(&place, &self.order.name, &self.order.settings) {
            Ok(session) => Ok(Some(session)),
            Err(Trouble::Broken(error)) => Err(error),
            Err(_) => {
                sleep(PAUSE_BEFORE_RECONNECTING);
                Ok(None)
            }
        }
    }
}

pub fn answer_of(tried: Tried<Answer>) -> Result<Answer> {
    match tried {
        Ok(answer) => Ok(answer),
        Err(Trouble::Refused { state, said }) => Ok(Answer::Refused { state, said }),
        Err(Trouble::Lost(why)) => Ok(Answer::Unknown(why)),
        Err(Trouble::Broken(error)) => Err(error),
    }
}

/// What lease_acquire or lease_takeover answered.
pub fn taken(row: &[Option<String>]) -> Answer {
    let status = row.first().cloned().flatten().unwrap_or_default();
    let token = row.get(1).cloned().flatten().and_then(|token| token.parse().ok());
    match (status.as_str(), token) {
        ("granted", Some(token)) => Answer::Granted(token),
        ("renewed", Some(token)) => Answer::Kept(token),
        _ => Answer::No(status),
    }
}
