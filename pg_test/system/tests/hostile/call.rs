//! Calls of the extension's functions, as the catalog declares them.

use anyhow::{Context, Result, bail};
use postgres::Client;
use std::collections::BTreeSet;
use system_tests::refusal::sqlstate;

/// A function or procedure that can be called by hand: neither a trigger nor an event trigger.
pub struct Function {
    pub is_procedure: bool,
    /// Quoted, with its schema.
    pub name: String,
    pub parallel_safe: bool,
    pub arguments: Vec<Argument>,
}

pub struct Argument {
    pub name: String,
    pub sql_type: String,
}

const FUNCTIONS: &str = "
SELECT p.oid::regproc::text, p.proparallel = 's' AND NOT p.proretset,
       coalesce(p.proargnames[1:p.pronargs], '{}'),
       ARRAY(SELECT t::regtype::text FROM unnest(p.proargtypes) WITH ORDINALITY AS a(t, n) ORDER BY n),
       p.prokind = 'p'
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
WHERE d.deptype = 'e' AND e.extname = 'pg_lease'
  AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
ORDER BY p.proname";

/// All functions of the extension. Their names are qualified, whatever the search_path was.
pub fn functions(client: &mut Client) -> Result<Vec<Function>> {
    client.batch_execute("SET search_path = ''")?;
    let rows = client.query(FUNCTIONS, &[])?;
    client.batch_execute("RESET search_path")?;
    let functions: Vec<Function> = rows
        .iter()
        .map(|row| {
            let (names, types): (Vec<String>, Vec<String>) = (row.get(2), row.get(3));
            let pairs = names.into_iter().zip(types);
            let arguments = pairs.map(|(name, sql_type)| Argument { name, sql_type }).collect();
            Function {
                is_procedure: row.get(4),
                name: row.get(0),
                parallel_safe: row.get(1),
                arguments,
            }
        })
        .collect();
    anyhow::ensure!(functions.len() > 15, "only {} functions found", functions.len());
    Ok(functions)
}

impl Function {
    /// The statement that a call is.
    pub fn statement(&self, call: &str) -> String {
        let verb = if self.is_procedure { "CALL" } else { "SELECT * FROM" };
        format!("{verb} {call}")
    }

    /// `schema.function(name => value, …)`, with a value for each argument.
    pub fn call(&self, mut value: impl FnMut(&Argument) -> Result<String>) -> Result<String> {
        let mut given = Vec::new();
        for argument in &self.arguments {
            let value = value(argument).with_context(|| {
                format!("{}: argument {} {}", self.name, argument.name, argument.sql_type)
            })?;
            given.push(format!("{} => {value}", argument.name));
        }
        Ok(format!("{}({})", self.name, given.join(", ")))
    }
}

/// A value that a call can do something with, by the argument's name or else by its type.
pub fn harmless(function: &Function, argument: &Argument, token: i64) -> Result<String> {
    let by_name = match argument.name.as_str() {
        "name" | "lease" | "job" | "queue" | "fleet" => "'job'",
        "owner" | "worker" => "'a'",
        "names" => "'{job,new}'",
        "workers" => "'{a,b}'",
        "ttl" => "'1 min'",
        // a call takes as long as this
        "over" => "'1 ms'",
        // most places are no place to wait in
        "wait" => "'0'",
        "role" => "'postgres'",
        "pattern" => "'job:*'",
        "rights" => "'{use}'",
        "mode" => "'current'",
        "keep_token" => "'while_live'",
        "signed" => "false",
        "signature" | "lease_column" => "NULL",
        "prefix" => "''",
        "value" => "'job'",
        "public_key" => "'11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'",
        "relation" if function.name.ends_with("lease_unguard") => "'work'::regclass",
        "relation" => "'plain'::regclass",
        "token" => return Ok(token.to_string()),
        "tokens" => return Ok(format!("ARRAY[{token}, 1]")),
        _ => "",
    };
    if !by_name.is_empty() {
        return Ok(by_name.to_owned());
    }
    Ok(match argument.sql_type.as_str() {
        "text" => "'x'",
        "text[]" => "'{x}'",
        "bigint" | "integer" | "numeric" => "1",
        "bigint[]" | "integer[]" => "'{1}'",
        "oid[]" => "ARRAY['plain'::regclass::oid]",
        "boolean" => "true",
        "interval" => "'1 min'",
        "timestamp with time zone" => "'2026-11-29 12:00:00+00'",
        "regclass" | "oid" => "'plain'::regclass",
        "jsonb" | "json" => "'{}'",
        "bytea" => "'\\x00'",
        // a pointer of the server's, which nobody else can make
        "pg_ddl_command" => "NULL",
        other => bail!("this test has no value of type {other}: give it one"),
    }
    .to_owned())
}

/// How a statement ended: `ok`, or an SQLSTATE. A connection that is gone is an error.
pub fn outcome(client: &mut Client, statement: &str) -> Result<String> {
    match client.batch_execute(statement) {
        Ok(()) => Ok("ok".to_owned()),
        Err(error) if error.as_db_error().is_some() => Ok(sqlstate(&error).to_owned()),
        Err(error) => Err(error).with_context(|| statement.chars().take(300).collect::<String>()),
    }
}

/// The SQLSTATEs that docs/reference.md says there are.
pub fn documented() -> Result<BTreeSet<String>> {
    let reference = std::fs::read_to_string(rig::home::checkout()?.join("docs/reference.md"))?;
    let (_, errors) = reference.split_once("\n## Errors").context("there are no errors")?;
    let words = errors.split(|c: char| !c.is_ascii_alphanumeric());
    let is_sqlstate = |word: &&str| {
        let upper = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
        word.len() == 5 && word.chars().all(upper) && word.starts_with(|c: char| c.is_ascii_digit())
    };
    let found: BTreeSet<String> = words.filter(is_sqlstate).map(str::to_owned).collect();
    anyhow::ensure!(found.len() > 8, "only {found:?} are documented");
    Ok(found)
}
