//! lease_worker_pass.
//!
//! Locks the worker's own row, looks at all leases of the fleet, decides (`rules::pass`), and does what
//! was decided by the verbs of `lease`, in the global order of names. It waits for nobody: what
//! another session has right now is left for the next pass.

use super::{Who, check_role, moment};
use crate::lease::acquire::{Wish, acquire_one};
use crate::lease::release::release_one;
use crate::lease::renew::{Renewal, Renewing, renew_one};
use crate::lease::{access, check_writable};
use crate::pg::answer::Status;
use crate::pg::call::Args;
use crate::pg::fleet_rows::{Change, PassAnswer, Passed};
use crate::pg::key::{Key, key};
use crate::pg::locks::{self, Class, Tag};
use crate::pg::members::{self, Found, Own, WorkerRow};
use crate::pg::rows::{self, LeaseRow};
use crate::pg::{clock, identity, settings};
use crate::rules::access::Right;
use crate::rules::change::Why;
use crate::rules::lease::{KeepToken, Terms};
use crate::rules::pass::{Due, Held, Passer, Step};
use crate::rules::refusal::{self, Code, Refusal, Result};
use crate::rules::roster::{self, Heard, Member, Patience, Roster};
use crate::rules::time::{MINUS_INFINITY, Micros};
use crate::rules::{name, shard};
use std::collections::HashSet;
use std::rc::Rc;

/// The most leases that change hands in one pass: each holds a lock to the end of the transaction.
/// The next pass goes on.
const MOST_CHANGES: usize = 1_000;
const MOST_SINGLETONS: usize = 1_000;

/// What the caller of a pass asks for.
struct Asked {
    who: Who,
    ttl_ms: i32,
    live_for_ms: i32,
    shards: u32,
    singletons: Vec<String>,
    skew_us: i64,
}

impl Asked {
    fn read(args: &Args) -> Result<Self> {
        Ok(Self {
            who: Who::read(args)?,
            ttl_ms: args.ttl_ms(3)?,
            live_for_ms: args.span_ms(4, "live_for")?,
            shards: shard::check_shards(args.integer(5, "shards")?)?,
            singletons: singletons_argument(args, 6)?,
            skew_us: skew(args.optional_bigint(7))?,
        })
    }

    fn patience(&self) -> Patience {
        let micros = |ms: i32| Micros::from(ms) * 1_000;
        Patience { ttl: micros(self.ttl_ms), live_for: micros(self.live_for_ms) }
    }
}

