//! Whatever workers do, however clocks jump and servers start again: no pass takes a lease that is
//! live, or whose holder has been heard within a ttl, and the fleet comes to rest as computed.

use super::lease::{Acquire, KeepToken, Lease, State, acquire};
use super::pass::{Due, Passer, Step};
use super::progress::Progress;
use super::roster::{Heard, Member, Moment, Patience, Roster, began, parts};
use super::shard;
use super::time::expiry;
use proptest::prelude::*;

const FLEET: &str = "controllers";
const WORKERS: [&str; 4] = ["a", "b", "c", "d"];
const SHARDS: u32 = 16;
const TTL_MS: i32 = 15_000;
const PATIENCE: Patience = Patience { ttl: 15_000_000, live_for: 30_000_000 };

#[derive(Clone, Debug)]
enum Event {
    Pass {
        worker: usize,
    },
    /// The worker starts again, as another incarnation.
    Restart {
        worker: usize,
    },
    Leave {
        worker: usize,
    },
    Time {
        passes: i64,
    },
    Jump {
        by: i64,
    },
    ServerStarts,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        10 => (0..4usize).prop_map(|worker| Event::Pass { worker }),
        1 => (0..4usize).prop_map(|worker| Event::Restart { worker }),
        1 => (0..4usize).prop_map(|worker| Event::Leave { worker }),
        6 => (0..12_000_000i64).prop_map(|passes| Event::Time { passes }),
        1 => (-100_000_000_000..100_000_000_000i64).prop_map(|by| Event::Jump { by }),
        1 => Just(Event::ServerStarts),
    ];
    proptest::collection::vec(event, 1..80)
}

#[derive(Default)]
struct World {
    now: i64,
    steady: i64,
    server: i64,
    minted: i64,
    members: Vec<Member>,
    leases: Vec<Option<Lease>>,
    incarnations: [u32; 4],
    /// When each owner last passed, by a clock of the test's own.
    heard: Vec<(String, i64)>,
    elapsed: i64,
}

impl World {
    fn moment(&self) -> Moment {
        Moment { steady: self.steady, server: self.server }
    }

    fn owner(&self, worker: usize) -> String {
        format!("{}#{}", WORKERS[worker], self.incarnations[worker])
    }

    /// What lease_worker_pass does, on plain values.
    fn pass(&mut self, worker: usize) {
        let (owner, now) = (self.owner(worker), self.moment());
        let began = began(&self.members, FLEET, now);
        let roster = Roster::new(self.members.clone(), now);
        let is_new = roster.get(&owner).is_none();
        let passer = Passer { owner: &owner, is_new, roster: &roster, patience: PATIENCE };
        let dues = passer.dues(FLEET, SHARDS);
        for (at, due) in dues.into_iter().enumerate() {
            let step = passer.step(due, self.leases[at].as_ref(), self.now);
            self.check(&owner, at, due, step);
            self.carry_out(&owner, at, step);
        }
        let term = roster.get(&owner).map(|seen| seen.member.term);
        let term = term.unwrap_or_else(|| roster.next_term(FLEET, WORKERS[worker]));
        self.members.retain(|member| member.owner != owner);
        let heard = Heard { at: now.steady, server: now.server, began };
        let (shards, foreign, fleet) = (SHARDS, false, FLEET.to_owned());
        self.members.push(Member { owner: owner.clone(), fleet, term, heard, shards, foreign });
        self.heard.retain(|(other, _)| parts(other).0 != WORKERS[worker]);
        self.heard.push((owner, self.elapsed));
    }

    fn check(&self, owner: &str, at: usize, due: Due, step: Step) {
        let Some(lease) = &self.leases[at] else { return };
        let Some(holder) = lease.owner.as_deref() else { return };
        if parts(holder).0 == parts(owner).0 {
            return;
        }
        assert!(!matches!(step, Step::Keep | Step::LetGo), "{step:?} of {holder}'s by {owner}");
        let heard = self.heard.iter().find(|(other, _)| other == holder);
        let awaited = heard.is_some_and(|(_, at)| self.elapsed - at <= PATIENCE.ttl);
        let impossible = lease.expires_at > expiry(self.now, lease.ttl_ms);
        if awaited && !impossible {
            assert_ne!(step, Step::Take, "{owner} takes shard {at} ({due:?}) from {holder}");
        }
    }

