//! A PostgreSQL for the tests, thrown away afterwards.
//!
//! Its programs refuse to run as root, so root starts them as the system's user `postgres`; whoever is not root needs them
//! installed and starts them as they are. Where there is none the tests that need one say so and pass.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::step::{exists, output, step};

const VARIABLE: &str = "HELVE_TEST_POSTGRES";
const PROGRAMS: &str = "/usr/lib/postgresql";

/// A server that ends with this value.
pub(crate) struct Postgres {
    programs: PathBuf,
    dir: PathBuf,
    port: u16,
    is_root: bool,
}

impl Postgres {
    /// Starts one, or says why there is none.
    pub(crate) fn start() -> anyhow::Result<Option<Self>> {
        let is_root = output("", &["id", "-u"])?.trim() == "0";
        if programs().is_none() && is_root && exists("apt-get") {
            step("PostgreSQL: find it", "", &["apt-get", "update", "-qq"])?;
            let install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"];
            step("PostgreSQL: install it", "", &install)?;
        }
        let Some(programs) = programs() else {
            println!("\n── no PostgreSQL under {PROGRAMS}: tests that need one are left out");
            return Ok(None);
        };
        let dir = std::env::temp_dir().join(format!("helve-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = Self { programs, dir, port, is_root };
        server.begin().context("PostgreSQL cannot be started")?;
        Ok(Some(server))
    }

    /// What tells the tests where it is.
    pub(crate) fn variable(&self) -> (&'static str, String) {
        (VARIABLE, format!("postgres://postgres@127.0.0.1:{}/postgres", self.port))
    }

    fn begin(&self) -> anyhow::Result<()> {
        if self.is_root {
            let dir = self.dir.display().to_string();
            step("PostgreSQL: a place for it", "", &["chown", "postgres", &dir])?;
        }
        let data = self.data();
        let make =
            ["-D", &data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        self.run("initdb", &make)?;
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off",
            self.port
        );
        let log = self.dir.join("log").display().to_string();
        self.run("pg_ctl", &["-D", &data, "-l", &log, "-o", &options, "-w", "start"])
    }

    fn data(&self) -> String {
        self.dir.join("data").display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let program = self.programs.join(program).display().to_string();
        let mut line = if self.is_root { vec!["runuser", "-u", "postgres", "--"] } else { vec![] };
        line.push(&program);
        line.extend(arguments);
        let done = Command::new(line[0]).args(&line[1..]).current_dir(&self.dir).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        anyhow::ensure!(done.status.success(), "`{}` failed: {said}", line.join(" "));
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.data();
        if let Err(error) = self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]) {
            eprintln!("PostgreSQL was not stopped: {error}");
        }
        // It is in the folder for temporary files, should this fail.
        _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The newest version that is installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(PROGRAMS).ok()?;
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let newest = Path::new(PROGRAMS).join(versions.max()?.to_string()).join("bin");
    newest.join("initdb").exists().then_some(newest)
}
