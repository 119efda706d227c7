//! Three PostgreSQL servers under Patroni, with one etcd, all on loopback.

use crate::node::{Node, Place};
use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use rig::port::Port;
use rig::server::clean_environment;
use rig::site::Site;
use rig::user::RunAs;
use rig::{Tree, wait_until};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A failover takes up to Patroni's ttl (20 s, the least that it allows) and then some.
pub const PATIENCE: Duration = Duration::from_secs(120);
const MEMBERS: usize = 3;

/// Dropping it ends everything that it started.
pub struct Cluster {
    pub nodes: Vec<Node>,
    synchronous: bool,
    etcd: Child,
    site: Site,
}

impl Cluster {
    /// Starts it, and waits until one leads and two follow.
    pub fn start(synchronous: bool) -> Result<Self> {
        let tree = Tree::ready()?;
        let user = RunAs::pick()?;
        let site = Site::make("patroni", user)?;
        let (client, peer) = (Port::reserve()?, Port::reserve()?);
        let etcd = start_etcd(&site.dir, user, client.number, peer.number)?;
        let mut nodes = Vec::new();
        for number in 1..=MEMBERS {
            let place = Place {
                name: format!("n{number}"),
                root: site.dir.clone(),
                bin: tree.own.bin.clone(),
                etcd: client.number,
                synchronous,
            };
            nodes.push(Node::make(place, user)?);
        }
        let mut cluster = Self { nodes, synchronous, etcd, site };
        for node in &mut cluster.nodes {
            node.start()?;
        }
        let whole = cluster.wait_until_whole();
        whole.with_context(|| cluster.logs()).map(|()| cluster)
    }

    /// What a client is given: all servers, of which it wants the one that takes writes.
    pub fn url(&self, database: &str) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!(
            "postgresql://postgres@{}/{database}?target_session_attrs=read-write&connect_timeout=2",
            hosts.join(",")
        )
    }

    pub fn connect(&self, database: &str) -> Result<Client> {
        Ok(Client::connect(&self.url(database), NoTls)?)
    }

    /// The node that takes writes.
    pub fn leader(&self) -> Result<usize> {
        let port: i32 =
            self.connect("postgres")?.query_one("SELECT inet_server_port()", &[])?.get(0);
        let found = self.nodes.iter().position(|node| i32::from(node.port()) == port);
        found.context("the leader is none of ours")
    }

    /// Waits until all others follow the leader, one of them synchronously if that is asked for.
    pub fn wait_until_whole(&self) -> Result<()> {
        let following = "SELECT count(*), count(*) FILTER (WHERE sync_state = 'sync')
                         FROM pg_stat_replication WHERE state = 'streaming'";
        let all = (MEMBERS as i64 - 1, i64::from(self.synchronous));
        wait_until("one to lead and two to follow", PATIENCE, || {
            let Ok(mut leader) = self.connect("postgres") else { return Ok(false) };
            let followers = leader.query_one(following, &[]);
            Ok(followers.is_ok_and(|row| (row.get(0), row.get(1)) == all))
        })
    }

    /// Who may take over as planned: the synchronous standby where there is one.
    pub fn successor(&self) -> Result<usize> {
        let first = "SELECT application_name FROM pg_stat_replication
                     ORDER BY sync_state = 'sync' DESC, application_name LIMIT 1";
        let name: String = self.connect("postgres")?.query_one(first, &[])?.get(0);
        let found = self.nodes.iter().position(|node| node.name() == name);
        found.with_context(|| format!("{name} is none of ours"))
    }

    /// Waits until another node than this takes writes.
    pub fn wait_for_another_leader(&self, old: usize) -> Result<usize> {
        let mut new = old;
        wait_until("another leader", PATIENCE, || {
            new = self.leader().unwrap_or(old);
            Ok(new != old)
        })?;
        Ok(new)
    }

    /// Asks Patroni for a switchover, as an administrator would.
    pub fn switch_over(&self, from: usize, to: usize) -> Result<()> {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        let body = format!(r#"{{"leader":"{}","candidate":"{}"}}"#, from.name(), to.name());
        let mut http = TcpStream::connect(("127.0.0.1", from.rest_port()))?;
        http.set_read_timeout(Some(PATIENCE))?;
        write!(
            http,
            "POST /switchover HTTP/1.0\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        http.read_to_string(&mut answer)?;
        let first = answer.lines().next().unwrap_or_default();
        ensure!(first.contains(" 200 "), "the switchover was refused: {answer}");
        Ok(())
    }

    pub fn logs(&self) -> String {
        self.nodes.iter().map(Node::log_tail).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            let _ = node.kill9();
        }
        let _ = self.etcd.kill();
        let _ = self.etcd.wait();
        let _ = self.site.clear();
    }
}

fn start_etcd(dir: &Path, user: RunAs, client: u16, peer: u16) -> Result<Child> {
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let log = File::create(dir.join("etcd.log"))?;
    let mut etcd = Command::new("etcd");
    clean_environment(&mut etcd);
    etcd.args(["--name", "e", "--log-level", "warn", "--data-dir"]).arg(dir.join("etcd"));
    etcd.args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)]);
    etcd.args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)]);
    etcd.args(["--initial-cluster", &format!("e={}", url(peer))]);
    user.apply(etcd.current_dir(dir).process_group(0));
    etcd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    etcd.spawn().context("cannot start etcd: the Debian package is etcd-server")
}
