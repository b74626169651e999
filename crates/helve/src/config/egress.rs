//! What may leave because of a model or a tool, and the secrets that may go along.
//!
//! The file names where a secret is and who may have it; the secret itself is never in it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use helve_egress::{EgressSettings, Place, SECRET_BYTES_MIN, Secret, Secrets, Url};
use helve_tool_builtin::{TAVILY_SECRET, TAVILY_URL};
use secrecy::SecretString;
use serde::Deserialize;

use super::Environment;
use super::places::Places;
use crate::i18n::{tr, words};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct EgressTable {
    /// Places that are reached although they are not public, over plain HTTP too.
    allow: Vec<String>,
    http: bool,
    proxy: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct SecretTable {
    env: Option<String>,
    file: Option<PathBuf>,
    hosts: Vec<String>,
}

/// What is wrong, and the key that it is wrong at.
type Wrong = (&'static str, String);

/// The settings, and what is odd about them.
pub(super) fn egress(
    table: EgressTable,
    secrets: BTreeMap<String, SecretTable>,
    environment: &Environment,
    places: &Places,
) -> anyhow::Result<(EgressSettings, Vec<String>)> {
    let wrong = |(key, what): Wrong| places.wrong(&["egress", key], what);
    check_places(&table.allow).map_err(|what| wrong(("allow", what)))?;
    let proxy = table.proxy.as_deref().map(proxy).transpose().map_err(|what| wrong(("proxy", what)))?;
    let (mut all, mut warnings) = (vec![], vec![]);
    for (name, table) in secrets {
        let (secret, odd) = secret(&name, table, environment)
            .map_err(|(key, what)| places.wrong(&["secrets", &name, key], what))?;
        let at = |what| tr!("{place}: {what}", place = places.of(&["secrets", &name, "env"]), what = what);
        warnings.extend(odd.map(at));
        all.push(secret);
    }
    let search = environment.text("TAVILY_API_URL");
    if !all.iter().any(|secret: &Secret| secret.name == TAVILY_SECRET) {
        all.extend(tavily(search.as_deref().unwrap_or(TAVILY_URL), environment));
    }
    let (allow, http) = (table.allow, table.http);
    Ok((EgressSettings { allow, http, proxy, secrets: Secrets::new(all), on_withheld: None }, warnings))
}

fn check_places(texts: &[String]) -> Result<(), String> {
    texts.iter().try_for_each(|text| text.parse::<Place>().map(drop).map_err(|error| error.to_string()))
}

fn proxy(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    url.ok_or_else(|| tr!("this is no address of a proxy; write it as `http://proxy.example.com:3128`"))
}

fn secret(
    name: &str,
    table: SecretTable,
    environment: &Environment,
) -> Result<(Secret, Option<String>), Wrong> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err((
            "",
            tr!("`{name}` is no name of a secret; use letters, digits, `_` and `-`", name = name),
        ));
    }
    if table.hosts.is_empty() {
        let what = tr!("a secret needs the hosts that may have it, as in `hosts = [\"api.example.com\"]`");
        return Err(("hosts", what));
    }
    check_hosts(&table.hosts).map_err(|what| ("hosts", what))?;
    let (value, odd) = value(&table, environment)?;
    Ok((Secret { name: name.into(), value, hosts: table.hosts }, odd))
}

fn check_hosts(hosts: &[String]) -> Result<(), String> {
    check_places(hosts)?;
    let network = |text: &&String| text.parse::<Place>().is_ok_and(|place| place.is_network());
    match hosts.iter().find(network) {
        Some(text) => {
            Err(tr!("`{text}` is a network; a secret is for hosts, each of them named", text = text))
        }
        None => Ok(()),
    }
}

/// A variable may be set later, in another shell, so that it is only odd if it is not; a file is named because it is there.
fn value(table: &SecretTable, environment: &Environment) -> Result<(SecretString, Option<String>), Wrong> {
    let (key, value) = match (&table.env, &table.file) {
        (Some(variable), None) => match environment.text(variable) {
            Some(value) => ("env", value),
            None => {
                let odd = tr!(
                    "the environment variable {variable} is not set, so the secret has no value",
                    variable = variable
                );
                return Ok((SecretString::default(), Some(odd)));
            }
        },
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                (
                    "file",
                    tr!("`{path}` cannot be read: {error}", path = path.display(), error = words(&error)),
                )
            })?;
            ("file", text.trim().to_owned())
        }
        _ => return Err(("", tr!("either `env` or `file` says where the secret is"))),
    };
    if value.len() < SECRET_BYTES_MIN {
        let what = tr!(
            "a secret of fewer than {secret_bytes_min} characters cannot be kept out of answers",
            secret_bytes_min = SECRET_BYTES_MIN
        );
        return Err((key, what));
    }
    Ok((SecretString::from(value), None))
}

/// The key of the search service, which has a variable of its own.
fn tavily(url: &str, environment: &Environment) -> Option<Secret> {
    let value = environment.secret("TAVILY_API_KEY")?;
    Some(Secret { name: TAVILY_SECRET.into(), value, hosts: place_of(url).into_iter().collect() })
}

