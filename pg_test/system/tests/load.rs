//! Thousands of calls leave the same truth as one: no race won twice, nothing leaked, no bloat, no
//! deadlock, no multixact, never two holders.
//!
//! These tests measure, so they run one after the other.

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rig::Server;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use system_tests::history::{all_above, all_differ};
use system_tests::lease::{
    acquire, grant, guarded_table, present, release, renew, state, takeover, write,
};
use system_tests::program::own_kb;
use system_tests::refusal::{refused, sqlstate};
use system_tests::shared::{Shared, alone};
use system_tests::watch;

static SERVER: Shared = Shared::new();

/// Joins threads that return a Result.
fn all<T>(threads: Vec<thread::JoinHandle<Result<T>>>) -> Result<Vec<T>> {
    let join = |thread: thread::JoinHandle<Result<T>>| {
        thread.join().map_err(|_| anyhow::anyhow!("a thread died"))?
    };
    threads.into_iter().map(join).collect()
}

const RACES: usize = 1_000;

/// Breaks if either looked at the row and wrote it later: a released lease would be held again.
#[test]
fn a_released_lease_is_never_renewed() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("races")?;
    let mut other = server.connect("races")?;
    let (ask, asked) = mpsc::channel::<i64>();
    let (tell, told) = mpsc::channel();
    let renewer = thread::spawn(move || -> Result<()> {
        for token in asked {
            tell.send(renew(&mut other, "job", "a", token, "1 hour"))?;
        }
        Ok(())
    });
    let mut renewed = 0;
    for round in 0..RACES {
        let token = grant(&mut client, "job", "a")?;
        ask.send(token)?;
        // the two start at every distance from each other that a few round trips have room for
        let start = Instant::now();
        let distance = Duration::from_micros(round as u64 % 50 * 40);
        while start.elapsed() < distance {
            std::hint::spin_loop();
        }
        assert_eq!(release(&mut client, "job", "a", token)?.status, "released");
        match told.recv()? {
            Ok(_) => renewed += 1,
            lost => drop(refused(lost, "55000")?),
        }
        assert_eq!(state(&mut client, "job")?, ("free".into(), token));
    }
    drop(ask);
    all(vec![renewer])?;
    ensure!((1..RACES).contains(&renewed), "no race: {renewed} of {RACES} renewals came first");
    Ok(())
}

const REFUSED_COMMITS: usize = 2_500;
const REFUSED_WRITES: usize = 2_500;
const WARM_UP: usize = 250;

/// Breaks if what a transaction has to answer for, a lock, or a message outlived its refusal.
#[test]
fn thousands_of_refusals_leave_nothing_behind() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("refusals")?;
    guarded_table(&mut client, "job")?;
    let first = grant(&mut client, "job", "a")?;
    let mut session = server.connect("refusals")?;
    let backend = watch::backend(&mut session)?;
    let mut token = refuse_commits(&mut session, &mut client, first, WARM_UP)?;
    refuse_writes(&mut session, first, WARM_UP)?;
    let (context_bytes, own) = (context_bytes(&mut session)?, own_kb(backend)?);

    token = refuse_commits(&mut session, &mut client, token, REFUSED_COMMITS)?;
    refuse_writes(&mut session, first, REFUSED_WRITES)?;
    let grown = self::context_bytes(&mut session)? - context_bytes;
    assert!(grown <= 16 * 1024, "memory contexts grew by {grown} bytes");
    let grown = own_kb(backend)? - own;
    assert!(grown <= 1024, "the process grew by {grown} kB");
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = $1";
    assert_eq!(client.query_one(locks, &[&backend])?.get::<_, i64>(0), 0);

    let next = takeover(&mut client, "job", "b", "1 hour")?.token.context("no token")?;
    assert!(next > token);
    for client in [&mut client, &mut session] {
        present(client, "job", next)?;
        write(client, "at once")?;
    }
    Ok(())
}

/// Each commit is refused because of a takeover in the middle. Returns the newest token.
fn refuse_commits(
    session: &mut Client,
    taker: &mut Client,
    mut token: i64,
    times: usize,
) -> Result<i64> {
    for _ in 0..times {
        session.batch_execute(&format!(
            "BEGIN; SET LOCAL pg_lease.token = 'job={token}'; INSERT INTO work (note) VALUES ('x')"
        ))?;
        token = takeover(taker, "job", "b", "1 hour")?.token.context("no token")?;
        refused(session.batch_execute("COMMIT"), "55000")?;
    }
    Ok(token)
}

