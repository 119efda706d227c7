//! lease_doctor says what is wrong, each finding once it is true and not before, and nothing of a
//! database where all is well.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use rig::Server;
use system_tests::lease::{grant, guarded_table, present, takeover};
use system_tests::refusal::refused;
use system_tests::shared::{Shared, database};
use system_tests::watch;

static SERVER: Shared = Shared::new();

/// What the doctor finds, but for what is true of every server of the tests.
fn found(client: &mut Client) -> Result<Vec<String>> {
    let ask = "SELECT severity || ' ' || finding || ': ' || subject, problem, advice
               FROM lease_doctor() WHERE finding <> 'fsync_off'";
    let rows = client.query(ask, &[])?;
    for row in &rows {
        let told = |at| row.get::<_, Option<&str>>(at).is_some_and(|text| !text.is_empty());
        ensure!(told(1) && told(2), "a finding without a word: {:?}", row.get::<_, &str>(0));
    }
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// What the doctor advises about its only finding.
fn advice(client: &mut Client) -> Result<String> {
    let ask = "SELECT advice FROM lease_doctor() WHERE finding <> 'fsync_off'";
    Ok(client.query_one(ask, &[])?.get(0))
}

/// Makes something wrong, which must be found, and puts it right, after which nothing must be.
#[track_caller]
fn wrong(client: &mut Client, make: &str, expected: &[&str], mend: &str) -> Result<()> {
    let nothing: Vec<String> = Vec::new();
    assert_eq!(found(client)?, nothing, "before {make}");
    client.batch_execute(make).with_context(|| make.to_owned())?;
    assert_eq!(found(client)?, expected, "after {make}");
    client.batch_execute(mend).with_context(|| mend.to_owned())?;
    assert_eq!(found(client)?, nothing, "after {mend}");
    Ok(())
}

/// Breaks if all is well and the doctor says otherwise: a server as it should be, with work going on.
#[test]
fn nothing_is_found_where_all_is_well() -> Result<()> {
    let server = Server::builder("well").fsync(true).start()?;
    let mut client = database(&server, "jobs")?;
    guarded_table(&mut client, "job")?;
    client.batch_execute(
        "CREATE TABLE part (k int) PARTITION BY LIST (k);
         SELECT lease_guard('part', 'job', 'live', always => false);
         CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
         CREATE TABLE far (n int); SELECT lease_guard('far', 'far', 'newest');
         SELECT lease_fence_raise('far', 17);
         SELECT lease_worker_pass('w1', shards => 4, client_now => clock_timestamp());
         SELECT lease_work_add('nodes', 'n');
         SELECT lease_acquire('free', 'a'); SELECT lease_release('free', 'a', token)
           FROM lease.lease WHERE name = 'free';
         CREATE ROLE worker; SELECT lease_allow('worker', '*')",
    )?;
    let token = grant(&mut client, "job", "a")?;
    let mut open = server.connect("jobs")?;
    present(&mut open, "job", token)?;
    open.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('x')")?;
    let all = "SELECT count(*), string_agg(d::text, ' ') FROM lease_doctor() AS d";
    let row = client.query_one(all, &[])?;
    assert_eq!(row.get::<_, i64>(0), 0, "{:?}", row.get::<_, Option<&str>>(1));
    server.configure(&["fsync = off"])?;
    let off = "SELECT count(*) = 1 FROM lease_doctor() WHERE severity = 'critical'
                 AND finding = 'fsync_off' AND subject = 'setting fsync'";
    watch::until(&mut client, "fsync to be off", off)
}

#[test]
fn guards_that_do_not_fire() -> Result<()> {
    let (_, mut client) = SERVER.database("guards")?;
    guarded_table(&mut client, "job")?;
    let trigger: String = client.query_one("SELECT trigger::text FROM lease.guards", &[])?.get(0);
    let alter = |what: &str| format!("ALTER TABLE work {what} TRIGGER \"{trigger}\"");
    let mend = alter("ENABLE ALWAYS");
    let off = ["critical guard_off: table public.work"];
    wrong(&mut client, &alter("DISABLE"), &off, &mend)?;
    wrong(&mut client, &alter("ENABLE REPLICA"), &off, &mend)?;
    let weak = ["warning guard_weak: table public.work"];
    wrong(&mut client, &alter("ENABLE"), &weak, &mend)?;
    // what dumps and careless scripts do
    wrong(
        &mut client,
        "ALTER TABLE work DISABLE TRIGGER ALL; ALTER TABLE work ENABLE TRIGGER ALL",
        &weak,
        &mend,
    )?;
    let dropped = ["critical guard_dropped: table public.work"];
    let drop = format!("DROP TRIGGER \"{trigger}\" ON work");
    wrong(&mut client, &drop, &dropped, "SELECT lease_guard('work', 'job')")?;
    wrong(&mut client, &drop, &dropped, "SELECT lease_unguard('work')")?;
    refused(client.batch_execute("SELECT lease_unguard('work')"), "42704")?;
    client.batch_execute("SELECT lease_guard('work', 'job')")?;
    // names change, and it is still the same table
    client.batch_execute(
        "ALTER TABLE work RENAME TO tasks; CREATE SCHEMA other; ALTER TABLE tasks SET SCHEMA other",
    )?;
    wrong(
        &mut client,
        &format!("DROP TRIGGER \"{trigger}\" ON other.tasks"),
        &["critical guard_dropped: table other.tasks"],
        "SELECT lease_guard('other.tasks', 'job')",
    )?;
    wrong(
        &mut client,
        "CREATE TRIGGER own BEFORE INSERT ON other.tasks
           EXECUTE FUNCTION lease.guard_writes('own', 'current')",
        &["warning guard_partial: table other.tasks"],
        "DROP TRIGGER own ON other.tasks",
    )?;
    // it was made so
    client.batch_execute(
        "SELECT lease_unguard('other.tasks');
         SELECT lease_guard('other.tasks', 'job', always => false)",
    )?;
    assert!(found(&mut client)?.is_empty());
    Ok(())
}

/// A row guard has several triggers: the advice must put all of them right.
#[test]
fn row_guards_that_do_not_fire() -> Result<()> {
    let (_, mut client) = SERVER.database("rows")?;
    client.batch_execute(
        "CREATE TABLE part (chain text) PARTITION BY LIST (chain);
         CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
         SELECT lease_guard('part', lease_column => 'chain', prefix => 'chain:')",
    )?;
    assert!(found(&mut client)?.is_empty());
    client.batch_execute("ALTER TABLE part_a DISABLE TRIGGER ALL")?;
    assert_eq!(found(&mut client)?, ["critical guard_off: table public.part_a"]);
    let mend = advice(&mut client)?;
    client.batch_execute(&mend)?;
    assert!(found(&mut client)?.is_empty(), "{mend}");
    wrong(
        &mut client,
        "DROP TRIGGER pg_lease_rows_new ON part_a",
        &[
            "critical guard_missing: table public.part_a",
            "warning guard_partial: table public.part_a",
        ],
        "SELECT lease_unguard('part');
         SELECT lease_guard('part', lease_column => 'chain', prefix => 'chain:')",
    )
}

#[test]
fn trees_with_a_hole() -> Result<()> {
    let (_, mut client) = SERVER.database("trees")?;
    client.batch_execute(
        "CREATE TABLE part (k int) PARTITION BY LIST (k);
         CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
         CREATE TABLE base (k int); CREATE TABLE child () INHERITS (base);
         SELECT lease_guard('part', 'job'); SELECT lease_guard('base', 'job')",
    )?;
    let trigger: String =
        client.query_one("SELECT DISTINCT trigger::text FROM lease.guards", &[])?.get(0);
    for (parent, child) in [("part", "part_1"), ("base", "child")] {
        wrong(
            &mut client,
            &format!("DROP TRIGGER \"{trigger}\" ON {child}"),
            &[
                &format!("critical guard_dropped: table public.{child}"),
                &format!("critical guard_missing: table public.{child}"),
            ],
            &format!("SELECT lease_guard('{parent}', 'job')"),
        )?;
    }
    wrong(
        &mut client,
        "ALTER EVENT TRIGGER pg_lease_cover DISABLE",
        &["critical cover_off: event trigger pg_lease_cover"],
        "ALTER EVENT TRIGGER pg_lease_cover ENABLE ALWAYS",
    )?;
    client.batch_execute(
        "ALTER EVENT TRIGGER pg_lease_cover DISABLE;
         CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
         ALTER EVENT TRIGGER pg_lease_cover ENABLE ALWAYS",
    )?;
    assert_eq!(found(&mut client)?, ["critical guard_missing: table public.part_2"]);
    client.batch_execute("SELECT lease_guard('part', 'job')")?;
    // a partition that goes takes its guard along, and is missed by nobody
    wrong(&mut client, "DROP TABLE part_2", &[], "ALTER TABLE part DETACH PARTITION part_1")
}

#[test]
fn tables_that_took_anothers_place() -> Result<()> {
    let (_, mut client) = SERVER.database("swapped")?;
    guarded_table(&mut client, "job")?;
    let swapped = ["critical table_swapped: table public.work"];
    wrong(
        &mut client,
        "CREATE TABLE work_new (LIKE work INCLUDING ALL);
         ALTER TABLE work RENAME TO work_old; ALTER TABLE work_new RENAME TO work",
        &swapped,
        "SELECT lease_guard('work', 'job')",
    )?;
    client.batch_execute("DROP TABLE work_old CASCADE")?;
    wrong(
        &mut client,
        "DROP TABLE work; CREATE TABLE work (id bigserial, note text)",
        &swapped,
        "SELECT lease_unguard('work')",
    )
}

#[test]
fn writes_that_no_guard_sees() -> Result<()> {
    let (server, mut client) = SERVER.database("bypassed")?;
    guarded_table(&mut client, "job")?;
    let bypassed = ["critical guard_bypassed: table public.work"];
    wrong(
        &mut client,
        "CREATE TABLE aside (LIKE work);
         CREATE RULE away AS ON INSERT TO work DO INSTEAD INSERT INTO aside VALUES (NEW.*)",
        &bypassed,
        "DROP RULE away ON work",
    )?;
    server.create_database("publisher")?;
    server.execute("publisher", "CREATE TABLE work (id bigserial, note text)")?;
    let target = server.conn_string("publisher");
    wrong(
        &mut client,
        &format!(
            "CREATE SUBSCRIPTION sub CONNECTION '{target}' PUBLICATION pub
               WITH (connect = false, slot_name = NONE);
             INSERT INTO pg_subscription_rel
             SELECT oid, 'work'::regclass, 'i', NULL FROM pg_subscription"
        ),
        &bypassed,
        "DROP SUBSCRIPTION sub",
    )
}

#[test]
fn leases_in_trouble() -> Result<()> {
    let (_, mut client) = SERVER.database("leases")?;
    grant(&mut client, "job", "a")?;
    let set = |what: &str| format!("UPDATE lease.lease SET {what}");
    let mend = set("expires_at = compute_now() + interval '1 min'");
    let just = set("expires_at = compute_now() - interval '1 s'");
    wrong(&mut client, &just, &[], &mend)?;
    let expired = ["warning expired: lease job"];
    wrong(&mut client, &set("expires_at = compute_now() - interval '2 hours'"), &expired, &mend)?;
    let jumped = ["warning clock_jumped: lease job"];
    wrong(&mut client, &set("expires_at = compute_now() + interval '2 hours'"), &jumped, &mend)?;
    let copied = ["info void: lease job"];
    wrong(&mut client, &set("home = home + 1"), &copied, &set("home = home - 1"))?;
    wrong(
        &mut client,
        "CREATE ROLE gone; SELECT lease_allow('gone', 'job:*'); DROP ROLE gone",
        &["info role_missing: role gone"],
        "SELECT lease_allow('pg_monitor', 'x'); SELECT lease_disallow('pg_monitor', 'x')",
    )?;
    wrong(
        &mut client,
        "INSERT INTO lease.allowed VALUES (0, 0, 'elsewhere', 'job:*', 'use')",
        &["info role_missing: role elsewhere"],
        "SELECT lease_disallow('elsewhere', 'job:*')",
    )
}

#[test]
fn transactions_that_are_in_the_way() -> Result<()> {
    let (server, mut client) = SERVER.database("transactions")?;
    guarded_table(&mut client, "job")?;
    client.batch_execute("CREATE TABLE far (n int); SELECT lease_guard('far', 'far', 'newest')")?;
    client.batch_execute("SELECT lease_fence_raise('far', 17)")?;
    let token = grant(&mut client, "job", "a")?;
    let mut stale = server.connect("transactions")?;
    stale.batch_execute(&format!("SET pg_lease.token = 'job={token},far=17'"))?;
    stale.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('x')")?;
    let pid = watch::backend(&mut stale)?;
    takeover(&mut client, "job", "b", "1 min")?;
    let aged = "UPDATE lease.lease SET since = compute_now() - interval '2 min'";
    let expected = format!("warning transaction_stale: process {pid}");
    wrong(&mut client, aged, &[&expected], "SELECT lease_evict('job')")?;
    client.batch_execute("SELECT 1")?;

    let mut stale = server.connect("transactions")?;
    stale.batch_execute("SET pg_lease.token = 'far=17'; BEGIN; INSERT INTO far VALUES (17)")?;
    let pid = watch::backend(&mut stale)?;
    client.batch_execute("SELECT lease_fence_raise('far', 18)")?;
    let aged = "UPDATE lease.fence SET raised_at = compute_now() - interval '2 min'";
    let expected = format!("warning transaction_stale: process {pid}");
    wrong(&mut client, aged, &[&expected], "SELECT lease_evict('far')")
}

/// Three in a row are a habit. The row is aged before each renewal.
#[test]
fn a_holder_that_renews_late_again_and_again() -> Result<()> {
    let (_, mut client) = SERVER.database("late")?;
    let token = grant(&mut client, "job", "a")?;
    let age = "UPDATE lease.lease SET expires_at = compute_now() + interval '10 min'";
    let renew = format!("{age}; SELECT lease_renew('job', 'a', {token}, '1 hour')");
    client.batch_execute(&renew)?;
    client.batch_execute(&renew)?;
    let late = ["warning renewed_late: lease job"];
    let in_time = format!("SELECT lease_renew('job', 'a', {token}, '1 hour')");
    wrong(&mut client, &renew, &late, &in_time)?;
    client.batch_execute(&renew)?;
    client.batch_execute(&renew)?;
    wrong(&mut client, &renew, &late, "SELECT lease_takeover('job', 'b', '1 hour')")
}

/// The lease's ttl is the patience that the doctor has.
#[test]
fn a_prepared_transaction_that_nobody_decides() -> Result<()> {
    let (_, mut client) = SERVER.database("prepared")?;
    guarded_table(&mut client, "job")?;
    let token = system_tests::lease::acquire(&mut client, "job", "a", "500 ms")?.token;
    present(&mut client, "job", token.context("no token")?)?;
    client.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('x')")?;
    client.batch_execute("PREPARE TRANSACTION 'night'")?;
    let ask = "SELECT count(*) = 1 FROM lease_doctor() WHERE severity = 'critical'
                 AND finding = 'transaction_prepared' AND subject = 'transaction ''night'''";
    watch::until(&mut client, "the doctor to lose its patience", ask)?;
    client.batch_execute("ROLLBACK PREPARED 'night'")?;
    client.batch_execute("SELECT lease_void_all()")?;
    assert!(found(&mut client)?.is_empty());
    Ok(())
}

#[test]
fn fleets_and_queues() -> Result<()> {
    let (_, mut client) = SERVER.database("fleets")?;
    let pass = "SELECT lease_worker_pass('w1', shards => 4, client_now => clock_timestamp())";
    client.batch_execute(pass)?;
    wrong(
        &mut client,
        "UPDATE lease.worker SET steady_at = steady_at - 20 * 1000000,
           began_at = began_at - 20 * 1000000, heartbeat_at = heartbeat_at - interval '20 s'",
        &["warning worker_silent: worker w1 of fleet controllers"],
        pass,
    )?;
    wrong(
        &mut client,
        "SELECT lease_worker_pass('w1', shards => 4,
                                  client_now => clock_timestamp() - interval '1 min')",
        &["warning worker_skewed: worker w1 of fleet controllers"],
        pass,
    )?;
    wrong(
        &mut client,
        "SET pg_lease.clock_offset = '10 s';
         SELECT lease_worker_pass('w1', shards => 4, client_now => compute_now())",
        &["warning clock_jumped: fleet controllers"],
        "UPDATE lease.worker SET jumped_at = jumped_at - interval '2 days'",
    )?;
    wrong(
        &mut client,
        "SELECT lease_work_add('nodes', 'n', lease.clock() - interval '1 hour')",
        &["warning work_overdue: queue nodes"],
        "SELECT lease_work_done('nodes', key, generation) FROM lease_work_claim('nodes', 'w1')",
    )
}

