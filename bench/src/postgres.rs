//! The same agent turn with the record in SQLite and on a PostgreSQL beside it, both with `fsync`.

use anyhow::Context;
use helve_test_support::{PostgresServer, find_postgres_programs};

use crate::processes::Server;
use crate::turns::measure;

/// How many ask at once, and how many turns are measured.
const LOADS: [(usize, u64); 3] = [(1, 500), (32, 3_000), (256, 6_000)];

pub(crate) fn report() -> anyhow::Result<()> {
    let programs = find_postgres_programs().context("no PostgreSQL is installed")?;
    let dir = tempfile::tempdir()?;
    open_to_all(dir.path())?;
    let database = PostgresServer::start_new(&programs, dir.path(), &[])?;
    let mock = Server::mock()?;
    let [sqlite_data, postgres_data] = [dir.path().join("sqlite"), dir.path().join("postgres-data")];
    let servers = [
        ("SQLite", Server::helve(&mock, &sqlite_data)?),
        ("PostgreSQL", Server::helve_on_database(&mock, &postgres_data, &database.url("postgres"))?),
    ];
    println!("\nAn agent turn with its record in SQLite and on PostgreSQL on the same machine, both with `fsync`\n");
    println!("| clients | store | CPU µs of Helve a turn | turns/s | memory MiB |");
    println!("|---|---|---|---|---|");
    crate::block_on(async {
        for (clients, turns) in LOADS {
            for (name, server) in &servers {
                let found = measure(server, false, clients, turns).await?;
                println!(
                    "| {clients} | {name} | {} | {:.0} | {} |",
                    found.cpu.as_micros(),
                    found.turns_per_second,
                    found.memory_kib / 1024
                );
            }
        }
        Ok(())
    })
}

/// PostgreSQL runs as another user.
fn open_to_all(dir: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755))
}
