//! A standby reads and refuses; promoted, it grants above everything that any history has granted;
//! a synchronous one has every change of ownership before the client is told of it.

use anyhow::Result;
use postgres::{Client, NoTls};
use rig::Server;
use std::collections::BTreeSet;
use std::thread;
use system_tests::history::{all_above, all_differ};
use system_tests::lease::{self, acquire, grant, grant_many, guarded_table, present, renew, state};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};
use system_tests::watch;

static SHARD: Shared = Shared::new();

/// A primary with a database, and a standby that has replayed it.
fn pair(name: &str) -> Result<(Server, Server, Client)> {
    let primary = Server::start(name)?;
    let client = database(&primary, "jobs")?;
    let standby = Server::builder("spare").start_standby_of(&primary)?;
    primary.wait_for_replay(&standby)?;
    Ok((primary, standby, client))
}

/// A public half that there is no private one of here.
const KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/// Every function of the extension: a call, and what it must answer on a standby.
const ON_A_STANDBY: &[(&str, &str, &str)] = &[
    ("compute_now", "SELECT compute_now()", "reads"),
    ("lease_clock_skew", "SELECT lease_clock_skew(now())", "reads"),
    ("home", "SELECT lease.home()", "reads"),
    ("clock", "SELECT lease.clock()", "reads"),
    ("may_list", "SELECT lease.may_list('job')", "reads"),
    ("lease_allow", "SELECT lease_allow('postgres', '*')", "25006"),
    ("lease_disallow", "SELECT lease_disallow('postgres', '*')", "25006"),
    ("lease_acquire", "SELECT lease_acquire('job', 'b')", "25006"),
    ("lease_acquire_many", "SELECT lease_acquire_many('{job,x}', 'b')", "25006"),
    ("lease_renew", "SELECT lease_renew('job', 'a', 1, '1 s')", "25006"),
    ("lease_renew_many", "SELECT lease_renew_many('{job}', 'a', '{1}', '1 s')", "25006"),
    ("lease_release", "SELECT lease_release('job', 'a', 1)", "25006"),
    ("lease_takeover", "SELECT lease_takeover('job', 'b', '1 s')", "25006"),
    ("lease_drop", "SELECT lease_drop('job')", "25006"),
    ("lease_void_all", "SELECT lease_void_all()", "25006"),
    ("lease_fence_raise", "SELECT lease_fence_raise('far', 1)", "25006"),
    ("lease_key_make", "SELECT lease_key_make()", "25006"),
    ("lease_key_use", "SELECT lease_key_use('KEY')", "25006"),
    ("lease_key_trust", "SELECT lease_key_trust('KEY')", "25006"),
    ("lease_key_distrust", "SELECT lease_key_distrust('KEY')", "25006"),
    ("lease_token_sign", "SELECT lease_token_sign('job', TOKEN)", "55000"),
    ("lease_guard", "SELECT lease_guard('plain', 'job')", "25006"),
    ("lease_unguard", "SELECT lease_unguard('work')", "25006"),
    ("lease_fence_check", "SELECT lease_fence_check('job', TOKEN)", "55000"),
    ("lease_worker_pass", "SELECT lease_worker_pass('w1')", "25006"),
    ("lease_worker_leave", "SELECT lease_worker_leave('w1')", "25006"),
    ("lease_fleet", "SELECT lease_fleet()", "reads"),
    ("lease_evict", "SELECT lease_evict('job')", "reads"),
    ("evict", "SELECT lease.evict('job')", "reads"),
    ("lock_tag", "SELECT lease.lock_tag('job')", "reads"),
    ("is_stale", "SELECT lease.is_stale('job', false, 1)", "reads"),
    ("is_present", "SELECT lease.is_present(1, '1/1', 19457, 1, 1)", "reads"),
    ("lease_doctor", "SELECT lease_doctor()", "reads"),
    ("doctor_guards", "SELECT lease.doctor_guards()", "reads"),
    ("doctor_leases", "SELECT lease.doctor_leases()", "reads"),
    ("doctor_transactions", "SELECT lease.doctor_transactions()", "reads"),
    ("doctor_fleets", "SELECT lease.doctor_fleets()", "reads"),
    ("doctor_server", "SELECT lease.doctor_server()", "reads"),
    ("doctor_tokens", "SELECT lease.doctor_tokens()", "reads"),
    ("fleet", "SELECT lease.fleet('controllers')", "reads"),
    ("incarnation", "SELECT lease.incarnation()", "reads"),
    ("note_guards", "SELECT lease.note_guards('{}')", "25006"),
    ("forget_guards", "SELECT lease.forget_guards('{}')", "25006"),
    ("lease_shard_of", "SELECT lease_shard_of('node-1')", "reads"),
    ("lease_shard_owner", "SELECT lease_shard_owner(0, '{w1}')", "reads"),
    ("lease_shard_owners", "SELECT lease_shard_owners('{w1}')", "reads"),
    ("lease_once", "SELECT lease_once('payout', 'today')", "25006"),
    ("lease_once_done", "SELECT lease_once_done('payout', 'today')", "25006"),
    ("lease_work_add", "SELECT lease_work_add('nodes', 'n')", "25006"),
    ("lease_work_claim", "SELECT lease_work_claim('nodes', 'w')", "25006"),
    ("lease_work_done", "SELECT lease_work_done('nodes', 'n', 1)", "25006"),
    ("lease_work_retry", "SELECT lease_work_retry('nodes', 'n', 1, 'why')", "25006"),
    ("lease_drain", "CALL lease_drain('a', '0')", "25006"),
    ("release", "SELECT lease.release('job', 'a', 1)", "25006"),
    ("lease_timeline", "SELECT lease_timeline('job')", "reads"),
    ("lease_timeline_svg", "SELECT lease_timeline_svg('job')", "reads"),
    ("timeline_data", "SELECT lease.timeline_data('job', NULL)", "reads"),
    ("draw_timeline", "SELECT lease.draw_timeline('job', '{}', false)", "reads"),
    ("unix_us", "SELECT lease.unix_us('2026-11-29')", "reads"),
    ("count_events", "SELECT lease.count_events()", "reads"),
    ("check_fence", "SELECT lease.check_fence('job', TOKEN, 'current', NULL)", "55000"),
    ("shard_of", "SELECT lease.shard_of('node-1', 256)", "reads"),
    ("check_held", "SELECT lease.check_held('{1}', '{1}')", "reads"),
    ("claimed_key", "SELECT lease.claimed_key('nodes', 'n', 1)", "25006"),
    // inner ones, which look at their arguments
    ("check_writable", "SELECT lease.check_writable('lease_once')", "25006"),
    ("check_name", "SELECT lease.check_name('job', 'payout')", "reads"),
    ("check_label", "SELECT lease.check_label('run', 'today')", "reads"),
    ("check_span", "SELECT lease.check_span('over', '1 s')", "reads"),
    ("check_number", "SELECT lease.check_number('most', 1, 1, 2)", "reads"),
    ("check_time", "SELECT lease.check_time('due', '2026-11-29')", "reads"),
    ("check_pairs", "SELECT lease.check_pairs('shards', 1, 'tokens', 1)", "reads"),
    ("next_generation", "SELECT lease.next_generation('nodes')", "25006"),
    ("begun", "SELECT lease.begun('payout')", "25006"),
    ("refuse_run", "SELECT lease.refuse_run('payout', 'today')", "42704"),
    ("refuse_claim", "SELECT lease.refuse_claim('nodes', 'n', 1, NULL)", "55000"),
    ("guard_row", "SELECT lease.guard_row('job', '', 'current', false)", "55000"),
    ("row_guards", "SELECT lease.row_guards()", "reads"),
    // no caller's: a trigger, an event trigger and its helper
    ("guard_rows", "TRUNCATE work", "25006"),
    ("guard_writes", "INSERT INTO work (note) VALUES ('x')", "25006"),
    ("changed_by_hand", "DELETE FROM lease.lease", "25006"),
    ("cover", "CREATE TABLE child () INHERITS (work)", "25006"),
    ("cover_changed_tables", "ALTER TABLE work SET (fillfactor = 90)", "25006"),
];