    fn carry_out(&mut self, owner: &str, at: usize, step: Step) {
        let now = self.now;
        let free = |lease: &mut Lease| (lease.owner, lease.expires_at) = (None, i64::MIN);
        match (step, self.leases[at].as_mut()) {
            (Step::Keep, Some(lease)) => lease.expires_at = expiry(now, TTL_MS),
            (Step::LetGo, Some(lease)) => free(lease),
            (Step::EndFormer { take }, Some(lease)) => {
                free(lease);
                if take {
                    self.take(owner, at);
                }
            }
            (Step::Take, _) => self.take(owner, at),
            _ => {}
        }
    }

    fn take(&mut self, owner: &str, at: usize) {
        let now = self.now;
        match acquire(self.leases[at].as_ref(), owner, KeepToken::Never, now) {
            Acquire::Grant => {
                self.minted += 1;
                let (token, expires_at, ttl_ms) = (self.minted, expiry(now, TTL_MS), TTL_MS);
                let owner = Some(owner.to_owned());
                self.leases[at] = Some(Lease {
                    token,
                    expires_at,
                    ttl_ms,
                    quiet_ms: 0,
                    work: Progress::begun(0, now),
                    owner,
                    void: false,
                    foreign: false,
                });
            }
            Acquire::PullIn => {
                if let Some(lease) = self.leases[at].as_mut() {
                    lease.expires_at = expiry(now, lease.ttl_ms);
                }
            }
            Acquire::Keep | Acquire::Held | Acquire::Stalled | Acquire::Quiet => {}
        }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Pass { worker } => self.pass(worker),
            Event::Restart { worker } => {
                self.incarnations[worker] += 1;
                self.pass(worker);
            }
            Event::Leave { worker } => {
                for at in 0..self.leases.len() {
                    let owner = self.owner(worker);
                    let mine = self.leases[at].as_ref().is_some_and(|l| l.owner == Some(owner));
                    if mine {
                        self.carry_out("", at, Step::LetGo);
                    }
                }
                self.members.retain(|member| parts(&member.owner).0 != WORKERS[worker]);
                self.heard.retain(|(other, _)| parts(other).0 != WORKERS[worker]);
            }
            Event::Time { passes } => {
                (self.now, self.steady) = (self.now + passes, self.steady + passes);
                self.elapsed += passes;
            }
            Event::Jump { by } => self.now += by,
            Event::ServerStarts => (self.server, self.steady) = (self.server + 1, 7_000_000),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_taken_from_who_lives_and_the_fleet_comes_to_rest(
        events in events(),
        survivors in proptest::sample::subsequence(vec![0, 1, 2, 3], 1..=4),
    ) {
        let mut world = World { leases: vec![None; SHARDS as usize], ..World::default() };
        for event in &events {
            world.happen(event);
        }
        // much longer than live_for, in which the survivors go on passing
        for _ in 0..20 {
            survivors.iter().for_each(|worker| world.pass(*worker));
            world.happen(&Event::Time { passes: 5_000_000 });
        }
        let workers: Vec<&str> = survivors.iter().map(|worker| WORKERS[*worker]).collect();
        let owners = shard::owners(&workers, 0..SHARDS);
        for (lease, owner) in world.leases.iter().zip(owners) {
            let held = lease.as_ref().is_some_and(|lease| lease.state(world.now) == State::Held);
            let holder = lease.as_ref().and_then(|lease| lease.owner.as_deref());
            prop_assert!(held);
            prop_assert_eq!(holder.map(|holder| parts(holder).0), Some(workers[owner]));
        }
    }
}
