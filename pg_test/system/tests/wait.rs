//! Those who wait for a lease get it first come, first served; each is woken when it is to be had;
//! and one that dies, is cancelled or runs out of time holds nobody up.

use anyhow::{Context, Result, bail, ensure};
use postgres::Client;
use rig::{Pooler, Server, process, wait_until};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};
use system_tests::history::all_differ;
use system_tests::lease::{acquire, grant, release, renew, state, takeover};
use system_tests::program::{Program, times_slept};
use system_tests::refusal::{LOCK_NOT_AVAILABLE, refused, sqlstate};
use system_tests::shared::{Shared, alone, database};
use system_tests::waiter::{Waiter, queued, until_head, until_not_queued, until_queued, wait_for};
use system_tests::watch::{PATIENCE, backend, until_waiting};

static SERVER: Shared = Shared::new();

/// Less than a head looks by itself: who is this fast was woken.
const WOKEN: Duration = Duration::from_millis(500);

/// A lease that "holder" has, and a session that looks at everything.
struct Bed {
    server: &'static Server,
    database: String,
    watcher: Client,
    holder: Client,
    token: i64,
}

impl Bed {
    fn new(database: &str) -> Result<Self> {
        let (server, watcher) = SERVER.database(database)?;
        let mut holder = server.connect(database)?;
        let token = grant(&mut holder, "job", "holder")?;
        Ok(Self { server, database: database.into(), watcher, holder, token })
    }

    fn connect(&self) -> Result<Client> {
        self.server.connect(&self.database)
    }

    fn queue(&mut self, owner: &str) -> Result<Waiter> {
        Waiter::queue(self.server.connect(&self.database)?, "job", owner, &mut self.watcher)
    }

    fn release(&mut self) -> Result<Instant> {
        assert_eq!(release(&mut self.holder, "job", "holder", self.token)?.status, "released");
        Ok(Instant::now())
    }
}

/// Breaks if the order were that of luck, if one release let two in, or if a grant were as old as the
/// call that asked for it.
#[test]
fn first_come_first_served() -> Result<()> {
    let mut bed = Bed::new("order")?;
    let owners = ["b", "c", "d", "e"];
    let waiters = owners.map(|owner| bed.queue(owner)).into_iter().collect::<Result<Vec<_>>>()?;
    let mut tokens = vec![bed.token];
    sleep(Duration::from_millis(1_100)); // a ttl that began with the call would be shorter
    bed.release()?;
    for (waiter, owner) in waiters.into_iter().zip(owners) {
        let (answer, mut client, _) = waiter.granted()?;
        assert_eq!((answer.status.as_str(), answer.owner.as_deref()), ("granted", Some(owner)));
        let token = answer.token.context("no token")?;
        ensure!(tokens.iter().all(|earlier| token > *earlier), "{token} after {tokens:?}");
        assert_eq!(answer.seconds_left, Some(3_600.0), "a full ttl from the grant");
        assert_eq!(state(&mut bed.watcher, "job")?, ("held".into(), token));
        tokens.push(token);
        assert_eq!(release(&mut client, "job", owner, token)?.status, "released");
    }
    all_differ(&tokens)?;
    assert_eq!(queued(&mut bed.watcher)?, 0);
    Ok(())
}

/// Breaks if nobody told the head.
#[test]
fn a_release_wakes_the_head() -> Result<()> {
    let _alone = alone();
    let mut bed = Bed::new("release")?;
    for round in 0..5 {
        let waiter = bed.queue(&format!("b{round}"))?;
        let released = bed.release()?;
        let (answer, _, at) = waiter.granted()?;
        ensure!(at - released < WOKEN, "woken after {:?}", at - released);
        let (owner, token) = (answer.owner.context("no owner")?, answer.token.context("none")?);
        release(&mut bed.watcher, "job", &owner, token)?;
        bed.token = grant(&mut bed.holder, "job", "holder")?;
    }
    Ok(())
}

