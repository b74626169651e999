//! The databases: Helve's own, and those that `query_database` asks.

use std::path::Path;

use helve_tool_builtin::{Database, DatabasePlace, QUERY_WORKER, QueryWorker, describe_database};

use helve_server::Finding;

use super::examine::Examined;
use super::finding::quoted;
use crate::config::Config;
use crate::i18n::tr;

pub(super) async fn own(examined: &Examined) -> Vec<Finding> {
    let config = &*examined.config;
    let (path, run) = match &config.database {
        Some(server) => {
            let address = format!("postgres://{server}");
            (format!("PostgreSQL {server}"), format!("pg_isready -d {}", quoted(&address)))
        }
        None => (config.data.display().to_string(), look_at_folder(&config.data)),
    };
    let mut findings = vec![match examined.store.check().await {
        Ok(()) => Finding::good(tr!("database: {path} can be read and written", path = path)),
        Err(error) => Finding::bad(tr!("database: {path}: {error}", path = path, error = error)).run(run),
    }];
    if let Some(problem) = &examined.durability_problem {
        findings.push(Finding::note(tr!(
            "database: {problem}, so what was acknowledged may be lost with the server's power; set it to `on`",
            problem = problem
        )));
    }
    findings
}

/// Those that `query_database` asks: whether they answer, and what their roles could do.
pub(super) async fn asked(config: &Config) -> Vec<Finding> {
    let worker = QueryWorker::current_program([QUERY_WORKER]);
    let mut findings = vec![];
    for database in &config.databases {
        let name = database.name();
        match describe_database(database, &worker).await {
            Ok(powers) if powers.is_empty() => {
                findings.push(Finding::good(tr!("database `{name}`: it can be asked", name = name)));
            }
            Ok(powers) => findings.extend(powers.into_iter().map(|power| {
                let told = tr!(
                    "database `{name}`: {power}; use a role that may only read what is meant (docs/guide/builtin-tools.md)",
                    name = name,
                    power = power
                );
                Finding::note(told).run(for_server(database, "createuser", " --pwprompt helve_reader"))
            })),
            Err(problem) => {
                let found = Finding::bad(tr!("database `{name}`: {problem}", name = name, problem = problem));
                findings.push(found.run(match database.place() {
                    DatabasePlace::File(path) => look_at_file(path),
                    DatabasePlace::Server { .. } => for_server(database, "pg_isready", ""),
                }));
            }
        }
    }
    findings
}

/// Who may use the directory, and whether its disk is full.
fn look_at_folder(folder: &Path) -> String {
    let folder = quoted(&folder.display().to_string());
    format!("ls -la {folder}; df -h {folder}")
}

fn look_at_file(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    format!("ls -ld {} {}", quoted(&folder.display().to_string()), quoted(&path.display().to_string()))
}

/// A program of PostgreSQL's, pointed at the server of the database.
fn for_server(database: &Database, program: &str, more: &str) -> String {
    let DatabasePlace::Server { host, port } = database.place() else { return format!("{program}{more}") };
    let host = host.map(|host| format!(" -h {}", quoted(&host))).unwrap_or_default();
    let port = port.map(|port| format!(" -p {port}")).unwrap_or_default();
    format!("{program}{host}{port}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> String {
        for_server(&Database::new("crm", &url.to_owned().into()).unwrap(), "pg_isready", "")
    }

    #[test]
    fn the_command_names_the_place_and_never_the_password() {
        assert_eq!(server("postgres://reader:hush@db.lan:5433/crm"), "pg_isready -h db.lan -p 5433");
        assert_eq!(server("postgres://reader:hush@db.lan/crm"), "pg_isready -h db.lan -p 5432");
        assert_eq!(look_at_file(Path::new("shop.db")), "ls -ld . shop.db");
        assert_eq!(
            look_at_file(Path::new("/srv/my data/shop.db")),
            "ls -ld '/srv/my data' '/srv/my data/shop.db'"
        );
        assert_eq!(look_at_folder(Path::new("/srv/helve")), "ls -la /srv/helve; df -h /srv/helve");
    }
}
