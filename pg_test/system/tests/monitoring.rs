//! The files in examples/monitoring: every query runs, for a member of pg_monitor and nobody else's
//! rights, and gives the columns that are exported; dashboard and alarms name nothing else.

use anyhow::{Context, Result, ensure};
use postgres::types::Type;
use postgres::{Client, NoTls};
use rig::home::checkout;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use system_tests::lease::{grant, guarded_table, present, takeover};
use system_tests::shared::Shared;
use yaml_rust2::{Yaml, YamlLoader};

static SERVER: Shared = Shared::new();

fn text(file: &str) -> Result<String> {
    let path = checkout()?.join("examples/monitoring").join(file);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn yaml(file: &str) -> Result<Yaml> {
    YamlLoader::load_from_str(&text(file)?)?.into_iter().next().context("an empty file")
}

fn word(of: &Yaml) -> Result<String> {
    Ok(of.as_str().with_context(|| format!("{of:?} is no text"))?.to_owned())
}

fn list(of: &Yaml) -> Result<&Vec<Yaml>> {
    of.as_vec().with_context(|| format!("{of:?} is no list"))
}

/// What an exporter makes of a query.
#[derive(Debug, Default, PartialEq, Eq)]
struct Query {
    sql: String,
    labels: BTreeSet<String>,
    /// Columns, and gauge or counter.
    values: BTreeMap<String, String>,
}

type Queries = BTreeMap<String, Query>;

/// queries.yaml: a block for each query, a list of columns with one key each.
fn of_postgres_exporter() -> Result<Queries> {
    let mut queries = Queries::new();
    for (name, block) in yaml("queries.yaml")?.as_hash().context("no blocks")? {
        let mut query = Query { sql: word(&block["query"])?, ..Query::default() };
        for column in list(&block["metrics"])? {
            let (column, about) =
                column.as_hash().and_then(|hash| hash.iter().next()).context("no column")?;
            ensure!(!word(&about["description"])?.is_empty(), "{column:?} says nothing");
            match about["usage"].as_str() {
                Some("LABEL") => drop(query.labels.insert(word(column)?)),
                Some(usage @ ("GAUGE" | "COUNTER")) => {
                    query.values.insert(word(column)?, usage.to_lowercase());
                }
                other => anyhow::bail!("{column:?} is used as {other:?}"),
            }
        }
        queries.insert(word(name)?, query);
    }
    Ok(queries)
}

/// The collector: a list of metrics, each of which points to a query.
fn of_sql_exporter() -> Result<Queries> {
    let collector = yaml("pg_lease.collector.yml")?;
    let mut queries = Queries::new();
    for query in list(&collector["queries"])? {
        let sql = word(&query["query"])?;
        queries.insert(word(&query["query_name"])?, Query { sql, ..Query::default() });
    }
    for metric in list(&collector["metrics"])? {
        let (name, of) = (word(&metric["metric_name"])?, word(&metric["query_ref"])?);
        let query = queries.get_mut(&of).with_context(|| format!("{name} has no query {of}"))?;
        ensure!(!word(&metric["help"])?.is_empty(), "{name} says nothing");
        let column = word(&list(&metric["values"])?[0])?;
        ensure!(name == format!("{of}_{column}"), "{name} is not {of}_{column}");
        if let Some(labels) = metric["key_labels"].as_vec() {
            query.labels.extend(labels.iter().map(word).collect::<Result<Vec<_>>>()?);
        }
        query.values.insert(column, word(&metric["type"])?);
    }
    Ok(queries)
}

/// What both export.
fn metrics() -> Result<BTreeSet<String>> {
    let queries = of_postgres_exporter()?;
    let all = queries.iter().flat_map(|(name, query)| {
        query.values.keys().map(move |column| format!("{name}_{column}"))
    });
    Ok(all.collect())
}

/// Breaks if the two files told different things.
#[test]
fn both_exporters_tell_the_same() -> Result<()> {
    let (one, other) = (of_postgres_exporter()?, of_sql_exporter()?);
    assert!(one.len() > 5);
    assert_eq!(one, other);
    Ok(())
}

/// Something to tell in each query.
fn busy(client: &mut Client) -> Result<()> {
    guarded_table(client, "job")?;
    let token = grant(client, "job", "a")?;
    client.batch_execute(
        "CREATE ROLE exporter LOGIN IN ROLE pg_monitor; CREATE TABLE part (n int);
         SELECT lease_guard('part', 'job'); ALTER TABLE part DISABLE TRIGGER ALL;
         SELECT lease_worker_pass('w1', shards => 4);
         SELECT lease_work_add('nodes', 'n', compute_now() - interval '1 hour');
         SELECT lease_once('payout', 'today')",
    )?;
    present(client, "job", token)?;
    Ok(())
}

/// Breaks if a view or a column had another name than the files say, or a right were missing.
#[test]
fn every_query_runs_as_a_member_of_pg_monitor() -> Result<()> {
    let (server, mut client) = SERVER.database("metrics")?;
    busy(&mut client)?;
    let mut stale = server.connect("metrics")?;
    let token: i64 =
        client.query_one("SELECT token FROM lease.lease WHERE name = 'job'", &[])?.get(0);
    present(&mut stale, "job", token)?;
    stale.batch_execute("BEGIN; INSERT INTO work (note) VALUES ('x')")?;
    takeover(&mut client, "job", "b", "1 hour")?;
    let mut exporter = server.config("metrics").user("exporter").connect(NoTls)?;
    for (name, query) in of_postgres_exporter()? {
        let rows = exporter.query(query.sql.as_str(), &[]).with_context(|| name.clone())?;
        let row = rows.first().with_context(|| format!("{name} tells nothing"))?;
        let there: BTreeSet<_> = row.columns().iter().map(|c| c.name().to_owned()).collect();
        let told: BTreeSet<_> = query.labels.iter().chain(query.values.keys()).cloned().collect();
        assert_eq!(there, told, "{name}");
        for column in row.columns() {
            let is_value = query.values.contains_key(column.name());
            let types =
                if is_value { [Type::INT8, Type::FLOAT8] } else { [Type::TEXT, Type::TEXT] };
            assert!(types.contains(column.type_()), "{name}.{}: {}", column.name(), column.type_());
        }
    }
    let told = |exporter: &mut Client, query: &str, what: &str| -> Result<i64> {
        let queries = of_postgres_exporter()?;
        let sql = &queries.get(query).context("no such query")?.sql;
        Ok(exporter.query_one(&format!("SELECT count FROM ({sql}) AS q WHERE {what}"), &[])?.get(0))
    };
    assert_eq!(told(&mut exporter, "pg_lease_transactions", "kind = 'stale'")?, 1);
    assert_eq!(told(&mut exporter, "pg_lease_guards", "enabled = 'disabled'")?, 1);
    assert_eq!(told(&mut exporter, "pg_lease_finding", "finding = 'guard_off'")?, 1);
    assert_eq!(told(&mut exporter, "pg_lease_leases", "state = 'void'")?, 0);
    Ok(())
}

/// Words of an expression that are metrics of ours.
fn named(expression: &str) -> Vec<String> {
    let of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = expression.split(|c| !of_a_name(c)).filter(|word| word.starts_with("pg_lease_"));
    words.map(str::to_owned).collect()
}

/// Breaks if dashboard or alarms asked for what nobody exports.
#[test]
fn dashboard_and_alarms_name_metrics_that_there_are() -> Result<()> {
    let metrics = metrics()?;
    let dashboard: serde_json::Value = serde_json::from_str(&text("grafana.json")?)?;
    let mut shown = BTreeSet::new();
    for panel in dashboard["panels"].as_array().context("no panels")? {
        for target in panel["targets"].as_array().context("no targets")? {
            shown.extend(named(target["expr"].as_str().context("no expression")?));
        }
    }
    assert_eq!(shown, metrics, "what is shown, and what is exported");
    let alerts = yaml("alerts.yaml")?;
    let rules = list(&alerts["groups"][0]["rules"])?;
    ensure!(rules.len() > 5);
    for rule in rules {
        let named = named(&word(&rule["expr"])?);
        ensure!(!named.is_empty() && named.iter().all(|name| metrics.contains(name)), "{rule:?}");
        ensure!(!word(&rule["annotations"]["summary"])?.is_empty());
    }
    Ok(())
}
