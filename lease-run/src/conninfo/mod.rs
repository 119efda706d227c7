//! Where the server is, and who we are there: connection string, service file, environment and
//! defaults, in this order, as libpq has them.

pub mod pgpass;
mod service;
mod text;
pub mod tls;

use crate::say::{self, Level};
use nix::unistd::{User, geteuid};
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;
use tls::Tls;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode, TargetSessionAttrs};

pub type Params = BTreeMap<String, String>;

/// How long one host may take, where connect_timeout does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The variables and the parameters that they stand for.
const ENVIRONMENT: [(&str, &str); 28] = [
    ("PGAPPNAME", "application_name"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGCLIENTENCODING", "client_encoding"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGDATABASE", "dbname"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGGSSLIB", "gsslib"),
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGKRBSRVNAME", "krbsrvname"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
    ("PGOPTIONS", "options"),
    ("PGPASSFILE", "passfile"),
    ("PGPASSWORD", "password"),
    ("PGPORT", "port"),
    ("PGREQUIREAUTH", "require_auth"),
    ("PGREQUIREPEER", "requirepeer"),
    ("PGSERVICE", "service"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLCRLDIR", "sslcrldir"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGUSER", "user"),
];

/// What is obeyed.
const OBEYED: [&str; 22] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "options",
    "passfile",
    "password",
    "port",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "tcp_user_timeout",
    "user",
    "fallback_application_name",
];

/// What makes no difference here, with the values for which that is true (none: all). Anything else
/// is refused: it might be there for safety.
const WITHOUT_EFFECT: [(&str, &[&str]); 10] = [
    ("client_encoding", &[]),
    ("gssencmode", &["disable", "prefer"]),
    ("gsslib", &[]),
    ("krbsrvname", &[]),
    ("load_balance_hosts", &[]),
    ("sslcompression", &["0"]),
    ("sslnegotiation", &["postgres"]),
    ("sslsni", &["1"]),
    ("ssl_min_protocol_version", &["TLSv1", "TLSv1.1", "TLSv1.2"]),
    ("target_session_attrs", &[]),
];

/// Everything that is known about how to connect.
pub struct Conninfo {
    params: Params,
    home: Option<PathBuf>,
    tls: Tls,
}

/// One server that may be the one.
pub struct Candidate {
    pub config: Config,
    pub tls: Tls,
    pub shown: String,
    pub timeout: Duration,
}

impl Conninfo {
    /// Reads the connection string, if there is one, and fills it up from the environment.
    pub fn read(given: Option<&str>) -> Result<Self, String> {
        let home = env::home_dir();
        let mut params = given.map_or(Ok(Params::new()), text::parse)?;
        let environment = environment(|name| env::var(name).ok());
        if let Some(name) = params.get("service").or(environment.get("service")).cloned() {
            fill(&mut params, service::load(&name, &service_files(home.as_deref()))?);
        }
        fill(&mut params, environment);
        check(&params)?;
        let tls = tls::of(&params, home.as_deref())?;
        let conninfo = Self { params, home, tls };
        conninfo.candidates()?;
        Ok(conninfo)
    }

    /// The servers in the order in which they are tried.
    pub fn candidates(&self) -> Result<Vec<Candidate>, String> {
        let (hosts, addresses) = (self.list("host"), self.list("hostaddr"));
        let ports = self.list("port");
        let count = hosts.len().max(addresses.len()).max(1);
        let fits = |list: &[&str]| list.len() == count || list.is_empty();
        if !fits(&hosts) || !fits(&addresses) || !(fits(&ports) || ports.len() == 1) {
            return Err(format!("could not match the ports and addresses to {count} hosts"));
        }
        let at = |list: &[&str], at: usize| {
            let found = list.get(at).or(if list.len() == 1 { list.first() } else { None });
            found.filter(|text| !text.is_empty()).map(|text| (*text).to_owned())
        };
        (0..count)
            .map(|i| self.candidate(at(&hosts, i), at(&addresses, i), at(&ports, i)))
            .collect()
    }