/// Breaks if a release that comes with other work, in a savepoint, from the fleet or from lease_drain
/// told nobody.
#[test]
fn every_way_of_releasing_wakes_the_head() -> Result<()> {
    let _alone = alone();
    let mut bed = Bed::new("ways")?;
    let token = |bed: &Bed| bed.token;
    let ways: [&dyn Fn(i64) -> String; 3] = [
        &|token| {
            format!(
                "BEGIN; SAVEPOINT s; SELECT lease_release('job', 'holder', {token}); RELEASE s; COMMIT"
            )
        },
        &|_| "CALL lease_drain('holder', '0')".into(),
        &|_| {
            "SELECT lease_takeover('job', 'x', '1 hour'); \
             SELECT lease_release('job', 'x', token) FROM lease.status WHERE name = 'job'"
                .into()
        },
    ];
    for way in ways {
        let waiter = bed.queue("b")?;
        bed.holder.batch_execute(&way(token(&bed)))?;
        let released = Instant::now();
        let (answer, mut client, at) = waiter.granted()?;
        ensure!(at - released < WOKEN, "woken after {:?}", at - released);
        release(&mut client, "job", "b", answer.token.context("no token")?)?;
        bed.token = grant(&mut bed.holder, "job", "holder")?;
    }
    Ok(())
}

/// Breaks if a release that is rolled back were one.
#[test]
fn a_release_that_is_rolled_back_lets_nobody_in() -> Result<()> {
    let mut bed = Bed::new("undone")?;
    let waiter = bed.queue("b")?;
    let token = bed.token;
    bed.holder.batch_execute(&format!(
        "BEGIN; SELECT lease_release('job', 'holder', {token}); ROLLBACK"
    ))?;
    sleep(WOKEN);
    assert!(!waiter.has_ended());
    bed.release()?;
    assert_eq!(waiter.granted()?.0.status, "granted");
    Ok(())
}

/// Breaks if the head slept on until the expiry that it had seen before a takeover.
#[test]
fn a_takeover_is_seen_and_its_expiry_waited_for() -> Result<()> {
    let _alone = alone();
    let mut bed = Bed::new("takeover")?;
    let waiter = bed.queue("b")?;
    let ttl = Duration::from_millis(300);
    let taken = takeover(&mut bed.holder, "job", "other", "300 ms")?.token.context("no token")?;
    let began = Instant::now();
    let (answer, _, at) = waiter.granted()?;
    ensure!(answer.token > Some(taken), "{answer:?} after {taken}");
    let waited = at - began + Duration::from_millis(50); // the clock began before the answer came
    ensure!(waited >= ttl && at - began < ttl + WOKEN, "after {:?}", at - began);
    Ok(())
}

/// Breaks if an open transaction that drops the lease, or gives it away, were polled for.
#[test]
fn a_drop_and_a_grant_that_is_undone_let_the_head_in() -> Result<()> {
    let _alone = alone();
    let mut bed = Bed::new("dropped")?;
    bed.release()?;
    for (open, end) in [
        ("BEGIN; SELECT lease_drop('job')", "COMMIT"),
        ("BEGIN; SELECT lease_acquire('job', 'x')", "ROLLBACK"),
    ] {
        bed.holder.batch_execute(open)?;
        let waiter = Waiter::start(bed.connect()?, "job", "b", "1 min")?;
        until_waiting(&mut bed.watcher, waiter.backend, "transactionid")?;
        let before = times_slept(waiter.backend)?;
        sleep(Duration::from_millis(2_000));
        let looked = times_slept(waiter.backend)? - before;
        ensure!(looked < 40, "{looked} times in two seconds");
        bed.holder.batch_execute(end)?;
        let ended = Instant::now();
        let (answer, mut client, at) = waiter.granted()?;
        ensure!(at - ended < WOKEN, "woken after {:?}", at - ended);
        release(&mut client, "job", "b", answer.token.context("no token")?)?;
    }
    Ok(())
}

/// Breaks if the head slept longer than to the expiry, or took a lease that is renewed.
#[test]
fn an_expiry_lets_the_head_in_and_a_renewal_puts_it_off() -> Result<()> {
    let _alone = alone();
    let mut bed = Bed::new("expiry")?;
    let token = bed.token;
    let waiter = bed.queue("b")?;
    for _ in 0..5 {
        renew(&mut bed.holder, "job", "holder", token, "600 ms")?;
        sleep(Duration::from_millis(200));
        assert!(!waiter.has_ended(), "taken from a holder that renews");
    }
    renew(&mut bed.holder, "job", "holder", token, "300 ms")?;
    let renewed = Instant::now();
    drop(bed.holder); // a dead holder
    let (answer, _, at) = waiter.granted()?;
    let waited = at - renewed;
    ensure!(waited + Duration::from_millis(50) >= Duration::from_millis(300), "{waited:?}");
    ensure!(waited < Duration::from_millis(300) + WOKEN, "{waited:?}");
    assert_eq!(answer.seconds_left, Some(3_600.0));
    Ok(())
}

