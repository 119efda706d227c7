//! Two servers, and on them three databases that are made anew for each night.

use anyhow::{Context, Result};
use rig::Server;

const ROUTING: &str = include_str!("../../sql/routing.sql");
const READINGS: &str = include_str!("../../sql/readings.sql");
const FILL: &str = include_str!("../../sql/fill.sql");
const SHARD: &str = include_str!("../../sql/shard.sql");
const GUARD: &str = include_str!("../../sql/guard.sql");

/// The database that each night's shard 1 is a copy of.
const FILLED: &str = "filled";
pub const ROUTING_DB: &str = "routing";
pub const SHARD_1: &str = "shard1";
pub const SHARD_3: &str = "shard3";

pub struct Stage {
    pub routing: Server,
    pub shards: Server,
}

impl Stage {
    /// Starts both servers and writes the readings that are to move.
    pub fn set(readings: i32) -> Result<Self> {
        eprintln!("demo: starting two servers, routing on one and the shards on the other");
        let routing = Server::builder("routing").conf("shared_buffers = '16MB'").start()?;
        let shards = Server::builder("shards").conf("autovacuum = off").start()?;
        for server in [&routing, &shards] {
            server.execute("postgres", "CREATE ROLE mover LOGIN")?;
        }
        eprintln!("demo: writing 133 turbines with {readings} readings each to shard 1");
        shards.create_database(FILLED)?;
        let mut filled = shards.connect(FILLED)?;
        filled.batch_execute(READINGS)?;
        filled.execute(FILL, &[&readings]).context("cannot write the readings")?;
        filled.batch_execute("VACUUM (ANALYZE, FREEZE) readings")?;
        Ok(Self { routing, shards })
    }

    /// Makes the three databases anew. What the guard changes is all that differs between nights.
    pub fn prepare(&self, guarded: bool) -> Result<()> {
        fresh(&self.routing, ROUTING_DB, "template1")?;
        self.routing.execute(ROUTING_DB, ROUTING)?;
        fresh(&self.shards, SHARD_1, FILLED)?;
        fresh(&self.shards, SHARD_3, "template1")?;
        self.shards.execute(SHARD_3, READINGS)?;
        for shard in [SHARD_1, SHARD_3] {
            self.shards.execute(shard, SHARD)?;
            if guarded {
                self.shards.execute(shard, GUARD)?;
            }
        }
        Ok(())
    }

    /// Who held the lease in this night: as lines for a terminal, and as a picture.
    pub fn handovers(&self) -> Result<(Vec<String>, String)> {
        let mut routing = self.routing.connect(ROUTING_DB)?;
        let lines = routing.query("SELECT lease_timeline('mover')", &[])?;
        let svg = routing.query_one("SELECT lease_timeline_svg('mover')", &[])?;
        Ok((lines.iter().map(|row| row.get(0)).collect(), svg.get(0)))
    }

    /// The connection strings that a mover is started with.
    pub fn for_movers(&self) -> [String; 3] {
        let places =
            [(&self.routing, ROUTING_DB), (&self.shards, SHARD_1), (&self.shards, SHARD_3)];
        places.map(|(server, database)| {
            format!("host={} port={} user=mover dbname={database}", server.host(), server.port())
        })
    }
}

fn fresh(server: &Server, name: &str, template: &str) -> Result<()> {
    server.execute("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
    server.execute("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template}"))
}