/// Breaks if a function forgot to ask where it runs, or said so under another code; and if a new
/// function is not in the list above.
#[test]
fn every_function_knows_a_standby() -> Result<()> {
    let (primary, standby, mut client) = pair("asked")?;
    guarded_table(&mut client, "job")?;
    client.batch_execute("CREATE TABLE plain ()")?;
    let token = grant(&mut client, "job", "a")?;
    primary.wait_for_replay(&standby)?;
    let mut reader = standby.connect("jobs")?;
    present(&mut reader, "job", token)?;
    for (function, call, expected) in ON_A_STANDBY.iter().copied() {
        let outcome =
            reader.batch_execute(&call.replace("TOKEN", &token.to_string()).replace("KEY", KEY));
        match expected {
            "reads" => outcome?,
            code => drop(refused(outcome, code).map_err(|e| e.context(function))?),
        }
    }
    for mode in ["live", "newest"] {
        let check = format!("SELECT lease_fence_check('job', {token}, '{mode}')");
        refused(reader.batch_execute(&check), "55000")?;
    }
    let listed = ON_A_STANDBY.iter().map(|one| one.0.to_owned()).collect();
    assert_eq!(functions(&mut reader)?, listed);
    Ok(())
}

fn functions(client: &mut Client) -> Result<BTreeSet<String>> {
    let members =
        "SELECT p.proname::text FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
                   JOIN pg_proc p ON d.objid = p.oid
                   WHERE d.deptype = 'e' AND e.extname = 'pg_lease'
                     AND d.classid = 'pg_proc'::regclass";
    Ok(client.query(members, &[])?.iter().map(|row| row.get(0)).collect())
}

