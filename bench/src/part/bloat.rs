//! Renewals of one lease while somebody keeps an old snapshot open: nothing dead can go.

use crate::bed::Bed;
use crate::op;
use crate::pgbench::Cell;
use crate::report::Section;
use crate::scale::Length;
use crate::target::number;
use anyhow::Result;
use std::path::Path;

const RENEWALS: u32 = 20_000;
const CHUNKS: u32 = 4;

/// How a table stands.
struct Standing {
    updates: i64,
    hot: i64,
    bytes: i64,
}

pub fn measure(bed: &Bed, section: &mut Section) -> Result<()> {
    let chunk = bed.scale.transactions(RENEWALS / CHUNKS);
    let mut old = bed.server.connect("postgres")?;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM lease.lease")?;
    let mut rows = Vec::new();
    for (title, table, text) in [
        ("lease_renew", "lease.lease", op::RENEW.ours()),
        ("plain UPDATE by key", "plain_lease", op::RENEW.plain()),
    ] {
        // one lease only
        let text = text.lines().skip(1).collect::<String>();
        let script = bed.script("bloat", &format!("\\set k 1\n{text}\n"))?;
        let before = standing(bed, table)?;
        let rates = chunks(bed, &script, chunk, title)?;
        let after = standing(bed, table)?;
        let updates = (after.updates - before.updates) as f64;
        let hot = 100.0 * (after.hot - before.hot) as f64 / updates;
        let grown = (after.bytes - before.bytes) as f64 / 1024.0;
        rows.push(vec![title.into(), number(updates), format!("{hot:.1} %"), number(grown), rates]);
    }
    old.batch_execute("COMMIT")?;
    section.heading("Renewals of one lease while an old snapshot is open");
    let heads = ["", "renewals", "HOT", "growth in kB", "calls/s, quarter by quarter"];
    section.table(&heads, rows);
    Ok(())
}

fn chunks(bed: &Bed, script: &Path, each: u32, title: &str) -> Result<String> {
    let mut rates = Vec::new();
    for chunk in 1..=CHUNKS {
        let cell = Cell::new(script.to_path_buf(), 1, Length::Transactions(each));
        let cell = cell.setting("session_preload_libraries", "pg_lease");
        let rate = cell.setting("synchronous_commit", "off").run(bed)?.per_second;
        eprintln!("lease: old snapshot, {title}, chunk {chunk} of {CHUNKS}: {rate:.0}/s");
        rates.push(number(rate));
    }
    Ok(rates.join(", "))
}

fn standing(bed: &Bed, table: &str) -> Result<Standing> {
    let asked = "SELECT n_tup_upd, n_tup_hot_upd, pg_relation_size(relid) \
        FROM pg_stat_user_tables WHERE relid = $1::text::regclass";
    let mut client = bed.server.connect("postgres")?;
    let row = client.query_one(asked, &[&table])?;
    Ok(Standing { updates: row.get(0), hot: row.get(1), bytes: row.get(2) })
}