#[test]
fn a_table_that_is_not_vacuumed() -> Result<()> {
    let (server, mut client) = SERVER.database("vacuum")?;
    wrong(
        &mut client,
        "ALTER TABLE lease.lease SET (autovacuum_enabled = off)",
        &["warning autovacuum_off: table lease.lease"],
        "ALTER TABLE lease.lease RESET (autovacuum_enabled)",
    )?;
    client.batch_execute(
        "ALTER TABLE lease.work SET (
           autovacuum_vacuum_threshold = 1000000000, autovacuum_vacuum_insert_threshold = -1)",
    )?;
    let mut writer = server.connect("vacuum")?;
    writer.batch_execute(
        "INSERT INTO lease.work (generation, ready_at, attempts, shard, queue, key)
         SELECT n, lease.clock(), 0, 0, 'q', n::text FROM generate_series(1, 25000) AS n;
         DELETE FROM lease.work; SELECT pg_stat_force_next_flush()",
    )?;
    drop(writer);
    let behind = "SELECT count(*) = 1 FROM lease_doctor() WHERE severity = 'warning'
                    AND finding = 'autovacuum_behind' AND subject = 'table lease.work'";
    watch::until(&mut client, "the dead rows to be counted", behind)?;
    assert!(advice(&mut client)?.ends_with("then VACUUM lease.work."));
    client.batch_execute("VACUUM lease.work")?;
    let well = "SELECT count(*) = 0 FROM lease_doctor() WHERE finding = 'autovacuum_behind'";
    watch::until(&mut client, "the vacuum to be counted", well)
}

