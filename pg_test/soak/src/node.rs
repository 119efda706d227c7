//! What one server's history says, in the order in which its transactions committed: read by
//! logical decoding, from a slot that was there before the first client.

use crate::worker::Order;
use anyhow::{Context, Result, bail};
use postgres::Client;
use std::collections::BTreeMap;

/// A lease's row, or the newest token that a resource has obeyed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub token: i64,
    /// None after a release.
    pub owner: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Lease {
        name: String,
        row: Row,
    },
    /// A row of a guarded table: which operation wrote which part of it, under which token.
    Work {
        lease: String,
        operation: String,
        part: i32,
        token: i64,
    },
}

/// What one transaction changed.
pub type Transaction = Vec<Change>;

/// One server, and what was committed on it while the test looked.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub server: String,
    /// Its guards obey the newest token: the leases are granted elsewhere.
    pub is_resource: bool,
    /// The leases when the slot was made.
    pub before: BTreeMap<String, Row>,
    /// The rows that were there then, with their lease: a promoted standby has its primary's.
    pub inherited: Vec<(String, String, i32)>,
    pub transactions: Vec<Transaction>,
}

/// Makes the slot, and notes what the leases are. Nobody may be at work yet.
pub fn watch(client: &mut Client, server: &str, is_resource: bool) -> Result<Node> {
    client.execute(
        "SELECT pg_create_logical_replication_slot(current_database(), 'test_decoding')",
        &[],
    )?;
    let mut node = Node { server: server.to_owned(), is_resource, ..Node::default() };
    for row in client.query("SELECT name, token, owner FROM lease.lease", &[])? {
        let lease = Row { token: row.get(1), owner: row.get(2) };
        node.before.insert(row.get(0), lease);
    }
    for lease in &guarded(client)? {
        let table = Order::table(lease);
        for row in client.query(&format!("SELECT operation, part FROM {table}"), &[])? {
            node.inherited.push((lease.clone(), row.get(0), row.get(1)));
        }
    }
    Ok(node)
}

/// The leases that guard tables here.
fn guarded(client: &mut Client) -> Result<Vec<String>> {
    let rows = client.query("SELECT lease FROM lease.guards ORDER BY lease", &[])?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

impl Node {
    /// Reads what was committed since.
    pub fn read(&mut self, client: &mut Client) -> Result<()> {
        let question =
            "SELECT data FROM pg_logical_slot_peek_changes(current_database(), NULL, NULL,
                          'skip-empty-xacts', '1')";
        let mut open = Transaction::new();
        for row in client.query(question, &[])? {
            let line: &str = row.get(0);
            if line.starts_with("COMMIT") {
                self.transactions.push(std::mem::take(&mut open));
            } else if let Some(change) = parse(line, self.is_resource)? {
                open.push(change);
            }
        }
        Ok(())
    }

    /// The rows of guarded tables, in commit order.
    pub fn works(&self) -> impl Iterator<Item = (&str, i32)> {
        let inherited =
            self.inherited.iter().map(|(_, operation, part)| (operation.as_str(), *part));
        inherited.chain(self.transactions.iter().flatten().filter_map(|change| match change {
            Change::Work { operation, part, .. } => Some((operation.as_str(), *part)),
            Change::Lease { .. } => None,
        }))
    }
}

/// A line of test_decoding: `table public.work_0: INSERT: operation[text]:'w1.0/3' …`
fn parse(line: &str, is_resource: bool) -> Result<Option<Change>> {
    let Some((table, rest)) = line.strip_prefix("table ").and_then(|l| l.split_once(": ")) else {
        return Ok(None);
    };
    let leases = if is_resource { "lease.fence" } else { "lease.lease" };
    if table == leases {
        return Ok(Some(Change::Lease { name: needed(rest, "name[text]")?, row: row(rest)? }));
    }
    let Some(number) = table.strip_prefix("public.work_") else { return Ok(None) };
    if !rest.starts_with("INSERT:") {
        bail!("nobody but the clients writes here: {line}");
    }
    Ok(Some(Change::Work {
        lease: format!("job:{number}"),
        operation: needed(rest, "operation[text]")?,
        part: needed(rest, "part[integer]")?.parse()?,
        token: needed(rest, "token[bigint]")?.parse()?,
    }))
}

fn row(columns: &str) -> Result<Row> {
    Ok(Row {
        token: needed(columns, "token[bigint]")?.parse()?,
        owner: value(columns, "owner[text]").filter(|owner| owner != "null"),
    })
}

fn needed(columns: &str, name: &str) -> Result<String> {
    value(columns, name).with_context(|| format!("no {name} in {columns}"))
}

/// No value that we write has a space or a quote in it.
fn value(columns: &str, name: &str) -> Option<String> {
    let after = columns.split_once(&format!(" {name}:"))?.1;
    Some(after.split(' ').next()?.trim_matches('\'').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_read() -> Result<()> {
        let line = "table lease.lease: UPDATE: token[bigint]:41 expires_at[timestamp with time \
            zone]:'2026-11-29 20:00:00.123+00' since[timestamp with time zone]:'2026-11-29 \
            20:00:00+00' acquisitions[bigint]:3 home[bigint]:77 ttl_ms[integer]:500 \
            name[text]:'job:1' owner[text]:'w1.0'";
        let row = Row { token: 41, owner: Some("w1.0".to_owned()) };
        let change = Change::Lease { name: "job:1".to_owned(), row };
        assert_eq!(parse(line, false)?, Some(change));
        let released = line.replace("'w1.0'", "null");
        let Some(Change::Lease { row, .. }) = parse(&released, false)? else { bail!("no lease") };
        assert_eq!(row, Row { token: 41, owner: None });
        assert_eq!(parse(line, true)?, None);
        Ok(())
    }

    #[test]
    fn a_row_is_read_and_a_deleted_one_is_refused() -> Result<()> {
        let line = "table public.work_3: INSERT: operation[text]:'w1.0/7' part[integer]:-1 \
            token[bigint]:41";
        let change = Change::Work {
            lease: "job:3".to_owned(),
            operation: "w1.0/7".to_owned(),
            part: -1,
            token: 41,
        };
        assert_eq!(parse(line, false)?, Some(change));
        assert!(parse("table public.work_3: DELETE: (no-tuple-data)", false).is_err());
        assert_eq!(parse("BEGIN 740", false)?, None);
        Ok(())
    }
}
