//! lease_shard_of, lease_shard_owner and lease_shard_owners: plain functions of their arguments.

use crate::pg::call::{Args, Text};
use crate::pg::fleet_rows::ShardOwner;
use crate::rules::refusal::Result;
use crate::rules::shard;

pub fn shard_of(args: &Args) -> Result<i32> {
    let key = args.utf8(0, "key")?;
    let shards = shard::check_shards(args.integer(1, "shards")?)?;
    Ok(shard::shard_of(key, shards) as i32)
}

pub fn shard_owner(args: &Args) -> Result<Text> {
    let number = shard::check_shard(args.integer(0, "shard")?)?;
    let workers = workers_argument(args, 1)?;
    let owners = owners(&workers, number..number + 1);
    Ok(Text(owners[0].to_owned()))
}

/// All owners in one call: each worker's name is hashed once, not once a shard.
pub fn shard_owners(args: &Args) -> Result<Vec<ShardOwner>> {
    let workers = workers_argument(args, 0)?;
    let shards = shard::check_shards(args.integer(1, "shards")?)?;
    let owners = owners(&workers, 0..shards).into_iter();
    Ok((0..)
        .zip(owners)
        .map(|(shard, owner)| ShardOwner { shard, owner: owner.to_owned() })
        .collect())
}

fn workers_argument(args: &Args, index: usize) -> Result<Vec<String>> {
    let workers = args.texts(index, "workers")?;
    shard::check_workers(&workers)?;
    Ok(workers)
}

fn owners(workers: &[String], shards: std::ops::Range<u32>) -> Vec<&str> {
    let workers: Vec<&str> = workers.iter().map(String::as_str).collect();
    shard::owners(&workers, shards).into_iter().map(|at| workers[at]).collect()
}
