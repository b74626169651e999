//! A PostgreSQL that belongs to one test, or to one run of the tests: made, started, killed and thrown away.
//!
//! Its programs refuse to run as root, so root starts them as the system's user `postgres`; other users start them as
//! themselves. Everything here blocks.

use std::io::{Error, Result};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Names the folder of the programs `postgres`, `initdb` and `pg_ctl`.
const PROGRAMS: &str = "HELVE_POSTGRES_PROGRAMS";
/// Where Debian's packages put them, in a folder for each version.
const INSTALLED: &str = "/usr/lib/postgresql";
/// A server whose postmaster was killed is refused its own memory until its last process has noticed.
const START_MAX: Duration = Duration::from_secs(60);
const START_PAUSE: Duration = Duration::from_millis(100);

/// The programs that `HELVE_POSTGRES_PROGRAMS` names, or the newest that are installed.
pub fn find_postgres_programs() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS) {
        return Some(named.into());
    }
    let versions = std::fs::read_dir(INSTALLED).ok()?;
    let versions = versions.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let newest = Path::new(INSTALLED).join(versions.max()?.to_string()).join("bin");
    newest.join("initdb").exists().then_some(newest)
}

/// How a server is stopped by its own program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// Its connections are ended, and it closes its files.
    Fast,
    /// All of its processes end at once, and the next start recovers.
    Immediate,
}

/// A server with its data in a directory of its own; dropping it ends it and removes the directory.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    dir: PathBuf,
    port: u16,
    /// What is put in front of each of its commands.
    prefix: Vec<String>,
    settings: Vec<(String, String)>,
}

impl PostgresServer {
    /// Makes a server below the existing directory `place` and starts it with these settings. It listens on 127.0.0.1 and
    /// trusts everybody there.
    pub fn start_new(programs: &Path, place: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        Self::start_new_behind(&[], programs, place, settings)
    }

    /// The same, with each of its commands behind a prefix such as `nsenter`.
    pub fn start_new_behind(
        prefix: &[&str],
        programs: &Path,
        place: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let is_root = capture(Command::new("id").arg("-u"))?.trim() == "0";
        let mut prefix: Vec<String> = prefix.iter().map(|&word| word.to_owned()).collect();
        let dir = place.join("postgres");
        let owned = |word: &str| word.to_owned();
        let shown = dir.display().to_string();
        run(&prefix, &["mkdir", "-p", &shown])?;
        if is_root {
            run(&prefix, &["chown", "postgres", &shown])?;
            prefix.extend(["runuser", "-u", "postgres", "--"].map(owned));
        }
        let settings = settings.iter().map(|(name, value)| (owned(name), owned(value))).collect();
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let server = Self { programs: programs.to_owned(), dir, port, prefix, settings };
        let data = server.data().display().to_string();
        let layout = ["-D", &data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"];
        server.run_program("initdb", &[&layout[..], &["--no-sync", "--data-checksums"]].concat())?;
        server.start()?;
        Ok(server)
    }

    /// The address of one of its databases.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory with its files.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// What it has written for its operator.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// Starts it, and returns when it answers.
    pub fn start(&self) -> Result<()> {
        let began = Instant::now();
        loop {
            match self.try_start() {
                Err(_) if began.elapsed() < START_MAX => std::thread::sleep(START_PAUSE),
                done => return done,
            }
        }
    }

    /// Starts it if it can be started now.
    pub fn try_start(&self) -> Result<()> {
        let mut options =
            format!("-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories=", self.port);
        for (name, value) in &self.settings {
            options.push_str(&format!(" -c {name}={value}"));
        }
        let (data, log) = (self.data().display().to_string(), self.dir.join("log").display().to_string());
        self.run_program("pg_ctl", &["-D", &data, "-l", &log, "-o", &options, "-t", "60", "-w", "start"])
    }

    /// Gives it another setting, which holds from its next start on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    pub fn stop(&self, how: Shutdown) -> Result<()> {
        let how = match how {
            Shutdown::Fast => "fast",
            Shutdown::Immediate => "immediate",
        };
        let data = self.data().display().to_string();
        self.run_program("pg_ctl", &["-D", &data, "-m", how, "-w", "stop"])
    }

    /// SIGKILL to its first process. The others end when they notice.
    pub fn kill(&self) -> Result<()> {
        run(&[], &["kill", "-KILL", &self.postmaster()?.to_string()])
    }

    /// Sends a signal, such as `STOP`, to all of its processes.
    pub fn signal_all(&self, signal: &str) -> Result<()> {
        let first = self.postmaster()?.to_string();
        let others = capture(Command::new("ps").args(["-o", "pid=", "--ppid", &first])).unwrap_or_default();
        let signal = format!("-{signal}");
        for process in [first.as_str()].into_iter().chain(others.split_whitespace()) {
            // One that has ended meanwhile needs no signal.
            _ = run(&[], &["kill", &signal, process]);
        }
        Ok(())
    }

    /// Puts a file that only the server may read into its directory.
    pub fn add_file(&self, name: &str, content: &str) -> Result<()> {
        let file = self.data().join(name);
        std::fs::write(&file, content)?;
        let file = file.display().to_string();
        run(&[], &["chmod", "600", &file])?;
        if self.prefix.iter().any(|word| word == "runuser") {
            run(&[], &["chown", "postgres", &file])?;
        }
        Ok(())
    }

    /// Its first process.
    fn postmaster(&self) -> Result<u32> {
        let file = self.data().join("postmaster.pid").display().to_string();
        let file = capture(&mut command(&self.prefix, &["cat", &file]))?;
        let first = file.lines().next().and_then(|line| line.trim().parse().ok());
        first.ok_or_else(|| Error::other("postmaster.pid names no process"))
    }

    fn run_program(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let program = self.programs.join(program).display().to_string();
        run(&self.prefix, &[&[program.as_str()], arguments].concat())
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // One that a test has stopped or killed is not there to be stopped.
        _ = self.signal_all("CONT");
        _ = self.stop(Shutdown::Immediate);
        _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn run(prefix: &[String], line: &[&str]) -> Result<()> {
    capture(&mut command(prefix, line)).map(drop)
}

fn command(prefix: &[String], line: &[&str]) -> Command {
    let mut words = prefix.iter().map(String::as_str).chain(line.iter().copied());
    let mut command = Command::new(words.next().unwrap_or_default());
    // Where every user may be.
    command.args(words).current_dir("/");
    command
}

/// What a command prints; an error if it fails.
fn capture(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::other(format!("{command:?} failed: {said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
