//! Random arguments: whatever a function is given, it does its work or refuses with an SQLSTATE that the
//! reference knows. The seed is printed with what it found, and `SEED=` takes it again.

use crate::amount;
use crate::call::{Argument, Function, documented, functions, harmless, outcome};
use anyhow::{Result, ensure};
use postgres::Client;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};
use system_tests::lease::grant;
use system_tests::shared::Shared;

static SERVER: Shared = Shared::new();

/// Calls a function.
const LITTLE: u32 = 150;
const MUCH: u32 = 3_000;

/// splitmix64.
pub struct Random(u64);

impl Random {
    /// From `SEED=`, or from the clock.
    pub fn new() -> (Self, u64) {
        let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
        let clock =
            || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        let seed = given.unwrap_or_else(clock);
        (Self(seed), seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const TEXTS: &[&str] = &[
    "''",
    "' '",
    "'job'",
    "'job:1'",
    "'far'",
    "'*'",
    "'job:*'",
    "'**'",
    "'a*b'",
    "'a'",
    "'A'",
    "'current'",
    "'live'",
    "'newest'",
    "'while_live'",
    "'while_owner'",
    "'never'",
    "'postgres'",
    "'hostile_plain'",
    "'use'",
    "'force'",
    "E'a\\nb'",
    "E'\\t'",
    "E'\\u0001'",
    "'é'",
    "'日本'",
    "'a b'",
    "'a%'",
    "'%s%n'",
    "'''; DROP TABLE work; --'",
    "'$1'",
    "'\"'",
    "'\\'",
    "repeat('x', 200)",
    "repeat('x', 201)",
    "repeat('é', 200)",
    "repeat('x', 100000)",
    "'job=1'",
    "'0'",
    "'-1'",
    "'11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'",
    "repeat('A', 43)",
    "repeat('A', 86)",
];
const BIGINTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "7",
    "255",
    "256",
    "1000",
    "1001",
    "2147483647",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "28741523123498",
    "TOKEN",
    "TOKEN + 1",
    "TOKEN - 1",
    "lease.home()",
];
const INTEGERS: &[&str] =
    &["0", "1", "-1", "2", "255", "256", "65536", "2147483647", "-2147483648"];
const INTERVALS: &[&str] = &[
    "'0'",
    "'1 ms'",
    "'1 s'",
    "'1 min'",
    "'1 day'",
    "'86400001 ms'",
    "'-1 s'",
    "'0.5 ms'",
    "'1 us'",
    "'1 month'",
    "'-1 day +25 hours'",
    "'1 month -30 days'",
    "make_interval(secs => 1e300)",
    "'178000000 years'",
    "'-178000000 years'",
    "make_interval(days => 2147483647)",
    "make_interval(days => -2147483648, hours => 24)",
];
/// Of arguments that say how long a call takes: none that is good and long.
const LENGTHS: &[&str] =
    &["NULL", "'0'", "'1 ms'", "'100 ms'", "'-1 s'", "'1 month'", "'2 days'", "'178000000 years'"];
const TIMES: &[&str] = &[
    "'infinity'",
    "'-infinity'",
    "'4714-11-24 00:00:00+00 BC'",
    "'294276-12-31 23:59:59.999999+00'",
    "'epoch'",
    "now()",
    "'2026-11-29 12:00:00+00'",
];
const RELATIONS: &[&str] = &[
    "'work'",
    "'plain'",
    "'tree'",
    "'leaf'",
    "'heir'",
    "'shown'",
    "'counted'",
    "'work_pkey'",
    "'pg_class'",
    "'lease.lease'",
    "'lease.status'",
    "'lease.token'",
    "'kept'",
    "'toasted'",
    "0::oid",
    "4294967295::oid",
    "'far_away'",
    "'passing'",
    "'ruled'",
];
const BOOLEANS: &[&str] = &["true", "false"];

/// A random value of the argument's type, as SQL. Most are ones that the call gets somewhere with, so
/// that the others are looked at in every depth.
fn random_value(
    random: &mut Random,
    function: &Function,
    argument: &Argument,
    token: i64,
) -> Result<String> {
    if random.below(5) > 1 {
        return harmless(function, argument, token);
    }
    if ["over", "wait"].contains(&argument.name.as_str()) {
        return Ok(random.one_of(LENGTHS).to_owned());
    }
    let sql_type = argument.sql_type.as_str();
    let value = match (random.below(10), sql_type.strip_suffix("[]")) {
        (0, _) => "NULL".to_owned(),
        (_, Some(element)) => array(random, element)?,
        (_, None) => scalar(random, sql_type)?.to_owned(),
    };
    Ok(format!("({})::{sql_type}", by_name(sql_type, value)).replace("TOKEN", &token.to_string()))
}

fn scalar(random: &mut Random, sql_type: &str) -> Result<&'static str> {
    Ok(match sql_type {
        "text" => random.one_of(TEXTS),
        "bigint" => random.one_of(BIGINTS),
        "integer" => random.one_of(INTEGERS),
        "interval" => random.one_of(INTERVALS),
        "timestamp with time zone" => random.one_of(TIMES),
        "boolean" => random.one_of(BOOLEANS),
        "regclass" | "oid" => random.one_of(RELATIONS),
        "jsonb" | "json" => random.one_of(&["'{}'", "'[]'", "'null'", "'{\"a\": [1, 2]}'"]),
        "bytea" => random.one_of(&["''", "'\\x00'", "'\\xff'"]),
        "double precision" => random.one_of(&["0", "-1", "'NaN'", "'Infinity'", "1e300"]),
        "pg_ddl_command" => "NULL",
        other => anyhow::bail!("this test has no values of type {other}: give it some"),
    })
}

/// An OID is that of a relation, which is given by its name.
fn by_name(sql_type: &str, value: String) -> String {
    if sql_type == "oid" { format!("({value})::regclass") } else { value }
}

fn array(random: &mut Random, element: &str) -> Result<String> {
    let one = |random: &mut Random| -> Result<String> {
        Ok(format!("({})::{element}", by_name(element, scalar(random, element)?.to_owned())))
    };
    let items = |random: &mut Random, count: usize| -> Result<String> {
        Ok((0..count).map(|_| one(random)).collect::<Result<Vec<_>>>()?.join(", "))
    };
    Ok(match random.below(8) {
        0 => format!("ARRAY[]::{element}[]"),
        1 => format!("ARRAY[{}, NULL]", one(random)?),
        2 => format!("ARRAY[[{}], [{}]]", items(random, 2)?, items(random, 2)?),
        3 => format!("array_fill({}, ARRAY[1001])", one(random)?),
        4 => format!("array_fill({}, ARRAY[2], ARRAY[7])", one(random)?),
        _ => {
            let count = 1 + random.below(3);
            format!("ARRAY[{}]", items(random, count)?)
        }
    })
}

/// Relations of every kind, and a lease.
fn prepare(client: &mut Client) -> Result<i64> {
    client.batch_execute(
        "CREATE TABLE work (n int PRIMARY KEY, t text);
         CREATE TABLE plain (n int);
         CREATE TABLE tree (n int) PARTITION BY LIST (n);
         CREATE TABLE leaf PARTITION OF tree DEFAULT;
         CREATE TABLE heir () INHERITS (plain);
         CREATE VIEW shown AS SELECT * FROM plain;
         CREATE SEQUENCE counted;
         CREATE MATERIALIZED VIEW kept AS SELECT 1 AS n;
         CREATE TABLE toasted (t text);
         CREATE TEMP TABLE passing (n int);
         CREATE TABLE ruled (n int);
         CREATE RULE r AS ON INSERT TO ruled DO INSTEAD NOTHING;
         CREATE FOREIGN DATA WRAPPER nowhere;
         CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
         CREATE FOREIGN TABLE far_away (n int) SERVER nowhere;
         SELECT lease_guard('work', 'job');
         SET lock_timeout = '100 ms'; SET statement_timeout = '30 s'",
    )?;
    grant(client, "job", "a")
}

struct Found {
    outcomes: BTreeMap<String, u32>,
    wrong: Vec<String>,
}

/// Calls each function so often with random arguments, and keeps what answered wrongly.
fn attack(
    client: &mut Client,
    functions: &[Function],
    random: &mut Random,
    token: i64,
    allowed: &BTreeSet<String>,
) -> Result<Found> {
    let mut found = Found { outcomes: BTreeMap::new(), wrong: Vec::new() };
    for function in functions {
        let calls = if function.arguments.is_empty() { 3 } else { amount(LITTLE, MUCH) };
        for _ in 0..calls {
            let call = function.call(|argument| random_value(random, function, argument, token))?;
            let rolled_back = random.below(2) == 0 && !function.is_procedure;
            let statement = function.statement(&call);
            let ended = if rolled_back {
                client.batch_execute("BEGIN")?;
                let ended = outcome(client, &statement)?;
                client.batch_execute("ROLLBACK")?;
                ended
            } else {
                outcome(client, &statement)?
            };
            if ended != "ok" && !allowed.contains(&ended) {
                found
                    .wrong
                    .push(format!("{ended}: {}", call.chars().take(300).collect::<String>()));
            }
            *found.outcomes.entry(ended).or_default() += 1;
        }
    }
    Ok(found)
}

fn no_crash() -> Result<()> {
    let log = SERVER.server()?.log();
    let crash = log.lines().find(|l| l.contains("terminated by signal") || l.contains("PANIC"));
    ensure!(crash.is_none(), "{crash:?}");
    Ok(())
}

/// Breaks if any function crashed, panicked (XX000), or let an error of the server's own through that
/// the reference does not tell.
#[test]
fn only_documented_errors_come_back() -> Result<()> {
    let (_, mut client) = SERVER.database("arguments")?;
    let functions = functions(&mut client)?;
    let token = prepare(&mut client)?;
    let (mut random, seed) = Random::new();
    let found = attack(&mut client, &functions, &mut random, token, &documented()?)?;
    println!("seed {seed}: {:?}", found.outcomes);
    no_crash()?;
    ensure!(found.outcomes.contains_key("ok") && found.outcomes.len() > 5, "nothing was reached");
    ensure!(found.wrong.is_empty(), "SEED={seed}\n{}", found.wrong.join("\n"));
    Ok(())
}

/// The same for a role that nothing was opened to. Breaks, too, if it changed anything.
#[test]
fn a_plain_role_changes_nothing() -> Result<()> {
    let (_, mut client) = SERVER.database("plain")?;
    let functions = functions(&mut client)?;
    let token = prepare(&mut client)?;
    let all = "SELECT coalesce(string_agg(l::text, ' ' ORDER BY name), '') FROM lease.lease AS l";
    let before: String = client.query_one(all, &[])?.get(0);
    let made = "DO $$ BEGIN CREATE ROLE hostile_plain; EXCEPTION WHEN duplicate_object THEN END $$";
    client.batch_execute(made)?;
    client.batch_execute("SET ROLE hostile_plain")?;
    let (mut random, seed) = Random::new();
    let found = attack(&mut client, &functions, &mut random, token, &documented()?)?;
    println!("seed {seed}: {:?}", found.outcomes);
    client.batch_execute("RESET ROLE")?;
    no_crash()?;
    let after: String = client.query_one(all, &[])?.get(0);
    ensure!(before == after, "SEED={seed}: {before} became {after}");
    ensure!(found.wrong.is_empty(), "SEED={seed}\n{}", found.wrong.join("\n"));
    Ok(())
}

/// Settings that are written by anybody, and read by the guard.
#[test]
fn any_setting_is_read_or_refused() -> Result<()> {
    let (_, mut client) = SERVER.database("settings")?;
    let token = prepare(&mut client)?;
    let (mut random, seed) = Random::new();
    const PARTS: &[&str] = &[
        "job",
        "=",
        ",",
        " ",
        "TOKEN",
        "0",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "é",
        "''",
        "\"",
        "\\",
        "job=TOKEN",
        "far=1",
        ".",
        "x",
        "\t",
        "A",
        "=job=",
    ];
    let mut passed = 0;
    for _ in 0..amount(2_000, 50_000) {
        let count = random.below(6);
        let text: String = (0..count).map(|_| random.one_of(PARTS)).collect();
        let text = text.replace("TOKEN", &token.to_string());
        let set = outcome(&mut client, &format!("SET pg_lease.token = '{text}'"))?;
        ensure!(set == "ok" || set == "22023", "SEED={seed}: {set} for {text:?}");
        let wrote = outcome(&mut client, "INSERT INTO plain VALUES (1); DELETE FROM work")?;
        ensure!(wrote == "ok" || wrote == "55000", "SEED={seed}: {wrote} for {text:?}");
        passed += u32::from(wrote == "ok");
        let presented: String = client.query_one("SHOW pg_lease.token", &[])?.get(0);
        let good = presented.split(',').any(|one| {
            let one: String = one.split_whitespace().collect();
            one == format!("job={token}")
        });
        ensure!((wrote == "ok") == good, "SEED={seed}: {wrote} under {presented:?}");
    }
    ensure!(passed > 0, "SEED={seed}: nothing good was presented");
    Ok(())
}