    fn candidate(
        &self,
        host: Option<String>,
        address: Option<String>,
        port: Option<String>,
    ) -> Result<Candidate, String> {
        let host = host.or_else(|| address.clone()).unwrap_or_else(default_socket);
        let port = port.unwrap_or_else(|| "5432".to_owned());
        let mut tls = self.tls.clone();
        let mut config = Config::new();
        config.host(&host).port(number("port", &port)?);
        let by_socket = host.starts_with('/');
        match address {
            Some(address) if !by_socket => {
                let ip = address.parse();
                config.hostaddr(ip.map_err(|_| format!("invalid hostaddr: \"{address}\""))?);
            }
            _ => {}
        }
        if by_socket {
            tls.mode = SslMode::Disable; // as libpq: TLS is for TCP
        }
        let timeout = self.configure(&mut config, &host, &port, tls.mode)?;
        Ok(Candidate { config, tls, shown: format!("{host}:{port}"), timeout })
    }

    fn configure(
        &self,
        config: &mut Config,
        host: &str,
        port: &str,
        mode: SslMode,
    ) -> Result<Duration, String> {
        let user = self.get("user").map_or_else(os_user, |user| Ok(user.to_owned()))?;
        let dbname = self.get("dbname").unwrap_or(&user).to_owned();
        config.user(&user).dbname(&dbname).ssl_mode(mode);
        config.application_name(self.get("application_name").unwrap_or("lease-run"));
        // a lease is granted where it can be written, whatever is read elsewhere
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if let Some(options) = self.get("options") {
            config.options(options);
        }
        if let Some(password) = self.password(host, port, &dbname, &user) {
            config.password(password);
        }
        if let Some(binding) = self.get("channel_binding") {
            config.channel_binding(channel_binding(binding)?);
        }
        self.keepalives(config)?;
        let timeout = match self.get("connect_timeout") {
            Some(text) => {
                Duration::from_secs(number::<i64>("connect_timeout", text)?.max(0) as u64)
            }
            None => CONNECT_TIMEOUT,
        };
        // 0 is for ever to libpq: here nothing is
        let timeout = if timeout.is_zero() { CONNECT_TIMEOUT } else { timeout };
        config.connect_timeout(timeout);
        Ok(timeout)
    }

    fn keepalives(&self, config: &mut Config) -> Result<(), String> {
        let seconds = |key: &str| -> Result<Option<Duration>, String> {
            let number = self.get(key).map(|text| number::<u64>(key, text)).transpose()?;
            Ok(number.filter(|n| *n > 0).map(Duration::from_secs))
        };
        config.keepalives(self.get("keepalives").is_none_or(|on| on != "0"));
        if let Some(idle) = seconds("keepalives_idle")? {
            config.keepalives_idle(idle);
        }
        if let Some(interval) = seconds("keepalives_interval")? {
            config.keepalives_interval(interval);
        }
        if let Some(count) = self.get("keepalives_count") {
            config.keepalives_retries(number("keepalives_count", count)?);
        }
        if let Some(ms) = self.get("tcp_user_timeout") {
            config.tcp_user_timeout(Duration::from_millis(number("tcp_user_timeout", ms)?));
        }
        Ok(())
    }

    fn password(&self, host: &str, port: &str, dbname: &str, user: &str) -> Option<String> {
        if let Some(password) = self.get("password") {
            return Some(password.to_owned());
        }
        let usual = self.home.as_ref().map(|home| home.join(".pgpass"));
        let file = self.get("passfile").map(PathBuf::from).or(usual)?;
        let host = if host == default_socket() { "localhost" } else { host };
        let found = pgpass::password(&file, &pgpass::Wanted { host, port, dbname, user });
        found.unwrap_or_else(|why| {
            static SAID: Once = Once::new();
            SAID.call_once(|| say::line(Level::Usual, format!("{why}: it is not used")));
            None
        })
    }