/// Breaks if the expiry were judged by another clock than the database's.
#[test]
fn the_databases_clock_counts() -> Result<()> {
    let _alone = alone();
    let (server, mut watcher) = SERVER.database("offset")?;
    watcher.batch_execute("ALTER DATABASE \"offset\" SET pg_lease.clock_offset = '-1 h'")?;
    let mut holder = server.connect("offset")?;
    acquire(&mut holder, "job", "holder", "400 ms")?;
    let began = Instant::now();
    let mut client = server.connect("offset")?;
    assert_eq!(wait_for(&mut client, "job", "b", "1 min")?.status, "granted");
    ensure!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    // a session whose clock is an hour ahead of that finds the lease expired
    watcher.batch_execute("SET pg_lease.clock_offset = 0")?;
    assert_eq!(wait_for(&mut watcher, "job", "c", "1 min")?.status, "granted");
    Ok(())
}

/// Breaks if nobody but those who tell were believed: nobody tells of these.
#[test]
fn what_nobody_tells_of_is_seen_within_a_second() -> Result<()> {
    let _alone = alone();
    let mut bed = Bed::new("untold")?;
    let waiter = bed.queue("b")?;
    bed.watcher.execute("UPDATE lease.lease SET expires_at = now() WHERE name = 'job'", &[])?;
    let changed = Instant::now();
    let (_, mut client, at) = waiter.granted()?;
    ensure!(at - changed < Duration::from_secs(2), "{:?}", at - changed);
    // and a waiter is no obstacle to those who want all leases for themselves
    let (next, third) = (bed.queue("c")?, bed.queue("d")?);
    let voided = "SET lock_timeout = '3 s'; SELECT lease_void_all()";
    client.batch_execute(voided).context("waiters are in the way of lease_void_all")?;
    let voided = Instant::now();
    let (_, mut client, at) = next.granted()?;
    ensure!(at - voided < Duration::from_secs(2), "{:?}", at - voided);
    client.batch_execute("SELECT lease_void_all()")?;
    third.granted()?;
    Ok(())
}

/// Breaks if who has the lease queued for it behind those who want it.
#[test]
fn the_holder_does_not_queue_for_its_own_lease() -> Result<()> {
    let mut bed = Bed::new("own")?;
    let waiter = bed.queue("b")?;
    let began = Instant::now();
    assert_eq!(wait_for(&mut bed.holder, "job", "holder", "30 s")?.status, "renewed");
    ensure!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    bed.release()?;
    waiter.granted()?;
    Ok(())
}

/// Every way out of the queue, for the head and for one in the middle: the others move up in order,
/// and nobody is held up.
#[test]
fn who_leaves_the_queue_holds_nobody_up() -> Result<()> {
    for (at, way) in ["cancel", "terminate", "statement_timeout", "wait"].into_iter().enumerate() {
        for leaver in [0, 1] {
            leaves(&format!("leaves_{at}_{leaver}"), way, leaver)
                .with_context(|| format!("{way}, number {leaver}"))?;
        }
    }
    Ok(())
}

