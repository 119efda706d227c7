//! libpq's service file: named sets of connection parameters.

use super::Params;
use std::path::Path;

/// The parameters of a service, from the first of these files that has it.
pub fn load(name: &str, files: &[impl AsRef<Path>]) -> Result<Params, String> {
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let found = texts.into_iter().find_map(|text| find(&text, name));
    found.ok_or_else(|| format!("definition of service \"{name}\" not found"))
}

fn find(text: &str, name: &str) -> Option<Params> {
    let heading = format!("[{name}]");
    let lines = text.lines().map(str::trim).skip_while(|line| *line != heading);
    let mut lines = lines.peekable();
    lines.next()?;
    let ours = lines.take_while(|line| !line.starts_with('['));
    let pairs = ours.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    Some(pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_what_stands_under_its_name() {
        let text = "[a]\nhost=x\n\n# note\n[b]\nhost = y \ndbname=jobs\n[c]\nhost=z\n";
        let wanted = [("dbname", "jobs"), ("host", "y")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(find(text, "b"), Some(Params::from(wanted)));
        assert_eq!(find(text, "d"), None);
    }
}