/// The host and port of an address.
pub(super) fn place_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    Some(format!("{}:{}", url.host()?, url.port_or_known_default()?))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::config::{Config, Overrides};

    fn parse(text: &str, environment: &Environment) -> anyhow::Result<Config> {
        Config::parse(Some("helve.toml".into()), text, &Overrides::default(), environment)
    }

    #[test]
    fn secrets_come_from_variables_and_files_and_are_for_hosts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        std::fs::write(&file, "from-a-file\n").unwrap();
        let text = format!(
            "[egress]\nallow = [\"gpu.lan:8000\", \"10.1.0.0/16\"]\nproxy = \"http://proxy.lan:3128\"\n\
             [secrets.weather]\nenv = \"WEATHER_KEY\"\nhosts = [\"api.example.com\"]\n\
             [secrets.maps]\nfile = {file:?}\nhosts = [\"maps.example.com:8443\"]\n"
        );
        let config = parse(&text, &Environment::of([("WEATHER_KEY", "from-a-variable")])).unwrap();
        let EgressSettings { allow, http, proxy, secrets, .. } = &config.egress;
        assert_eq!((allow.len(), http, proxy.as_ref().unwrap().port()), (2, &false, Some(3128)));
        let value = |name| secrets.get(name).unwrap().value.expose_secret().to_owned();
        assert_eq!((value("weather").as_str(), value("maps").as_str()), ("from-a-variable", "from-a-file"));
        assert_eq!(secrets.get("maps").unwrap().hosts, ["maps.example.com:8443"]);
        assert!(config.warnings.is_empty());
        assert!(!format!("{config:?}").contains("from-a-"));
    }

    #[test]
    fn a_secret_whose_variable_is_not_set_is_told_and_has_no_value() {
        let text = "[secrets.weather]\nhosts = [\"api.example.com\"]\nenv = \"WEATHER_KEY\"\n";
        let config = parse(text, &Environment::default()).unwrap();
        let expected = "helve.toml, line 3 at `env`: the environment variable WEATHER_KEY is not set, so the secret has no value";
        assert_eq!(config.warnings, [expected]);
        assert!(!config.egress.secrets.get("weather").unwrap().has_value());
    }

    #[test]
    fn the_search_key_is_a_secret_for_the_search_service_alone() {
        let config = parse("", &Environment::of([("TAVILY_API_KEY", "tvly-1")])).unwrap();
        assert_eq!(config.egress.secrets.get(TAVILY_SECRET).unwrap().hosts, ["api.tavily.com:443"]);
        assert!(config.egress.allow.is_empty());
        let elsewhere = [("TAVILY_API_KEY", "tvly-1"), ("TAVILY_API_URL", "http://127.0.0.1:9000/tavily")];
        let config = parse("", &Environment::of(elsewhere)).unwrap();
        assert_eq!(config.egress.secrets.get(TAVILY_SECRET).unwrap().hosts, ["127.0.0.1:9000"]);
        assert!(config.egress.allow.is_empty(), "that searches go there is nothing to other tools");
        let own = "[secrets.tavily]\nenv = \"SEARCH\"\nhosts = [\"search.example.com\"]\n";
        let config =
            parse(own, &Environment::of([("TAVILY_API_KEY", "tvly-1"), ("SEARCH", "own-key")])).unwrap();
        assert_eq!(config.egress.secrets.get(TAVILY_SECRET).unwrap().value.expose_secret(), "own-key");
        assert_eq!(config.egress.secrets.names().count(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_key() {
        let secret = "[secrets.s]\nhosts = [\"api.example.com\"]\n";
        for (text, expected) in [
            ("[egress]\nallow = [\"gpu.lan\", \"*.lan\"]".into(), "line 2 at `allow`: `*.lan` has a `*`"),
            (
                "[egress]\nallow = [\"10.1.2.3/8\"]".into(),
                "line 2 at `allow`: `10.1.2.3/8` does not begin its network",
            ),
            (
                "[egress]\nproxy = \"socks5://me:hush@x\"".into(),
                "line 2 at `proxy`: this is no address of a proxy",
            ),
            ("[egress]\nallowed = []".into(), "line 2 at `allowed`: unknown field"),
            ("[secrets.s]\nenv = \"X\"".into(), "line 1 at `s`: a secret needs the hosts"),
            (
                "[secrets.s]\nenv = \"X\"\nhosts = [\"https://a\"]".into(),
                "line 3 at `hosts`: `https://a` is a whole",
            ),
            (
                "[secrets.s]\nenv = \"X\"\nhosts = [\"10.0.0.0/8\"]".into(),
                "line 3 at `hosts`: `10.0.0.0/8` is a network",
            ),
            (secret.into(), "line 1 at `s`: either `env` or `file`"),
            (format!("{secret}env = \"X\"\nfile = \"y\""), "line 1 at `s`: either `env` or `file`"),
            (format!("{secret}file = \"/nonexistent\""), "line 3 at `file`: `/nonexistent` cannot be read"),
            (format!("{secret}env = \"SHORT\""), "line 3 at `env`: a secret of fewer than 4 characters"),
            (format!("{secret}value = \"v\""), "line 3 at `value`: unknown field"),
            (
                "[secrets.\"a b\"]\nenv = \"X\"\nhosts = [\"a.example\"]".into(),
                "line 1 at `a b`: `a b` is no name",
            ),
        ] {
            let told = format!("{:#}", parse(&text, &Environment::of([("SHORT", "abc")])).unwrap_err());
            assert!(told.starts_with(&format!("helve.toml, {expected}")), "{text}\n{told}\n{expected}");
            assert!(!told.contains("hush"), "{told}");
        }
    }
}