/// Breaks if the views or the identity of the database differed between primary and standby.
#[test]
fn a_standby_shows_what_the_primary_shows() -> Result<()> {
    let (primary, standby, mut client) = pair("shown")?;
    guarded_table(&mut client, "job")?;
    let token = grant(&mut client, "job", "a")?;
    client.execute("SELECT lease_fence_raise('far', 7)", &[])?;
    primary.wait_for_replay(&standby)?;
    let mut reader = standby.connect("jobs")?;
    assert_eq!(state(&mut reader, "job")?, ("held".into(), token));
    for same in [
        "SELECT lease.home()::text",
        "SELECT string_agg(g::text, ' ') FROM lease.guards AS g",
        "SELECT string_agg(f::text, ' ') FROM lease.fence AS f",
        "SELECT string_agg(l::text, ' ') FROM lease.lease AS l",
        "SELECT string_agg(h::text, ' ') FROM lease.history AS h",
    ] {
        let ask =
            |client: &mut Client| -> Result<String> { Ok(client.query_one(same, &[])?.get(0)) };
        assert_eq!(ask(&mut reader)?, ask(&mut client)?, "{same}");
    }
    Ok(())
}

/// Breaks if a token came from the row or the sequence alone: both standbys have the same ones.
#[test]
fn two_promoted_standbys_never_grant_the_same_token() -> Result<()> {
    let (primary, first, mut client) = pair("parted")?;
    let second = Server::builder("second").start_standby_of(&primary)?;
    let names: Vec<String> = (0..200).map(|n| format!("job:{n}")).collect();
    let before = grant_many(&mut client, &names, "a")?;
    primary.wait_for_replay(&first)?;
    primary.wait_for_replay(&second)?;
    first.promote()?;
    second.promote()?;
    let mut all = Vec::new();
    let fresh: Vec<String> = (0..200).map(|n| format!("new:{n}")).collect();
    for server in [&primary, &first, &second] {
        let mut client = server.connect("jobs")?;
        let granted = grant_many(&mut client, &fresh, "b")?;
        all_above(&granted, &before)?;
        all.extend(granted);
    }
    all.extend(before);
    all_differ(&all)?;
    assert_eq!(all.len(), 800);
    Ok(())
}