fn leaves(database: &str, way: &str, leaver: usize) -> Result<()> {
    let mut bed = Bed::new(database)?;
    let mut waiters = Vec::new();
    for at in 0..3 {
        let mut client = bed.connect()?;
        if at == leaver && way == "statement_timeout" {
            client.batch_execute("SET statement_timeout = '1500 ms'")?;
        }
        let wait = if at == leaver && way == "wait" { "1500 ms" } else { "1 min" };
        let waiter = Waiter::start(client, "job", &format!("w{at}"), wait)?;
        until_queued(&mut bed.watcher, waiter.backend)?;
        waiters.push(waiter);
    }
    let gone = waiters.remove(leaver);
    let end = format!("SELECT pg_{way}_backend({})", gone.backend);
    if ["cancel", "terminate"].contains(&way) {
        bed.watcher.batch_execute(&end)?;
    }
    let (backend, expected) = (gone.backend, ["57014", "57P01", "57014", LOCK_NOT_AVAILABLE]);
    let (told, _client, _) = gone.end()?;
    let told = told.err().map(|error| sqlstate(&error).to_owned()).unwrap_or_default();
    ensure!(expected.contains(&told.as_str()), "it was told {told}");
    until_not_queued(&mut bed.watcher, backend)?;
    until_head(&mut bed.watcher, waiters[0].backend)?;
    let released = bed.release()?;
    let (answer, mut client, at) = waiters.remove(0).granted()?;
    ensure!(at - released < WOKEN, "after {:?}", at - released);
    let (owner, token) = (answer.owner.context("no owner")?, answer.token.context("no token")?);
    release(&mut client, "job", &owner, token)?;
    waiters.remove(0).granted()?;
    Ok(())
}

/// Breaks if a waiter whose client is gone kept its place, or got the lease.
#[test]
fn a_client_that_is_gone_loses_its_place_within_seconds() -> Result<()> {
    let mut bed = Bed::new("killed")?;
    for _ in 0..2 {
        let mut clients = Vec::new();
        let mut backends = Vec::new();
        for owner in ["dead", "also dead"] {
            let (client, backend) = psql_that_waits(&mut bed, owner)?;
            clients.push(client);
            backends.push(backend);
        }
        let alive = bed.queue("alive")?;
        clients.iter_mut().try_for_each(Program::kill9)?;
        for backend in backends {
            until_not_queued(&mut bed.watcher, backend)?;
        }
        until_head(&mut bed.watcher, alive.backend)?;
        bed.release()?;
        let (answer, mut client, _) = alive.granted()?;
        release(&mut client, "job", "alive", answer.token.context("no token")?)?;
        bed.token = grant(&mut bed.holder, "job", "holder")?;
    }
    Ok(())
}

fn psql_that_waits(bed: &mut Bed, owner: &str) -> Result<(Program, i32)> {
    let mut psql = Program::psql(bed.server, &bed.database)?;
    psql.send("SELECT 'pid ' || pg_backend_pid();")?;
    let pid = psql.says("pid ")?.replace("pid ", "").parse().context("no pid")?;
    psql.send(&format!("SELECT lease_acquire('job', '{owner}', '1 h', wait => '1 h');"))?;
    until_queued(&mut bed.watcher, pid)?;
    Ok((psql, pid))
}

/// Breaks if a head looked after its client now and then, but not before it takes the lease.
#[test]
fn a_client_that_is_gone_gets_no_lease() -> Result<()> {
    let mut bed = Bed::new("gone")?;
    for round in 0..3 {
        let (mut psql, _) = psql_that_waits(&mut bed, "dead")?;
        let next = bed.queue("alive")?;
        psql.kill9()?;
        let released = bed.release()?;
        let (answer, mut client, at) = next.granted()?;
        ensure!(at - released < WOKEN, "round {round}: after {:?}", at - released);
        let token = answer.token.context("no token")?;
        release(&mut client, "job", "alive", token)?;
        bed.token = grant(&mut bed.holder, "job", "holder")?;
    }
    let grants = "SELECT acquisitions FROM lease.status WHERE name = 'job'";
    // the holder's first, and each round the living and the holder
    assert_eq!(bed.watcher.query_one(grants, &[])?.get::<_, i64>(0), 1 + 3 * 2);
    Ok(())
}

/// Breaks if the socket alone were not enough: the client's process lives on.
#[test]
fn a_closed_socket_is_noticed() -> Result<()> {
    let mut bed = Bed::new("closed")?;
    let mut socket = Socket::connect(bed.server, &bed.database)?;
    socket.say(b'Q', b"SELECT lease_acquire('job', 'b', wait => '1 h')\0")?;
    until_queued(&mut bed.watcher, socket.backend)?;
    let backend = socket.backend;
    drop(socket);
    until_not_queued(&mut bed.watcher, backend)?;
    Ok(())
}

/// A client that can hang up in the middle of its own call.
struct Socket {
    stream: UnixStream,
    backend: i32,
}