    /// Empty values are none, as with libpq.
    fn get(&self, key: &str) -> Option<&str> {
        self.params.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn list(&self, key: &str) -> Vec<&str> {
        self.get(key).map(|text| text.split(',').collect()).unwrap_or_default()
    }
}

/// What is there already stays.
fn fill(params: &mut Params, more: Params) {
    for (key, value) in more {
        params.entry(key).or_insert(value);
    }
}

fn environment(get: impl Fn(&str) -> Option<String>) -> Params {
    let set = ENVIRONMENT.iter().filter_map(|(name, key)| Some(((*key).to_owned(), get(name)?)));
    set.filter(|(_, value)| !value.is_empty()).collect()
}

fn check(params: &Params) -> Result<(), String> {
    for (key, value) in params.iter().filter(|(_, value)| !value.is_empty()) {
        let harmless = WITHOUT_EFFECT.iter().any(|(name, values)| {
            name == key && (values.is_empty() || values.contains(&value.as_str()))
        });
        if !harmless && !OBEYED.contains(&key.as_str()) {
            let known = WITHOUT_EFFECT.iter().any(|(name, _)| name == key)
                || ENVIRONMENT.iter().any(|(_, name)| name == key);
            let what = if known { format!("{key}={value}") } else { key.clone() };
            return Err(format!("the connection parameter {what} is not supported"));
        }
    }
    Ok(())
}

fn number<N: std::str::FromStr>(key: &str, text: &str) -> Result<N, String> {
    text.trim().parse().map_err(|_| format!("invalid number for {key}: \"{text}\""))
}

fn channel_binding(text: &str) -> Result<ChannelBinding, String> {
    Ok(match text {
        "disable" => ChannelBinding::Disable,
        "prefer" => ChannelBinding::Prefer,
        "require" => ChannelBinding::Require,
        other => return Err(format!("invalid channel_binding value: \"{other}\"")),
    })
}

fn os_user() -> Result<String, String> {
    let found = User::from_uid(geteuid()).ok().flatten();
    found.map(|user| user.name).ok_or_else(|| "who runs this has no name: set PGUSER".to_owned())
}

/// Debian's, and PostgreSQL's own where that is not there.
fn default_socket() -> String {
    let debian = "/var/run/postgresql";
    if Path::new(debian).is_dir() { debian } else { "/tmp" }.to_owned()
}

fn service_files(home: Option<&Path>) -> Vec<PathBuf> {
    let own = env::var_os("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| home.map(|home| home.join(".pg_service.conf")));
    let system = env::var_os("PGSYSCONFDIR").unwrap_or_else(|| "/etc/postgresql-common".into());
    own.into_iter().chain([PathBuf::from(system).join("pg_service.conf")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::Host;

    fn conninfo(text: &str) -> Result<Conninfo, String> {
        let params = text::parse(text)?;
        check(&params)?;
        Ok(Conninfo { tls: tls::of(&params, None)?, params, home: None })
    }

    fn shown(text: &str) -> String {
        match conninfo(text).and_then(|conninfo| conninfo.candidates()) {
            Ok(candidates) => {
                candidates.iter().map(|c| c.shown.clone()).collect::<Vec<_>>().join(" ")
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn hosts_and_ports_belong_together() {
        assert_eq!(shown("host=a,b port=1,2"), "a:1 b:2");
        assert_eq!(shown("host=a,b port=7"), "a:7 b:7");
        assert_eq!(shown("host=a,b"), "a:5432 b:5432");
        assert_eq!(shown("postgresql://a:1,b/x"), "a:1 b:5432");
        assert_eq!(shown("hostaddr=127.0.0.1"), "127.0.0.1:5432");
        assert!(shown("host=a,b,c port=1,2").starts_with("error: could not match"));
        assert!(shown("host=a port=x").starts_with("error: invalid number for port"));
        assert!(shown("host=a hostaddr=b").starts_with("error: invalid hostaddr"));
    }

    #[test]
    fn a_socket_has_no_tls_and_writes_are_asked_for() -> Result<(), String> {
        let found = conninfo("host=/run/pg user=me sslmode=require")?.candidates()?;
        let config = &found.first().ok_or("none")?.config;
        assert_eq!(config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(config.get_hosts(), [Host::Unix("/run/pg".into())]);
        assert_eq!(config.get_dbname(), Some("me"));
        assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        Ok(())
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in ["requirepeer=postgres", "gssencmode=require", "sslcrl=x", "hots=a"] {
            assert!(shown(text).contains("is not supported"), "{text}: {}", shown(text));
        }
        assert_eq!(shown("host=a gssencmode=prefer target_session_attrs=standby"), "a:5432");
    }

    #[test]
    fn the_string_wins_over_the_environment() {
        let variables = [("PGHOST", "env"), ("PGUSER", "me"), ("PGPORT", "")];
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned())
        };
        let mut params = Params::from([("host".to_owned(), "given".to_owned())]);
        fill(&mut params, environment(get));
        let wanted = [("host", "given"), ("user", "me")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(params, Params::from(wanted));
    }
}