/// Breaks if the promoted server went on from the tokens that it knows: the newest are lost to it.
#[test]
fn a_promoted_standby_grants_above_what_it_has_missed() -> Result<()> {
    let (primary, standby, mut client) = pair("ahead")?;
    let known = grant(&mut client, "job", "a")?;
    primary.wait_for_replay(&standby)?;
    standby.stop()?;
    // more than the 32 numbers that a sequence is ahead of itself in the WAL
    let missed: Vec<i64> = (0..50)
        .map(|_| Ok(lease::takeover(&mut client, "job", "b", "1 hour")?.token.unwrap_or(0)))
        .collect::<Result<_>>()?;
    let (_, mut shard) = SHARD.database("ahead")?;
    shard.batch_execute("CREATE TABLE work (id bigserial, note text)")?;
    shard.execute("SELECT lease_guard('work', 'job', 'newest')", &[])?;
    for token in &missed {
        present(&mut shard, "job", *token)?;
        lease::write(&mut shard, "obeyed")?;
    }
    primary.kill9()?;

    standby.start_again()?;
    standby.promote()?;
    let mut client = standby.connect("jobs")?;
    // a promotion keeps leases: the owner that it knows of still has its own
    assert_eq!(state(&mut client, "job")?, ("held".into(), known));
    assert_eq!(acquire(&mut client, "job", "d", "1 hour")?.status, "held");
    lease::expire(&mut client, "job")?;
    let next = grant(&mut client, "job", "d")?;
    all_above(&[next], &missed)?;
    present(&mut shard, "job", next)?;
    lease::write(&mut shard, "obeyed")?;
    for token in missed {
        present(&mut shard, "job", token)?;
        refused(lease::write(&mut shard, "stale"), "55000")?;
    }
    Ok(())
}

/// Each change of ownership, each in a session that does not want to wait for a standby.
const CHANGES: [&str; 4] = [
    "SET synchronous_commit = off; SELECT lease_acquire('job', 'a', '1 hour')",
    "SET synchronous_commit = local; SELECT lease_takeover('job', 'b', '1 hour')",
    "BEGIN; SELECT lease_takeover('job', 'c', '1 h'); SET LOCAL synchronous_commit = off; COMMIT",
    "SET synchronous_commit = off; SELECT lease_release('job', 'c', token) FROM lease.lease",
];

/// Breaks if a change of ownership was told to the client before the standby had it: the session's
/// setting, or one made after the grant, would let it through.
#[test]
fn a_change_of_ownership_waits_for_a_synchronous_standby() -> Result<()> {
    let (primary, standby, mut client) = pair("synchronous")?;
    let held = grant(&mut client, "other", "a")?;
    client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'spare'")?;
    client.execute("SELECT pg_reload_conf()", &[])?;
    let in_force = "SELECT sync_state = 'sync' FROM pg_stat_replication";
    watch::until(&mut client, "the standby to be synchronous", in_force)?;
    client.batch_execute("SET synchronous_commit = off")?;
    for change in CHANGES {
        standby.stop()?;
        let mut session = primary.connect("jobs")?;
        let backend = watch::backend(&mut session)?;
        let waiting = thread::spawn(move || session.batch_execute(change));
        watch::until_waiting(&mut client, backend, "SyncRep")?;
        // what is no change of ownership follows the session, so that a holder keeps its lease
        renew(&mut client, "other", "a", held, "1 hour")?;
        assert!(!waiting.is_finished(), "{change}");
        standby.start_again()?;
        let ended = waiting.join().map_err(|_| anyhow::anyhow!("the session's thread died"))?;
        ended.map_err(|error| anyhow::Error::from(error).context(change))?;
        same_lease(&primary, &standby)?;
    }
    Ok(())
}

/// What the standby has on disk when the client is told is what it shows once replayed.
fn same_lease(primary: &Server, standby: &Server) -> Result<()> {
    primary.wait_for_replay(standby)?;
    let mut shown = Vec::new();
    for server in [primary, standby] {
        let mut client = postgres::Client::connect(&server.conn_string("jobs"), NoTls)?;
        shown.push(state(&mut client, "job")?);
    }
    assert_eq!(shown[0], shown[1]);
    Ok(())
}
