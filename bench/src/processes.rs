//! The servers under measurement, each a process of its own.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use helve::config::{Config, Environment, Overrides};
use helve_lab::mock::{PROTOCOLS, Script};
use helve_types::World;

/// A server that ends with this value.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Server {
    fn start(role: &str, more: &[&str]) -> anyhow::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = Command::new(std::env::current_exe()?)
            .arg(role)
            .arg(address.port().to_string())
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("{role} cannot be started"))?;
        let server = Self { child, address };
        server.wait(role)?;
        Ok(server)
    }

    pub(crate) fn mock() -> anyhow::Result<Self> {
        Self::start("serve-mock", &[])
    }

    pub(crate) fn floor(model: &Server) -> anyhow::Result<Self> {
        Self::start("serve-floor", &[&model.address.to_string()])
    }

    pub(crate) fn rig(model: &Server) -> anyhow::Result<Self> {
        Self::start("serve-rig", &[&model.address.to_string()])
    }

    pub(crate) fn helve(model: &Server, data: &Path) -> anyhow::Result<Self> {
        Self::helve_with(model, data, "openai_chat")
    }

    pub(crate) fn helve_with(model: &Server, data: &Path, protocol: &str) -> anyhow::Result<Self> {
        Self::start("serve-helve", &[&model.address.to_string(), &data.display().to_string(), protocol])
    }

    fn wait(&self, role: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        while std::net::TcpStream::connect(self.address).is_err() {
            if began.elapsed() > Duration::from_secs(20) {
                bail!("{role} does not answer");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Helve takes runs a moment after it listens.
        std::thread::sleep(Duration::from_millis(300));
        Ok(())
    }

    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(&self.child.id().to_string())
    }

    /// Bytes that a process has sent to a disk so far, as the kernel counts them.
    pub(crate) fn written(&self) -> anyhow::Result<u64> {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.child.id()))?;
        let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).context("no write_bytes")?;
        Ok(line.trim().parse()?)
    }

    pub(crate) fn threads(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/task", self.child.id()))?.count())
    }

    pub(crate) fn memory_kib(&self) -> anyhow::Result<u64> {
        memory_kib_of(&self.child.id().to_string())
    }
}

/// CPU time that a process has used so far, of user and system.
pub(crate) fn cpu_of(process: &str) -> anyhow::Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after_name = stat.rsplit_once(')').context("an odd /proc entry")?.1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    // utime and stime, in hundredths of a second on every Linux there is.
    Ok(Duration::from_millis((ticks(11) + ticks(12)) * 10))
}

/// Memory that a process has in use, in KiB.
pub(crate) fn memory_kib_of(process: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}

/// The mock model server, as a process.
pub(crate) fn mock(port: u16) -> anyhow::Result<()> {
    helve_lab::mock::serve_forever(SocketAddr::from(([127, 0, 0, 1], port)), Script::default())
}

/// Helve with the mock as its model, and a tool that does next to nothing.
pub(crate) fn helve(port: &str, model: &str, data: &str, protocol: &str) -> anyhow::Result<()> {
    let spoken = PROTOCOLS.iter().find(|known| known.name == protocol).context("an unknown protocol")?;
    let directory = std::path::PathBuf::from(data);
    std::fs::create_dir_all(&directory)?;
    let file = directory.join("helve.toml");
    std::fs::write(
        &file,
        format!(
            "default_model = \"mock\"\n[server]\nlisten = \"127.0.0.1:{port}\"\nlog = \"error\"\n\
             [limits]\nruns_max = 2000\nruns_per_user_max = 2000\nstreams_per_user_max = 2000\n\
             [[models]]\nname = \"mock\"\nprotocol = \"{protocol}\"\nmodel = \"mock\"\n\
             base_url = \"http://{model}{}\"\ntools = \"native\"\n\
             [[agents]]\nname = \"default\"\ntools = [\"calculator\"]\n",
            spoken.base
        ),
    )?;
    let overrides = Overrides { config: Some(file), listen: None, data: Some(directory) };
    let config = Config::load(&overrides, &Environment::default())?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(helve::commands::serve::serve(
        &config,
        &World::real(),
        vec![],
    ))
}