fn refuse_writes(session: &mut Client, stale: i64, times: usize) -> Result<()> {
    present(session, "job", stale)?;
    for _ in 0..times {
        refused(session.batch_execute("INSERT INTO work (note) VALUES ('x')"), "55000")?;
    }
    Ok(())
}

fn context_bytes(session: &mut Client) -> Result<i64> {
    let sum = "SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts";
    session.query_one(sum, &[])?; // its own plan and caches are there from now on
    Ok(session.query_one(sum, &[])?.get(0))
}

const RENEWALS: i64 = 20_000;

/// Breaks with an index on a column that a renewal changes: no update would be heap-only.
#[test]
fn renewals_are_heap_only_updates() -> Result<()> {
    let _alone = alone();
    let (_, mut client) = SERVER.database("hot")?;
    let (hot, bytes) = renew_many_times(&mut client)?;
    assert_eq!(hot, RENEWALS);
    assert!(bytes <= 64 * 1024, "{bytes} bytes");
    Ok(())
}

/// The same under a snapshot that keeps every version of the row alive. A page then holds about
/// ninety versions and is never pruned, so about one renewal in ninety moves to a new page, which
/// is not heap-only: 98 in a hundred are.
#[test]
fn renewals_under_an_old_snapshot_stay_small() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("snapshot")?;
    let mut old = server.connect("snapshot")?;
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM lease.lease")?;
    let (hot, bytes) = renew_many_times(&mut client)?;
    let seen: i64 = old.query_one("SELECT count(*) FROM lease.lease", &[])?.get(0);
    assert_eq!(seen, 0, "the snapshot was not that old");
    assert!(bytes < 2 * 1024 * 1024, "{bytes} bytes");
    assert!(hot * 100 >= RENEWALS * 98, "{hot} of {RENEWALS} heap-only");
    Ok(())
}

/// Renews one lease, each time in a transaction of its own. Returns how many updates were
/// heap-only, and the size of the table.
fn renew_many_times(client: &mut Client) -> Result<(i64, i64)> {
    let token = grant(client, "job", "a")?;
    client.batch_execute(&format!(
        "DO $$ BEGIN FOR i IN 1..{RENEWALS} LOOP
             PERFORM lease_renew('job', 'a', {token}, '1 hour'); COMMIT;
         END LOOP; END $$"
    ))?;
    client.execute("SELECT pg_stat_force_next_flush()", &[])?;
    let counted = "SELECT pg_stat_get_tuples_updated(c), pg_stat_get_tuples_hot_updated(c),
                          pg_relation_size(c) FROM (SELECT 'lease.lease'::regclass AS c) AS t";
    let row = client.query_one(counted, &[])?;
    assert_eq!(row.get::<_, i64>(0), RENEWALS);
    Ok((row.get(1), row.get(2)))
}

const CLIENTS: usize = 8;
const BATCHES: usize = 200;

/// Breaks if locks were taken in the order in which the names are given: opposite orders then meet
/// in a deadlock (40P01), or wait until lock_timeout (busy).
#[test]
fn batches_in_opposite_orders_never_deadlock() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("batches")?;
    let names: Vec<String> = (0..256).map(|n| format!("shard:{n}")).collect();
    let threads = (0..CLIENTS).map(|number| {
        let mut names = names.clone();
        if number % 2 == 1 {
            names.reverse();
        }
        let mut client = server.connect("batches")?;
        Ok(thread::spawn(move || batches(&mut client, &format!("client-{number}"), &names)))
    });
    let granted = all(threads.collect::<Result<_>>()?)?.concat();
    all_differ(&granted)?;
    // a lease that all contend for, each time: they have really met
    let met = "SELECT min(acquisitions) FROM lease.lease";
    let least: i64 = client.query_one(met, &[])?.get(0);
    ensure!(least > BATCHES as i64 / 2, "they hardly met: {least}");
    Ok(())
}

/// Acquires all names for a millisecond, again and again. Returns the tokens granted.
fn batches(client: &mut Client, owner: &str, names: &[String]) -> Result<Vec<i64>> {
    let call = "SELECT name, status, token FROM lease_acquire_many($1, $2, '1 ms', 'never')";
    let mut granted = Vec::new();
    for _ in 0..BATCHES / CLIENTS {
        let rows = client.query(call, &[&names, &owner])?;
        ensure!(rows.iter().map(|row| row.get::<_, &str>(0)).eq(names), "answers out of order");
        for row in rows {
            match row.get(1) {
                "granted" => granted.push(row.get(2)),
                "held" => {}
                other => anyhow::bail!("{owner} was told {other}"),
            }
        }
    }
    Ok(granted)
}

