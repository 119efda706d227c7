//! Where in a growing list the items of a lease are. A transaction that works under one lease or a
//! few looks through the list; one that works under thousands finds them by their hash.

use std::collections::HashMap;

/// Lists up to this length are looked through.
const FEW: usize = 16;

/// Follows one list, which grows at its end. Whoever takes items off the end must say so with `keep`.
pub struct Positions(Option<Chains>);

/// The items of each hash, from the last to the first.
#[derive(Default)]
struct Chains {
    last: HashMap<u64, usize>,
    /// Of each item its hash, and where the one before it with that hash is.
    previous: Vec<(u64, Option<usize>)>,
}

impl Positions {
    pub const fn new() -> Self {
        Self(None)
    }

    /// The list has this length now.
    pub fn keep(&mut self, length: usize) {
        let Some(chains) = self.0.as_mut().filter(|_| length > FEW) else {
            self.0 = None;
            return;
        };
        for (hash, previous) in chains.previous.drain(length.min(chains.previous.len())..).rev() {
            match previous {
                Some(at) => chains.last.insert(hash, at),
                None => chains.last.remove(&hash),
            };
        }
    }

    /// The last item with this hash that is `wanted`.
    pub fn find_last<'a, T>(
        &mut self,
        list: &'a [T],
        hash: u64,
        hash_of: impl Fn(&T) -> u64,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<&'a T> {
        if list.len() <= FEW {
            return list.iter().rev().find(|item| hash_of(item) == hash && wanted(item));
        }
        let chains = self.0.get_or_insert_default();
        for (at, item) in list.iter().enumerate().skip(chains.previous.len()) {
            let hash = hash_of(item);
            chains.previous.push((hash, chains.last.insert(hash, at)));
        }
        let mut next = chains.last.get(&hash).copied();
        while let Some(at) = next {
            if let Some(item) = list.get(at).filter(|item| wanted(item)) {
                return Some(item);
            }
            next = chains.previous.get(at).and_then(|(_, previous)| *previous);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u64, u8),
        Keep(usize),
        Find(u64, u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..8u64, 0..4u8).prop_map(|(hash, value)| Step::Push(hash, value)),
            1 => (0..60usize).prop_map(Step::Keep),
            3 => (0..8u64, 0..4u8).prop_map(|(hash, value)| Step::Find(hash, value)),
        ]
    }

    proptest! {
        #[test]
        fn it_finds_what_a_look_through_the_list_finds(
            steps in proptest::collection::vec(step(), 0..200)) {
            let (mut list, mut positions) = (Vec::new(), Positions::new());
            for step in steps {
                match step {
                    Step::Push(hash, value) => list.push((hash, value, list.len())),
                    Step::Keep(length) => {
                        list.truncate(length);
                        positions.keep(list.len());
                    }
                    Step::Find(hash, value) => {
                        let wanted = |item: &(u64, u8, usize)| item.1 == value;
                        let found = positions.find_last(&list, hash, |item| item.0, wanted);
                        let there = list.iter().rev().find(|item| item.0 == hash && wanted(item));
                        prop_assert_eq!(found, there);
                    }
                }
            }
        }
    }
}
