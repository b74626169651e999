//! A configuration file that everybody on the machine can read although it holds secrets.

use std::path::Path;

use crate::i18n::tr;
use helve_egress::Url;
use toml::{Table, Value};

/// What is wrong with the file, if others can read a secret in it.
pub(super) fn told(path: &Path, text: &str) -> Option<String> {
    let secrets = toml::from_str(text).map(|table| secrets_in(&table)).unwrap_or_default();
    if secrets.is_empty() || !is_readable_by_all(path) {
        return None;
    }
    let (path, keys) = (path.display(), secrets.join("`, `"));
    Some(tr!(
        "the configuration {path} can be read by every user of this machine, and there is a secret at `{keys}`; take the \
         rights of others away (chmod 600 {path}), or move the secret into the environment",
        path = path,
        keys = keys
    ))
}

#[cfg(unix)]
fn is_readable_by_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_all(_: &Path) -> bool {
    false
}

/// The keys of what must not be known: the token, and addresses with a password in them.
fn secrets_in(table: &Table) -> Vec<String> {
    let token = table.get("server").and_then(|server| server.get("token")).map(|_| "server.token".to_owned());
    let mut found: Vec<String> = token.into_iter().collect();
    for (key, value) in table {
        addresses_in(key, value, &mut found);
    }
    found
}

fn addresses_in(key: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let has_password = |url: Url| url.password().is_some_and(|password| !password.is_empty());
            if text.contains('@') && text.parse::<Url>().is_ok_and(has_password) {
                found.push(key.to_owned());
            }
        }
        Value::Array(items) => {
            (0..).zip(items).for_each(|(number, item): (usize, _)| {
                addresses_in(&format!("{key}.{number}"), item, found);
            });
        }
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| addresses_in(&format!("{key}.{name}"), value, found));
        }
        _ => {}
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_that_everybody_can_read_is_told_with_its_key_and_never_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("helve.toml");
        let told = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            told(&path, text)
        };
        let token = "[server]\ntoken = \"0123456789abcdef\"\n";
        let proxy = "[egress]\nproxy = \"http://mei:pass@word@proxy:3128\"\n";
        let model = "[[models]]\nname = \"m\"\nbase_url = \"https://me:hunter2@gpu/v1\"\n";
        for (text, key) in
            [(token, "`server.token`"), (proxy, "`egress.proxy`"), (model, "`models.0.base_url`")]
        {
            let line = told(text, 0o644).unwrap();
            assert!(line.contains(key) && line.contains("chmod 600"), "{line}");
            assert!(!["0123456789", "word@", "hunter2"].iter().any(|secret| line.contains(secret)), "{line}");
            assert_eq!(told(text, 0o600), None);
            assert_eq!(told(text, 0o640), None, "the operator's own group");
        }
        assert_eq!(told("[server]\nlisten = \"127.0.0.1:1\"\n", 0o644), None);
    }
}
