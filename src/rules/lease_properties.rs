//! Any sequence of acquires, renewals, releases, restarts and clock steps keeps rules 1 to 3:
//! a live lease never changes hands, tokens only rise, and only a change of hands or a lapse moves
//! them. Nor does anybody get a token in a quiet period, and work that stands still extends nothing.

use super::lease::{
    Acquire, KeepToken, Lease, State, Terms, acquire, incarnation_start, is_held_with,
};
use super::progress::Progress;
use super::time::{MINT_EPOCH, Micros, expiry, token_at};
use proptest::prelude::*;

const OWNERS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Step {
    Acquire {
        owner: usize,
        terms: Terms,
        keep: KeepToken,
    },
    Renew {
        owner: usize,
        ttl_ms: i32,
        progress: Option<i64>,
    },
    RenewOld {
        owner: usize,
        back: i64,
    },
    Release {
        owner: usize,
    },
    Clock {
        by: Micros,
    },
    /// The server starts again, and its mint has forgotten the newest `lost` numbers.
    Restart {
        lost: i64,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keep = prop_oneof![
        Just(KeepToken::WhileLive),
        Just(KeepToken::WhileOwner),
        Just(KeepToken::Never)
    ];
    let off = |most| prop_oneof![Just(0), 1..most];
    let terms = (1..5_000i32, off(9_000i32), off(5_000i32))
        .prop_map(|(ttl_ms, stall_ms, quiet_ms)| Terms { ttl_ms, stall_ms, quiet_ms });
    let step = prop_oneof![
        4 => (0..3usize, terms, keep)
            .prop_map(|(owner, terms, keep)| Step::Acquire { owner, terms, keep }),
        2 => (0..3usize, 1..5_000i32, proptest::option::of(0..3i64))
            .prop_map(|(owner, ttl_ms, progress)| Step::Renew { owner, ttl_ms, progress }),
        1 => (0..3usize, 1..5i64).prop_map(|(owner, back)| Step::RenewOld { owner, back }),
        1 => (0..3usize).prop_map(|owner| Step::Release { owner }),
        3 => (-4_000_000..8_000_000i64).prop_map(|by| Step::Clock { by }),
        1 => (0..3i64).prop_map(|lost| Step::Restart { lost }),
    ];
    proptest::collection::vec(step, 1..60)
}

struct World {
    now: Micros,
    minted: i64,
    highest: i64,
    row: Option<Lease>,
}

impl World {
    fn grant(&mut self, owner: &str, terms: Terms) {
        self.minted += 1;
        self.row = Some(Lease {
            token: self.minted,
            expires_at: expiry(self.now, terms.ttl_ms),
            ttl_ms: terms.ttl_ms,
            quiet_ms: terms.quiet_ms,
            work: Progress::begun(terms.stall_ms, self.now),
            owner: Some(owner.to_owned()),
            void: false,
            foreign: false,
        });
    }

    fn holds(&self, owner: &str, token: i64) -> bool {
        self.row.as_ref().is_some_and(|lease| {
            is_held_with(lease.owner.as_deref(), lease.token, lease.void, owner, token)
        })
    }

    fn extend(&mut self, ttl_ms: i32) {
        let now = self.now;
        if let Some(lease) = self.row.as_mut() {
            (lease.expires_at, lease.ttl_ms) = (expiry(now, ttl_ms), ttl_ms);
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Acquire { owner, terms, keep } => self.acquire(OWNERS[owner], terms, keep),
            Step::Renew { owner, ttl_ms, progress } => {
                let token = self.row.as_ref().map_or(1, |lease| lease.token);
                if self.holds(OWNERS[owner], token)
                    && let Some(lease) = self.row.as_mut()
                    && let Some(work) = lease.work.renewed(progress, self.now)
                {
                    lease.work = work;
                    self.extend(ttl_ms);
                }
            }
            Step::RenewOld { owner, back } => {
                let token = self.row.as_ref().map_or(1, |lease| lease.token) - back;
                assert!(!self.holds(OWNERS[owner], token));
            }
            Step::Release { owner } => {
                let token = self.row.as_ref().map_or(1, |lease| lease.token);
                if self.holds(OWNERS[owner], token)
                    && let Some(lease) = self.row.as_mut()
                {
                    (lease.owner, lease.expires_at) = (None, i64::MIN);
                }
            }
            Step::Clock { by } => self.now += by,
            Step::Restart { lost } => {
                let row = self.row.as_ref().map_or(0, |lease| lease.token);
                // a real second passes between the grants that were lost and the next start
                self.now = self.now.max(MINT_EPOCH + self.highest) + 1_000_000;
                let start = incarnation_start(token_at(self.now), self.minted - lost, row);
                self.minted = start.map_or(i64::MAX, |start| start - 1);
            }
        }
    }

    fn acquire(&mut self, owner: &str, terms: Terms, keep: KeepToken) {
        match acquire(self.row.as_ref(), owner, keep, self.now) {
            Acquire::Grant => self.grant(owner, terms),
            Acquire::Keep => {
                self.extend(terms.ttl_ms);
                if let Some(lease) = self.row.as_mut() {
                    lease.quiet_ms = terms.quiet_ms;
                    lease.work = lease.work.watched(terms.stall_ms, self.now);
                }
            }
            Acquire::Held | Acquire::Stalled | Acquire::Quiet => {}
            Acquire::PullIn => {
                let now = self.now;
                if let Some(lease) = self.row.as_mut() {
                    lease.expires_at = expiry(now, lease.ttl_ms);
                }
            }
        }
    }
}

fn check(before: Option<&Lease>, world: &World, step: &Step) {
    let (Some(old), Some(new)) = (before, world.row.as_ref()) else {
        return;
    };
    let was_live = old.state(world.now) == State::Held;
    let moved = old.owner != new.owner && new.owner.is_some();
    if was_live && old.owner.is_some() {
        assert!(!moved, "rule 1: {step:?} moved a live lease from {old:?} to {new:?}");
    }
    assert!(new.token >= old.token, "rule 2: {step:?} lowered the token");
    if moved {
        assert!(new.token > old.token, "rule 3: {step:?} changed hands under one token");
    }
    if old.state(world.now) == State::Quiet {
        assert_eq!(new.token, old.token, "{step:?} granted a token in the quiet period of {old:?}");
    }
    if old.work.is_stalled(world.now) && new.token == old.token && new.work.value == old.work.value
    {
        assert!(new.expires_at <= old.expires_at, "{step:?} extended stalled work: {old:?}");
    }
    if matches!(step, Step::Renew { .. } | Step::RenewOld { .. } | Step::Release { .. }) {
        assert_eq!(new.token, old.token, "rule 3: {step:?} changed the token");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rules_one_to_three_hold_for_every_sequence(steps in steps()) {
        let start = MINT_EPOCH + 1_000_000_000;
        let mut world = World { now: start, minted: token_at(start), highest: 0, row: None };
        let mut granted = std::collections::HashSet::new();
        for step in &steps {
            let before = world.row.clone();
            world.step(step);
            check(before.as_ref(), &world, step);
            let token = world.row.as_ref().map_or(0, |lease| lease.token);
            if before.map(|lease| lease.token) != world.row.as_ref().map(|lease| lease.token) {
                assert!(granted.insert(token), "rule 2: {token} was granted twice");
                assert!(token > world.highest, "rule 2: {token} after {}", world.highest);
            }
            world.highest = world.highest.max(token);
        }
    }
}
