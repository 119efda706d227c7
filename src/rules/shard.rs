//! Which shard a key is in, and which worker a shard goes to, as Better Compute computes them.
//! Whoever knows the same workers comes to the same answer, with nobody to ask.

use super::name;
use super::refusal::{self, Result};

pub const MOST_SHARDS: u32 = 65_536;

/// Separates a worker's name from what is appended to it, so no worker's name has it.
pub const SEPARATOR: char = '#';

pub fn check_shards(shards: i32) -> Result<u32> {
    let fits = u32::try_from(shards).ok().filter(|n| (1..=MOST_SHARDS).contains(n));
    fits.ok_or_else(|| refusal::bad_shards(shards))
}

pub fn check_shard(shard: i32) -> Result<u32> {
    let fits = u32::try_from(shard).ok().filter(|n| *n < MOST_SHARDS);
    fits.ok_or_else(|| refusal::bad_shard(shard))
}

/// The workers that shards are shared among: at least one, each with a name.
pub fn check_workers(workers: &[String]) -> Result<()> {
    if workers.is_empty() {
        return Err(refusal::no_workers());
    }
    workers.iter().try_for_each(|worker| check_worker(worker))
}

/// Accepts 1 to 200 characters without control characters and without #.
pub fn check_worker(worker: &str) -> Result<()> {
    if name::check_owner(worker).is_ok() && !worker.contains(SEPARATOR) {
        return Ok(());
    }
    Err(refusal::bad_worker(worker))
}

/// The shard of a key: FNV-1a of its UTF-8 bytes, modulo the number of shards.
pub fn shard_of(key: &[u8], shards: u32) -> u32 {
    fnv32(FNV_OFFSET, key) % shards
}

/// For each shard from 0 the index of its owner: the worker with the highest hash, and of equal ones
/// the one whose name comes first in order of bytes. There is at least one worker.
pub fn owners(workers: &[&str], shards: std::ops::Range<u32>) -> Vec<usize> {
    let begun: Vec<u32> = workers.iter().map(|worker| begin(worker)).collect();
    let owner = |shard: u32| {
        let digits = shard.to_string();
        let hash = |at: usize| mix(fnv32(begun[at], digits.as_bytes()));
        let better = |(best, highest), at| match hash(at) {
            higher if higher > highest => (at, higher),
            equal if equal == highest && workers[at] < workers[best] => (at, equal),
            _ => (best, highest),
        };
        (1..workers.len()).fold((0, hash(0)), better).0
    };
    shards.map(owner).collect()
}

const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

fn fnv32(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// The part of `<worker>#<shard>` that is the same for all shards.
fn begin(worker: &str) -> u32 {
    fnv32(fnv32(FNV_OFFSET, worker.as_bytes()), &[SEPARATOR as u8])
}

/// The finalizer of murmur3.
fn mix(hash: u32) -> u32 {
    let hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hash32(worker: &str, shard: u32) -> u32 {
        mix(fnv32(begin(worker), shard.to_string().as_bytes()))
    }

    #[test]
    fn the_hashes_match_their_published_vectors() {
        for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv32(FNV_OFFSET, text.as_bytes()), hash, "{text}");
        }
        assert_eq!((mix(0), mix(1)), (0, 0x514e_28b7));
    }

    #[test]
    fn a_key_has_the_shard_that_better_compute_gives_it() {
        for (key, shard) in [("node-1", 131), ("pool-7", 231), ("", 197), ("é", 193)] {
            assert_eq!(shard_of(key.as_bytes(), 256), shard, "{key}");
        }
        assert_eq!(hash32("w1", 0), 1_255_990_409);
        assert_eq!(hash32("scheduler/w1", 7), 4_246_386_004);
    }

    #[test]
    fn bad_numbers_and_names_are_refused() {
        for shards in [0, -1, 65_537, i32::MAX, i32::MIN] {
            assert!(check_shards(shards).is_err(), "{shards}");
        }
        assert_eq!((check_shards(1), check_shards(65_536)), (Ok(1), Ok(65_536)));
        assert!(check_shard(-1).is_err() && check_shard(65_536).is_err());
        for workers in [vec![], vec![""], vec!["a", "b#c"], vec!["a\n"]] {
            let workers: Vec<String> = workers.into_iter().map(str::to_owned).collect();
            assert!(check_workers(&workers).is_err(), "{workers:?}");
        }
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::hash_set("[a-z0-9-]{1,12}", 2..12)
            .prop_map(|names| names.into_iter().collect())
    }

    fn owned(workers: &[String]) -> Vec<String> {
        let workers: Vec<&str> = workers.iter().map(String::as_str).collect();
        owners(&workers, 0..256).into_iter().map(|at| workers[at].to_owned()).collect()
    }

    proptest! {
        /// A worker that leaves moves its own shards only, so one that joins takes from the others
        /// and moves nothing between them; in what order they are named makes no difference.
        #[test]
        fn one_worker_more_or_less_moves_its_own_shards_only(workers in names()) {
            let (leaver, all) = (&workers[0], owned(&workers));
            for (before, after) in all.iter().zip(owned(&workers[1..])) {
                prop_assert!(before == leaver || *before == after);
            }
            let mut turned = workers.clone();
            turned.rotate_left(1);
            turned.push(workers[0].clone());
            prop_assert_eq!(owned(&turned), all);
        }
    }
}
