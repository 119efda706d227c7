//! Counting readings: which there were before a night, and which are left.

use crate::watch::Watch;
use anyhow::Result;
use galewatch::night::Counts;
use postgres::Client;
use std::collections::{BTreeMap, BTreeSet};

/// A reading is a turbine at an instant, however often it is stored.
const COUNT: &str = "
SELECT turbine_id, count(*), count(DISTINCT at) FROM readings GROUP BY turbine_id";
const INSTANTS: &str = "
SELECT DISTINCT (extract(epoch FROM at) * 1e6)::bigint FROM readings WHERE turbine_id = $1";

/// Of each turbine: how many rows, and how many different readings.
type Stock = BTreeMap<String, (u64, u64)>;

/// What there was before the night.
pub struct Ledger(Stock);

impl Ledger {
    pub fn open(watch: &mut Watch) -> Result<Self> {
        Ok(Self(stock(&mut watch.shard1)?))
    }

    /// Counts both shards after the night.
    pub fn close(&self, watch: &mut Watch, meeting: &str) -> Result<Counts> {
        let after = [stock(&mut watch.shard1)?, stock(&mut watch.shard3)?];
        let mut counts = Counts::default();
        for (turbine, (_, before)) in &self.0 {
            let [on1, on3] = [&after[0], &after[1]].map(|stock| stock.get(turbine).copied());
            let (on1, on3) = (on1.unwrap_or_default(), on3.unwrap_or_default());
            let left = if on1.1 > 0 && on3.1 > 0 { union(watch, turbine)? } else { on1.1 + on3.1 };
            counts.before += before;
            counts.lost += before.saturating_sub(left);
            counts.doubled += (on1.0 + on3.0).saturating_sub(left);
            if turbine == meeting {
                (counts.of_turbine, counts.on_shard1, counts.on_shard3) = (*before, on1.0, on3.0);
            }
        }
        Ok(counts)
    }
}

fn stock(shard: &mut Client) -> Result<Stock> {
    let mut stock = Stock::new();
    for row in shard.query(COUNT, &[])? {
        let (rows, readings): (i64, i64) = (row.get(1), row.get(2));
        stock.insert(row.get(0), (u64::try_from(rows)?, u64::try_from(readings)?));
    }
    Ok(stock)
}

/// How many different readings both shards have of a turbine together.
fn union(watch: &mut Watch, turbine: &str) -> Result<u64> {
    let mut instants = BTreeSet::new();
    for shard in [&mut watch.shard1, &mut watch.shard3] {
        let rows = shard.query(INSTANTS, &[&turbine])?;
        instants.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
    }
    Ok(u64::try_from(instants.len())?)
}