fn singletons_argument(args: &Args, index: usize) -> Result<Vec<String>> {
    let mut names = args.texts(index, "singletons")?;
    if names.len() > MOST_SINGLETONS {
        return Err(refusal::too_many("singletons", MOST_SINGLETONS, names.len()));
    }
    for name in &names {
        name::check_lease(name)?;
        if roster::is_shard_lease(name) {
            return Err(refusal::not_a_singleton(name));
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// How far the client's clock is ahead, if that is worth recording; otherwise 0.
fn skew(client_now: Option<i64>) -> Result<i64> {
    let Some(client) = client_now else { return Ok(0) };
    if client == i64::MIN || client == i64::MAX {
        return Err(refusal::bad_client_time());
    }
    Ok(worth_recording(client.saturating_sub(clock::now())))
}

fn worth_recording(micros: i64) -> i64 {
    let most = settings::max_clock_skew_us().unsigned_abs();
    if micros.unsigned_abs() > most { micros } else { 0 }
}

pub fn pass(args: &Args) -> Result<PassAnswer> {
    let asked = Asked::read(args)?;
    check_writable("lease_worker_pass")?;
    let now = moment();
    let members: Vec<Member> = members::all().into_iter().map(|row| row.member).collect();
    let began = roster::began(&members, &asked.who.fleet, now);
    let roster = Roster::new(members, now);
    check_place(&asked, &roster)?;
    check_rights(&asked)?;
    let own = lock_own(&asked.who)?;
    let passer = Passer {
        owner: &asked.who.owner,
        is_new: own.as_ref().is_none_or(|own| own.row.member.foreign),
        roster: &roster,
        patience: asked.patience(),
    };
    let mut work = Work { asked: &asked, passer: &passer, changes: 0, passed: Vec::new() };
    let before = own.as_ref().filter(|_| !passer.is_new);
    let before = before.map(|own| (own.held.clone(), own.singletons.clone()));
    let (held, singletons) = before.unwrap_or_default();
    work.run(&held, &singletons)?;
    let passed = work.answer(&held, &singletons);
    write_own(&asked, own, &roster, Heard { at: now.steady, server: now.server, began }, &passed);
    for owner in roster.forgotten(&asked.who.fleet, asked.patience()) {
        if owner != asked.who.owner {
            members::delete(&owner);
        }
    }
    Ok(PassAnswer { owner: asked.who.owner, now: clock::now(), passed })
}

/// Refuses a pass that has no place in the fleet.
fn check_place(asked: &Asked, roster: &Roster) -> Result<()> {
    let Who { fleet, worker, owner } = &asked.who;
    if let Some(seen) = roster.get(owner).filter(|seen| seen.member.fleet != *fleet) {
        return Err(refusal::worker_elsewhere(owner, &seen.member.fleet));
    }
    let mut of_worker = roster.live(fleet, asked.patience()).filter(|s| s.worker() == worker);
    check_role(of_worker.any(|seen| seen.member.foreign), owner)?;
    if let Some(newer) = roster.newer_than(fleet, owner) {
        return Err(refusal::fenced(owner, &newer.member.owner));
    }
    let mut others = roster.live(fleet, asked.patience()).filter(|seen| seen.worker() != worker);
    match others.find(|seen| seen.member.shards != asked.shards) {
        None => Ok(()),
        Some(other) => {
            let there = other.member.shards;
            Err(refusal::other_shards(fleet, there, asked.shards, &other.member.owner))
        }
    }
}

/// Asks for the rights on all leases of the fleet, before any is looked at.
fn check_rights(asked: &Asked) -> Result<()> {
    let shards = (0..asked.shards).map(|s| roster::shard_lease(&asked.who.fleet, s));
    let mut names = shards.chain(asked.singletons.iter().cloned());
    names.try_for_each(|name| access::check(&key(&name), Right::Use))
}

/// Locks the worker's row, or its name where there is no row yet.
fn lock_own(who: &Who) -> Result<Option<Own>> {
    let key = key(&who.owner);
    let busy = || refusal::worker_busy(&who.owner);
    let mut found = members::lock(&key);
    if matches!(found, Found::Missing) {
        if !locks::try_lock(Tag::of_name(Class::Worker, key.hash), locks::CHANGE) {
            return Err(busy());
        }
        // somebody else may have made it before we had the lock
        found = members::lock(&key);
    }
    match found {
        Found::Missing => Ok(None),
        Found::Own(own) => Ok(Some(*own)),
        Found::Busy => Err(busy()),
    }
}

/// A lease that the pass looks at.
struct Item {
    key: Rc<Key>,
    shard: Option<u32>,
    due: Due,
}

struct Work<'a> {
    asked: &'a Asked,
    passer: &'a Passer<'a>,
    /// How many leases have changed hands.
    changes: usize,
    passed: Vec<Passed>,
}

impl Work<'_> {
    /// The leases that concern the worker, in the global order of names: all shards, those and the
    /// singletons that it held, the singletons that it would have.
    fn items(&self, held: &Held, singletons: &[String]) -> Vec<Item> {
        let Asked { who, shards, singletons: wanted, .. } = self.asked;
        let shard = |shard, due| {
            let key = key(&roster::shard_lease(&who.fleet, shard));
            Item { key, shard: Some(shard), due }
        };
        let single = |name: &String, due| Item { key: key(name), shard: None, due };
        let dues = self.passer.dues(&who.fleet, *shards);
        let mut items: Vec<Item> = (0..).zip(dues).map(|(s, due)| shard(s, due)).collect();
        items.extend(held.all().filter(|s| s >= shards).map(|s| shard(s, Due::Other)));
        items.extend(wanted.iter().map(|name| single(name, Due::Me)));
        let dropped = singletons.iter().filter(|name| !wanted.contains(name));
        items.extend(dropped.map(|name| single(name, Due::Other)));
        items.sort_by(|a, b| a.key.name.cmp(&b.key.name));
        items
    }

    fn run(&mut self, held: &Held, singletons: &[String]) -> Result<()> {
        let items = self.items(held, singletons);
        let rows = rows::leases(items.iter().map(|item| &item.key));
        let (now, home) = (clock::now(), identity::home());
        for (item, row) in items.iter().zip(rows) {
            let lease = row.as_ref().map(|row| row.as_lease(home));
            match self.passer.step(item.due, lease.as_ref(), now) {
                Step::Leave => {}
                Step::Keep => self.keep(item, row.as_ref())?,
                step => self.change(step, item, row.as_ref())?,
            }
        }
        Ok(())
    }

    fn keep(&mut self, item: &Item, row: Option<&LeaseRow>) -> Result<()> {
        let Some(row) = row else { return Ok(()) };
        let (owner, ttl_ms) = (&self.asked.who.owner, self.asked.ttl_ms);
        let renewal = Renewing { owner, token: row.token, ttl_ms, progress: None };
        let expires_at = match renew_one(&item.key, &renewal, 0)? {
            Renewal::Renewed(answer) => answer.expires_at,
            Renewal::Stalled(row) if row.expires_at <= clock::now() => {
                return self.change(Step::Take, item, Some(&row));
            }
            Renewal::Busy(_) | Renewal::Stalled(_) => Some(row.expires_at),
            Renewal::Lost(_) => return Ok(()),
        };
        self.say(item, Change::Kept, Some(row.token), expires_at);
        Ok(())
    }

    /// Does what ends a token or begins one, up to the most that one pass may do.
    fn change(&mut self, step: Step, item: &Item, row: Option<&LeaseRow>) -> Result<()> {
        let may = self.changes < MOST_CHANGES;
        self.changes += 1;
        match (step, row) {
            (Step::LetGo, Some(row)) => {
                let gone = may && self.let_go(item, &self.asked.who.owner, row, Why::Released)?;
                let expires_at = (!gone).then_some(row.expires_at);
                let change = if gone { Change::Released } else { Change::Kept };
                self.say(item, change, Some(row.token), expires_at);
            }
            (Step::EndFormer { take }, Some(row)) if may => {
                let former = row.owner.clone().unwrap_or_default();
                if self.let_go(item, &former, row, Why::Fenced)? && take {
                    self.take(item)?;
                }
            }
            (Step::Take, _) if may => self.take(item)?,
            _ => {}
        }
        Ok(())
    }

    /// Ends the token of `owner`, unless the lease is busy or no longer its own.
    fn let_go(&self, item: &Item, owner: &str, row: &LeaseRow, why: Why) -> Result<bool> {
        match release_one(&item.key, owner, row.token, 0, why) {
            Ok(answer) => Ok(answer.status == Status::Released),
            Err(refusal) if refusal.code == Code::Busy => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    fn take(&mut self, item: &Item) -> Result<()> {
        let Asked { who, ttl_ms, .. } = self.asked;
        let keep = KeepToken::Never;
        let terms = Terms::only(*ttl_ms);
        let wish = Wish { owner: &who.owner, terms, sets_terms: false, keep, wait_ms: 0 };
        let answer = match acquire_one(&item.key, &wish) {
            Err(refusal) if refusal.code == Code::Busy => {
                return self.refuse_old_token(item, refusal);
            }
            answer => answer?,
        };
        let change = if item.due == Due::Orphan { Change::Orphan } else { Change::Gained };
        if answer.token.is_some() {
            self.say(item, change, answer.token, answer.expires_at);
        }
        Ok(())
    }

    /// A worker that begins again waits until its old tokens can be ended.
    fn refuse_old_token(&self, item: &Item, busy: Refusal) -> Result<()> {
        let row = rows::lease(&item.key);
        let mine = row.is_some_and(|row| row.owner.as_deref() == Some(&self.asked.who.owner));
        if mine { Err(busy) } else { Ok(()) }
    }

    fn say(&mut self, item: &Item, change: Change, token: Option<i64>, expires: Option<Micros>) {
        self.passed.push(Passed {
            shard: item.shard,
            name: item.key.name.clone(),
            token,
            expires_at: expires,
            change,
        });
    }

    /// What was done, by shard, and what the worker held before and does not find any more.
    fn answer(mut self, held: &Held, singletons: &[String]) -> Vec<Passed> {
        let said: HashSet<String> = self.passed.iter().map(|p| p.name.clone()).collect();
        let fleet = &self.asked.who.fleet;
        let shards = held.all().map(|s| (Some(s), roster::shard_lease(fleet, s)));
        let singletons = singletons.iter().map(|name| (None, name.clone()));
        let lost = shards.chain(singletons).filter(|(_, name)| !said.contains(name));
        self.passed.extend(lost.map(|(shard, name)| Passed::lost(shard, name)));
        self.passed.sort_by(|a, b| {
            (a.shard.is_none(), a.shard, &a.name).cmp(&(b.shard.is_none(), b.shard, &b.name))
        });
        self.passed
    }
}

/// Writes the worker's heartbeat, and what it holds now.
fn write_own(asked: &Asked, own: Option<Own>, roster: &Roster, heard: Heard, passed: &[Passed]) {
    let Who { fleet, worker, owner } = &asked.who;
    let has = |p: &&Passed| p.change.holds();
    let mut held = Held::default();
    passed.iter().filter(has).filter_map(|p| p.shard).for_each(|shard| held.add(shard));
    let singles = passed.iter().filter(has).filter(|p| p.shard.is_none());
    let singletons: Vec<String> = singles.map(|p| p.name.clone()).collect();
    let now = clock::now();
    let before = own.as_ref().map(|own| &own.row);
    let term = before.map_or_else(|| roster.next_term(fleet, worker), |row| row.member.term);
    let (jump_us, jumped_at) = before.map_or((0, MINUS_INFINITY), |row| jump(row, heard, now));
    let (owner, fleet) = (owner.clone(), fleet.clone());
    let row = WorkerRow {
        member: Member { owner, fleet, term, heard, shards: asked.shards, foreign: false },
        heartbeat_at: now,
        skew_us: asked.skew_us,
        jump_us,
        jumped_at,
        ttl_ms: asked.ttl_ms,
        live_for_ms: asked.live_for_ms,
    };
    match own {
        Some(mut own) => {
            (own.row, own.singletons, own.held) = (row, singletons, held);
            members::update(&own);
        }
        None => members::insert(row, singletons, held),
    }
}

/// By how much the clock that leases expire by has jumped since the worker's last pass, or before.
fn jump(before: &WorkerRow, heard: Heard, now: Micros) -> (i64, Micros) {
    let last = before.member.heard;
    if last.server != heard.server {
        return (before.jump_us, before.jumped_at);
    }
    let by_clock = now.saturating_sub(before.heartbeat_at);
    let jump = worth_recording(by_clock.saturating_sub(heard.at.saturating_sub(last.at)));
    if jump == 0 { (before.jump_us, before.jumped_at) } else { (jump, now) }
}
