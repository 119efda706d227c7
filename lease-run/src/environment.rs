//! What the command finds in its environment.

/// The setting that presents tokens.
const SETTING: &str = "-c pg_lease.token=";

/// PGOPTIONS for the command: what was there, and the lease's token. If it holds leases already, as
/// it does when lease-run runs lease-run, this one is added to them.
pub fn pgoptions(before: &str, name: &str, token: i64) -> String {
    let ours = format!("{name}={token}");
    let Some(at) = before.rfind(SETTING) else {
        let gap = if before.is_empty() { "" } else { " " };
        return format!("{before}{gap}{SETTING}{ours}");
    };
    let (head, tail) = before.split_at(at + SETTING.len());
    let (held, rest) = tail.split_at(tail.find(char::is_whitespace).unwrap_or(tail.len()));
    let same = format!("{name}=");
    let others = held.split(',').filter(|one| !one.is_empty() && !one.starts_with(&same));
    let all: Vec<&str> = others.chain([ours.as_str()]).collect();
    format!("{head}{}{rest}", all.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays() {
        for (before, wanted) in [
            ("", "-c pg_lease.token=a:b=7"),
            ("-c work_mem=1MB", "-c work_mem=1MB -c pg_lease.token=a:b=7"),
            ("-c pg_lease.token=x=1", "-c pg_lease.token=x=1,a:b=7"),
            ("-c pg_lease.token=x=1 -c a=b", "-c pg_lease.token=x=1,a:b=7 -c a=b"),
            ("-c pg_lease.token=a:b=3,a:bc=4", "-c pg_lease.token=a:bc=4,a:b=7"),
            ("-c pg_lease.token=", "-c pg_lease.token=a:b=7"),
        ] {
            assert_eq!(pgoptions(before, "a:b", 7), wanted, "{before}");
        }
    }
}
