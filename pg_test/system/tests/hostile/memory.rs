//! A backend that is used for long grows no further: neither by writes that are refused, nor by those
//! that pass, nor by calls of any function.

use crate::amount;
use crate::call::{Function, functions, harmless, outcome};
use anyhow::{Context, Result, ensure};
use postgres::Client;
use std::fs;
use system_tests::lease::{grant, guarded_table, takeover};
use system_tests::shared::{Shared, alone};
use system_tests::watch::backend;

static SERVER: Shared = Shared::new();

/// The work is done in so many parts. What leaks is higher than ever after each of them; what the
/// server itself allocates and frees goes up and down.
const PARTS: u32 = 10;
const PARTS_THAT_MAY_GROW: usize = 4;

/// A backend's memory, in kB: what its contexts hold, and what is its own in the eyes of the kernel.
#[derive(Clone, Copy, Debug)]
struct Memory {
    contexts: i64,
    own: i64,
}

fn memory(client: &mut Client) -> Result<Memory> {
    let contexts = "SELECT (sum(total_bytes) / 1024)::int8 FROM pg_backend_memory_contexts";
    let contexts = client.query_one(contexts, &[])?.get(0);
    let pid = backend(client)?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).context("no RssAnon")?;
    let own = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(Memory { contexts, own })
}

/// Fails if the backend grows in most parts of the work. A first one, to warm up, does not count.
fn is_flat(
    client: &mut Client,
    times: u32,
    mut work: impl FnMut(&mut Client, u32) -> Result<()>,
) -> Result<()> {
    work(client, times / PARTS)?;
    let mut looks = vec![memory(client)?];
    for _ in 0..PARTS {
        work(client, times / PARTS)?;
        looks.push(memory(client)?);
    }
    let grew = |of: fn(&Memory) -> i64| {
        let sizes: Vec<i64> = looks.iter().map(of).collect();
        let is_new_high = |at: &usize| sizes[..*at].iter().all(|before| *before < sizes[*at]);
        (1..sizes.len()).filter(is_new_high).count()
    };
    let (contexts, own) = (grew(|memory| memory.contexts), grew(|memory| memory.own));
    println!(
        "{times} times: {:?} to {:?}, in {contexts} and {own} steps",
        looks[0],
        memory(client)?
    );
    ensure!(contexts.max(own) <= PARTS_THAT_MAY_GROW, "it grows: {looks:?}");
    Ok(())
}

/// Each round is a transaction of its own, all in one backend.
const REFUSED: &str = "
CREATE PROCEDURE refused(times int) LANGUAGE plpgsql AS $$
DECLARE
    refused int := 0;
BEGIN
    FOR i IN 1..times LOOP
        BEGIN
            INSERT INTO work (note) VALUES ('stale');
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
            refused := refused + 1;
        END;
        COMMIT;
    END LOOP;
    ASSERT refused = times;
END $$";

#[test]
fn refused_writes_leave_nothing_behind() -> Result<()> {
    let _alone = alone();
    let (_, mut client) = SERVER.database("refused")?;
    guarded_table(&mut client, "job")?;
    let stale = grant(&mut client, "job", "a")?;
    takeover(&mut client, "job", "b", "1 hour")?;
    client.batch_execute(REFUSED)?;
    client.batch_execute(&format!("SET pg_lease.token = 'job={stale}'"))?;
    is_flat(&mut client, 100_000, |client, times| {
        Ok(client.batch_execute(&format!("CALL refused({times})"))?)
    })?;
    let left: i64 =
        client.query_one("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", &[])?.get(0);
    ensure!(left == 0, "{left} locks are left");
    Ok(())
}

const GUARDED: &str = "
CREATE PROCEDURE guarded(times int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..times LOOP
        UPDATE work SET note = 'written';
        COMMIT;
    END LOOP;
END $$";

/// A million of them in `make hostile`.
#[test]
fn guarded_transactions_leave_nothing_behind() -> Result<()> {
    let _alone = alone();
    let (_, mut client) = SERVER.database("guarded")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    client.batch_execute(GUARDED)?;
    client.batch_execute(&format!(
        "SET synchronous_commit = off; SET pg_lease.token = 'job={token}'; \
         INSERT INTO work (note) VALUES ('first')"
    ))?;
    is_flat(&mut client, amount(20_000, 1_000_000), |client, times| {
        Ok(client.batch_execute(&format!("CALL guarded({times})"))?)
    })
}

/// Refusals and answers of every function alike.
#[test]
fn calls_leave_nothing_behind() -> Result<()> {
    let _alone = alone();
    let (_, mut client) = SERVER.database("calls")?;
    client.batch_execute("CREATE TABLE plain (n int)")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    let functions = functions(&mut client)?;
    for function in functions.iter().filter(|function| !function.is_procedure) {
        let name = &function.name;
        is_flat(&mut client, amount(500, 5_000), |client, times| {
            calls(client, function, token, times)
        })
        .with_context(|| name.clone())?;
    }
    Ok(())
}

/// Calls it with NULL and with something, in transactions that are rolled back.
fn calls(client: &mut Client, function: &Function, token: i64, times: u32) -> Result<()> {
    let nothing = function.call(|argument| Ok(format!("NULL::{}", argument.sql_type)))?;
    let something = function.call(|argument| harmless(function, argument, token))?;
    for _ in 0..times.div_ceil(50) {
        for call in [&nothing, &something] {
            let statement = format!("BEGIN; SELECT 1 FROM {call}; ROLLBACK");
            for _ in 0..25 {
                if outcome(client, &statement)? != "ok" {
                    client.batch_execute("ROLLBACK")?;
                }
            }
        }
    }
    Ok(())
}
