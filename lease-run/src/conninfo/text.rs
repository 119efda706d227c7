//! Connection strings: libpq's `key=value …` and URLs.

use super::Params;
use percent_encoding::percent_decode_str;

/// Reads what psql takes for `-d`: a URL, `key=value …`, or the name of a database.
pub fn parse(text: &str) -> Result<Params, String> {
    for scheme in ["postgresql://", "postgres://"] {
        if let Some(rest) = text.strip_prefix(scheme) {
            return url(rest);
        }
    }
    if text.contains('=') { pairs(text) } else { Ok(one("dbname", text)) }
}

fn one(key: &str, value: &str) -> Params {
    Params::from([(key.to_owned(), value.to_owned())])
}

/// `key = value`, parted by white space. A value may be in quotes; a backslash takes the next
/// character as it is.
fn pairs(text: &str) -> Result<Params, String> {
    let mut params = Params::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) =
            rest.split_once('=').ok_or_else(|| format!("missing \"=\" after \"{rest}\""))?;
        let key = key.trim_end();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(format!("missing \"=\" after \"{key}\""));
        }
        let (value, left) = value(after.trim_start())?;
        params.insert(key.to_owned(), value);
        rest = left.trim_start();
    }
    Ok(params)
}

/// The value at the beginning, and what follows it.
fn value(text: &str) -> Result<(String, &str), String> {
    let (quoted, text) = match text.strip_prefix('\'') {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if quoted => return Ok((value, &text[at + 1..])),
            c if !quoted && c.is_whitespace() => return Ok((value, &text[at..])),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    if quoted { Err("a quote is not closed".to_owned()) } else { Ok((value, "")) }
}

/// `[user[:password]@][host[:port]][,…][/dbname][?key=value&…]`
fn url(text: &str) -> Result<Params, String> {
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (place, dbname) = text.split_once('/').unwrap_or((text, ""));
    let (login, hosts) = place.rsplit_once('@').unwrap_or(("", place));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let mut params = Params::new();
    for (key, value) in [("user", user), ("password", password), ("dbname", dbname)] {
        if !value.is_empty() {
            params.insert(key.to_owned(), decoded(value)?);
        }
    }
    add_hosts(&mut params, hosts)?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| format!("missing \"=\" after \"{pair}\""))?;
        let (key, value) = match (decoded(key)?.as_str(), decoded(value)?.as_str()) {
            ("ssl", "true") => ("sslmode".to_owned(), "require".to_owned()),
            (key, value) => (key.to_owned(), value.to_owned()),
        };
        params.insert(key, value);
    }
    Ok(params)
}

fn add_hosts(params: &mut Params, hosts: &str) -> Result<(), String> {
    if hosts.is_empty() {
        return Ok(());
    }
    let parted = hosts.split(',').map(host_and_port).collect::<Result<Vec<_>, _>>()?;
    let (names, ports): (Vec<String>, Vec<&str>) = parted.into_iter().unzip();
    params.insert("host".to_owned(), names.join(","));
    if ports.iter().any(|port| !port.is_empty()) {
        params.insert("port".to_owned(), ports.join(","));
    }
    Ok(())
}

/// An IPv6 address is in brackets.
fn host_and_port(text: &str) -> Result<(String, &str), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) =
            rest.split_once(']').ok_or_else(|| format!("missing \"]\" in \"{text}\""))?;
        return Ok((host.to_owned(), rest.strip_prefix(':').unwrap_or(rest)));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    Ok((decoded(host)?, port))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| format!("\"{text}\" is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(params) => {
                params.iter().map(|(k, v)| format!("{k}=<{v}>")).collect::<Vec<_>>().join(" ")
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn pairs_are_read_as_libpq_reads_them() {
        for (text, wanted) in [
            ("jobs", "dbname=<jobs>"),
            ("host=db port=5433", "host=<db> port=<5433>"),
            ("host = 'a b'  user=me", "host=<a b> user=<me>"),
            (r"password='it\'s \\ here' user=x\ y", r"password=<it's \ here> user=<x y>"),
            ("host=a host=b", "host=<b>"),
            ("options='-c x=y'", "options=<-c x=y>"),
            ("host", "dbname=<host>"),
            ("host=a nonsense", "error: missing \"=\" after \"nonsense\""),
            ("a b=c", "error: missing \"=\" after \"a b\""),
            ("host='a", "error: a quote is not closed"),
        ] {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }

    #[test]
    fn urls_are_read_as_libpq_reads_them() {
        for (text, wanted) in [
            ("postgresql://", ""),
            ("postgres://db", "host=<db>"),
            ("postgresql://db:5433/jobs", "dbname=<jobs> host=<db> port=<5433>"),
            ("postgresql://me:p%40ss@db/", "host=<db> password=<p@ss> user=<me>"),
            ("postgresql://a:1,b:2/x", "dbname=<x> host=<a,b> port=<1,2>"),
            ("postgresql://a,b:2", "host=<a,b> port=<,2>"),
            ("postgresql://[::1]:5433", "host=<::1> port=<5433>"),
            ("postgresql://%2Frun%2Fpg/x", "dbname=<x> host=</run/pg>"),
            ("postgresql:///x?host=/tmp&port=7", "dbname=<x> host=</tmp> port=<7>"),
            ("postgresql://db?ssl=true", "host=<db> sslmode=<require>"),
            ("postgresql://db?options=-c%20a%3Db", "host=<db> options=<-c a=b>"),
            ("postgresql://db?x", "error: missing \"=\" after \"x\""),
            ("postgresql://[::1", "error: missing \"]\" in \"[::1\""),
        ] {
            assert_eq!(shown(text), wanted, "{text}");
        }
    }
}
