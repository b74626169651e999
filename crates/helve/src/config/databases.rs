//! Databases that models may read.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use helve_tool_builtin::Database;
use secrecy::SecretString;
use serde::Deserialize;

use super::Environment;
use super::places::Places;
use crate::i18n::tr;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct DatabaseTable {
    /// `sqlite:path`, or `postgres://…` where there is no password in it.
    url: Option<SecretString>,
    /// The variable that holds the address.
    url_env: Option<String>,
    description: String,
    rows_max: Option<NonZeroUsize>,
    timeout_ms: Option<NonZeroU64>,
    /// SQLite only: the tables that may be read.
    tables: Option<Vec<String>>,
}

/// The databases, and what is odd about them. One whose variable is not set is left out.
pub(super) fn databases(
    tables: BTreeMap<String, DatabaseTable>,
    environment: &Environment,
    places: &Places,
) -> anyhow::Result<(Vec<Database>, Vec<String>)> {
    let (mut all, mut warnings) = (vec![], vec![]);
    for (name, table) in tables {
        let wrong = |key: &'static str, what: String| places.wrong(&["databases", &name, key], what);
        let (key, url) = match (&table.url, &table.url_env) {
            (Some(url), None) => ("url", url.clone()),
            (None, Some(variable)) => match environment.secret(variable) {
                Some(url) => ("url_env", url),
                None => {
                    let place = places.of(&["databases", &name, "url_env"]);
                    warnings.push(tr!("{place}: the environment variable {variable} is not set, so the database is left out", place = place, variable = variable));
                    continue;
                }
            },
            _ => return Err(wrong("", tr!("either `url` or `url_env` says where the database is"))),
        };
        let mut database = Database::new(&name, &url).map_err(|what| wrong(key, what))?;
        database = database.with_description(&table.description);
        if let Some(rows_max) = table.rows_max {
            database = database.with_rows_max(rows_max.get());
        }
        if let Some(timeout_ms) = table.timeout_ms {
            database = database.with_timeout(Duration::from_millis(timeout_ms.get()));
        }
        if let Some(tables) = table.tables {
            database = database.with_tables(tables).map_err(|what| wrong("tables", what))?;
        }
        all.push(database);
    }
    Ok((all, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Overrides};

    fn parse(text: &str) -> anyhow::Result<Config> {
        let environment = Environment::of([("CRM_URL", "postgres://reader:hush@db.lan/crm")]);
        Config::parse(Some("helve.toml".into()), text, &Overrides::default(), &environment)
    }

    #[test]
    fn databases_are_named_and_their_passwords_stay_in_the_environment() {
        let config = parse(
            "[databases.shop]\nurl = \"sqlite:shop.db\"\nrows_max = 20\ntimeout_ms = 500\ntables = [\"orders\"]\n\
             [databases.crm]\nurl_env = \"CRM_URL\"\ndescription = \"customers\"\n\
             [databases.later]\nurl_env = \"LATER_URL\"\n",
        )
        .unwrap();
        assert_eq!(config.databases.len(), 2);
        let expected = "helve.toml, line 10 at `url_env`: the environment variable LATER_URL is not set, so the database is left out";
        assert_eq!(config.warnings, [expected]);
        assert!(!format!("{config:?}").contains("hush"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_key() {
        for (text, expected) in [
            ("[databases.a]\n", "line 1 at `a`: either `url` or `url_env`"),
            ("[databases.a]\nurl = \"mysql://x\"", "line 2 at `url`: the address must begin with"),
            ("[databases.a]\nurl = \"sqlite:x\"\nrows_max = 0", "line 3 at `rows_max`"),
            (
                "[databases.a]\nurl = \"postgres://h/x\"\ntables = []",
                "line 3 at `tables`: `tables` is for SQLite",
            ),
        ] {
            let told = format!("{:#}", parse(text).unwrap_err());
            assert!(told.starts_with(&format!("helve.toml, {expected}")), "{text}\n{told}");
        }
    }
}
