//! The shards and their owners are those of `pg_test/vectors/shards.json`, which was computed from
//! the definitions and not by this extension.

use anyhow::{Result, ensure};
use system_tests::shared::Shared;

static SERVER: Shared = Shared::new();
const VECTORS: &str = include_str!("../../vectors/shards.json");

#[test]
fn keys_and_owners_match_the_vectors() -> Result<()> {
    let (_, mut client) = SERVER.database("vectors")?;
    let wrong = "
        WITH v AS (SELECT $1::text::jsonb AS v)
        SELECT key || ': ' || value FROM v, jsonb_each(v->'shard_of')
        WHERE lease_shard_of(key) <> value::integer
        UNION ALL
        SELECT case_->>'workers' || ' ' || shard || ': ' || given.owner
        FROM v, jsonb_array_elements(v->'owner') AS case_,
             LATERAL (SELECT array_agg(w) FROM jsonb_array_elements_text(case_->'workers') AS w)
                 AS a (workers),
             lease_shard_owners(workers) AS given
        WHERE given.owner <> case_->'owners'->>shard
           OR lease_shard_owner(shard, workers) <> given.owner";
    let wrong: Vec<String> = client.query(wrong, &[&VECTORS])?.iter().map(|r| r.get(0)).collect();
    ensure!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// Breaks if the bytes of the database's own encoding were hashed.
#[test]
fn a_key_has_one_shard_in_every_encoding() -> Result<()> {
    let server = SERVER.server()?;
    server.execute("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")?;
    server.create_extension("latin")?;
    let mut client = server.connect("latin")?;
    let shard: i32 = client.query_one("SELECT lease_shard_of('é')", &[])?.get(0);
    ensure!(shard == 193, "{shard}");
    Ok(())
}