#[test]
fn the_server_and_its_standby() -> Result<()> {
    let server = Server::start("alone")?;
    let mut client = database(&server, "jobs")?;
    grant(&mut client, "job", "a")?;
    assert!(found(&mut client)?.is_empty());
    let standby = Server::builder("spare").start_standby_of(&server)?;
    let streams = "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'";
    watch::until(&mut client, "the standby", streams)?;
    assert_eq!(found(&mut client)?, ["warning standby_asynchronous: standby spare"]);
    server.wait_for_replay(&standby)?;
    assert!(found(&mut standby.connect("jobs")?)?.is_empty(), "on the standby");
    server.configure(&["synchronous_standby_names = 'spare'"])?;
    let sync = "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    watch::until(&mut client, "the standby to be synchronous", sync)?;
    assert!(found(&mut client)?.is_empty());
    standby.stop()?;
    let missing = ["critical standby_missing: setting synchronous_standby_names"];
    watch::until(&mut client, "it to go", "SELECT count(*) = 0 FROM pg_stat_replication")?;
    assert_eq!(found(&mut client)?, missing);
    server.configure(&["synchronous_standby_names = ''", "autovacuum = off"])?;
    let off = "SELECT count(*) = 1 FROM lease_doctor()
               WHERE finding = 'autovacuum_off' AND subject = 'setting autovacuum'";
    watch::until(&mut client, "autovacuum to be off", off)?;
    server.configure(&["autovacuum = on"])?;

    server.restart()?;
    let mut client = server.connect("jobs")?;
    assert_eq!(found(&mut client)?, ["info new_incarnation: this database"]);
    grant(&mut client, "other", "a")?;
    assert!(found(&mut client)?.is_empty());
    client.batch_execute("SELECT setval('lease.token', 9223372036854775000)")?;
    assert_eq!(found(&mut client)?, ["critical tokens_used_up: sequence lease.token"]);
    let ahead = "SELECT setval('lease.token', (extract(epoch FROM clock_timestamp()
                   - timestamptz '2026-01-01 UTC' + interval '3 days') * 1000000)::bigint)";
    client.batch_execute(ahead)?;
    assert_eq!(found(&mut client)?, ["warning tokens_ahead: sequence lease.token"]);
    Ok(())
}