const WRITERS: usize = 20;
const WRITES: usize = 200;

/// Breaks if a guard, a commit or a renewal locked the lease's row in shared mode.
#[test]
fn writers_under_one_token_make_no_multixact() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("writers")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    let before = next_multixact(&mut client)?;
    let threads = (0..WRITERS).map(|_| {
        let mut writer = server.connect("writers")?;
        Ok(thread::spawn(move || {
            present(&mut writer, "job", token)?;
            (0..WRITES).try_for_each(|_| write(&mut writer, "x").map(drop))?;
            Ok(())
        }))
    });
    let threads: Vec<_> = threads.collect::<Result<_>>()?;
    while threads.iter().any(|thread| !thread.is_finished()) {
        renew(&mut client, "job", "a", token, "1 hour")?;
    }
    all(threads)?;
    let written: i64 = client.query_one("SELECT count(*) FROM work", &[])?.get(0);
    assert_eq!(written, (WRITERS * WRITES) as i64);
    assert_eq!(next_multixact(&mut client)?, before);
    Ok(())
}

fn next_multixact(client: &mut Client) -> Result<String> {
    client.batch_execute("CHECKPOINT")?;
    let next = "SELECT next_multixact_id::text FROM pg_control_checkpoint()";
    Ok(client.query_one(next, &[])?.get(0))
}

const HANDOVERS: usize = 200;
/// What a contender may be told instead of an answer: not the holder's any more, busy, try again.
const DOCUMENTED: [&str; 3] = ["55000", "55P03", "40001"];

/// What the contenders know of each other, beside the database.
#[derive(Default)]
struct Arena {
    /// Who holds the lease, from the answer to its grant until it asks for the release. 0: nobody.
    holder: AtomicU32,
    handovers: AtomicUsize,
    tokens: Mutex<Vec<i64>>,
}

/// Breaks if an old snapshot made a candidate overlook a holder. Every statement of every session
/// is SERIALIZABLE.
#[test]
fn contenders_under_serializable_are_never_two_holders() -> Result<()> {
    let _alone = alone();
    let (server, mut client) = SERVER.database("contenders")?;
    guarded_table(&mut client, "job")?;
    static ARENA: Arena = Arena {
        holder: AtomicU32::new(0),
        handovers: AtomicUsize::new(0),
        tokens: Mutex::new(Vec::new()),
    };
    let contend = |number| -> Result<_> {
        let session = contender(server)?;
        Ok(thread::spawn(move || contend(session, number, &ARENA)))
    };
    all((1..=8).map(contend).collect::<Result<_>>()?)?;
    let tokens = ARENA.tokens.lock().unwrap_or_else(PoisonError::into_inner);
    all_differ(&tokens)?;
    for pair in tokens.windows(2) {
        all_above(&pair[1..], &pair[..1])?;
    }
    let owners: i64 = client.query_one("SELECT count(DISTINCT note) FROM work", &[])?.get(0);
    ensure!(owners > 1, "one contender had it all the time");
    Ok(())
}

fn contender(server: &Server) -> Result<Client> {
    let mut session = server.connect("contenders")?;
    session.batch_execute("SET default_transaction_isolation = 'serializable'")?;
    Ok(session)
}

fn contend(mut session: Client, number: u32, arena: &Arena) -> Result<()> {
    let owner = format!("contender-{number}");
    while arena.handovers.load(Ordering::SeqCst) < HANDOVERS {
        let answer = documented(acquire(&mut session, "job", &owner, "1 hour"))?;
        let Some(token) = answer.and_then(|answer| answer.token) else { continue };
        let before = arena.holder.swap(number, Ordering::SeqCst);
        ensure!(before == 0, "{owner} was granted what contender-{before} holds");
        arena.tokens.lock().unwrap_or_else(PoisonError::into_inner).push(token);
        present(&mut session, "job", token)?;
        write(&mut session, &owner)?;
        let after = arena.holder.swap(0, Ordering::SeqCst);
        ensure!(after == number, "contender-{after} was granted what {owner} holds");
        while documented(release(&mut session, "job", &owner, token))?.is_none() {}
        arena.handovers.fetch_add(1, Ordering::SeqCst);
    }
    Ok(())
}

/// The answer, or None for a refusal that the documentation names.
fn documented<T>(outcome: Result<T, postgres::Error>) -> Result<Option<T>> {
    match outcome {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if DOCUMENTED.contains(&sqlstate(&error)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