impl Socket {
    fn connect(server: &Server, database: &str) -> Result<Self> {
        let path = format!("{}/.s.PGSQL.{}", server.host(), server.port());
        let mut socket = Self { stream: UnixStream::connect(path)?, backend: 0 };
        let hello = format!("\0\x03\0\0user\0postgres\0database\0{database}\0\0");
        socket.stream.write_all(&(hello.len() as i32 + 4).to_be_bytes())?;
        socket.stream.write_all(hello.as_bytes())?;
        loop {
            let (kind, body) = socket.hear()?;
            match kind {
                b'K' => socket.backend = i32::from_be_bytes(body[..4].try_into()?),
                b'Z' => return Ok(socket),
                b'E' => bail!("refused: {}", String::from_utf8_lossy(&body)),
                _ => {}
            }
        }
    }

    fn say(&mut self, kind: u8, body: &[u8]) -> Result<()> {
        self.stream.write_all(&[kind])?;
        self.stream.write_all(&(body.len() as i32 + 4).to_be_bytes())?;
        Ok(self.stream.write_all(body)?)
    }

    fn hear(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = i32::from_be_bytes(head[1..].try_into()?) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }
}

/// Breaks if a crash of the server left anything in the way of those who come after it.
#[test]
fn a_crash_ends_the_queue_and_a_new_one_forms() -> Result<()> {
    let server = Server::start("crash")?;
    let mut watcher = database(&server, "crash")?;
    let mut holder = server.connect("crash")?;
    grant(&mut holder, "job", "holder")?;
    let waiters =
        ["b", "c"].map(|owner| Waiter::queue(server.connect("crash")?, "job", owner, &mut watcher));
    let waiters = waiters.into_iter().collect::<Result<Vec<_>>>()?;
    process::send(backend(&mut holder)?, nix::sys::signal::Signal::SIGKILL)?;
    for waiter in waiters {
        ensure!(waiter.end()?.0.is_err(), "granted by a server that has crashed");
    }
    wait_until("the server to be back", PATIENCE, || Ok(server.connect("crash").is_ok()))?;
    let mut watcher = server.connect("crash")?;
    let waiter = Waiter::queue(server.connect("crash")?, "job", "b", &mut watcher)?;
    let (_, token) = state(&mut watcher, "job")?;
    release(&mut watcher, "job", "holder", token)?;
    waiter.granted()?;
    Ok(())
}

/// Breaks if a wait, or what is told of it, depended on a session that outlives a transaction.
#[test]
fn it_works_through_a_pooler_that_has_sessions_left() -> Result<()> {
    let mut bed = Bed::new("pooled")?;
    let pooler = Pooler::over(bed.server, 2)?;
    let mut waiting = pooler.connect("pooled")?;
    let thread = std::thread::spawn(move || {
        let call = "SELECT owner FROM lease_acquire('job', 'b', wait => '1 min')";
        waiting.simple_query(call).map(|_| waiting)
    });
    wait_until("the waiter", PATIENCE, || Ok(queued(&mut bed.watcher)? == 1))?;
    // the second session serves the holder
    let mut holder = pooler.connect("pooled")?;
    let token = bed.token;
    let call =
        |what: &str, more: &str| format!("SELECT lease_{what}('job', 'holder', {token}{more})");
    holder.simple_query(&call("renew", ", '1 hour'"))?;
    // all sessions are taken by those who wait: the holder's renewal waits for one
    let mut second = pooler.connect("pooled")?;
    let other = std::thread::spawn(move || {
        let call = "SELECT owner FROM lease_acquire('job', 'c', wait => '3 s')";
        (second.simple_query(call).map(|_| ()), second)
    });
    wait_until("both waiters", PATIENCE, || Ok(queued(&mut bed.watcher)? == 2))?;
    let began = Instant::now();
    holder.simple_query(&call("renew", ", '1 hour'"))?;
    let waited = began.elapsed();
    ensure!(waited > Duration::from_secs(1), "it had a session after {waited:?}");
    let (told, _second) = other.join().map_err(|_| anyhow::anyhow!("a thread died"))?;
    drop(refused(told, LOCK_NOT_AVAILABLE)?);
    holder.simple_query(&call("release", ""))?;
    let waiting = thread.join().map_err(|_| anyhow::anyhow!("a thread died"))??;
    assert_eq!(state(&mut bed.watcher, "job")?.0, "held");
    drop(waiting);
    Ok(())
}