#[test]
fn tokens_that_everybody_presents() -> Result<()> {
    // a server of its own: what is set for a role counts in all databases
    let server = Server::start("tokens")?;
    let mut client = database(&server, "tokens")?;
    client.batch_execute("CREATE ROLE pooled LOGIN")?;
    for (whose, subject) in [
        ("DATABASE tokens", "every role in database tokens"),
        ("ROLE pooled IN DATABASE tokens", "role pooled in database tokens"),
        ("ROLE pooled", "role pooled"),
    ] {
        wrong(
            &mut client,
            &format!("ALTER {whose} SET pg_lease.token = 'job=41'"),
            &[&format!("warning token_in_settings: {subject}")],
            &format!("ALTER {whose} RESET pg_lease.token"),
        )?;
    }
    let through = server.config("tokens").application_name("PgBouncer").connect(NoTls)?;
    let pooled = ["warning token_behind_pooler: application PgBouncer"];
    assert_eq!(found(&mut client)?, pooled);
    client.batch_execute("SET pg_lease.token_scope = transaction")?;
    assert!(found(&mut client)?.is_empty());
    client.batch_execute("RESET pg_lease.token_scope")?;
    drop(through);
    let gone = "SELECT count(*) = 0 FROM lease_doctor() WHERE finding = 'token_behind_pooler'";
    watch::until(&mut client, "the pooler to go", gone)
}

#[test]
fn members_of_pg_monitor_ask_the_doctor_and_others_do_not() -> Result<()> {
    let (server, mut client) = SERVER.database("asked")?;
    client.batch_execute(
        "CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE ROLE passer_by LOGIN;
         ALTER TABLE lease.lease SET (autovacuum_enabled = off)",
    )?;
    let connect = |role: &str| server.config("asked").user(role).connect(NoTls);
    assert_eq!(found(&mut connect("watcher")?)?.len(), 1);
    let ask = "SELECT FROM lease_doctor()";
    refused(connect("passer_by")?.batch_execute(ask), "42501")?;
    Ok(())
}
