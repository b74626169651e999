//! `make run`: from a fresh clone to the page in a browser.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::page;
use crate::port_holder::port_holder;
use crate::step::{root, step};

const LISTEN: &str = "127.0.0.1:8890";
const ANSWER_BYTES_MAX: u64 = 16 << 10;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let listen = listen(arguments);
    // Told now and not after minutes of building.
    check_port(&listen)?;
    page::build()?;
    // Quick to compile, quick to run: the first build takes a few minutes, the next ones seconds.
    step(
        "server: build (the first time takes minutes)",
        "",
        &["cargo", "build", "--profile", "quick", "-p", "helve"],
    )?;
    let binary = root().join("target/quick/helve");
    println!(
        "\n── Helve starts. Open http://{} in a browser; Ctrl-C stops it.\n   In another terminal: target/quick/helve chat\n",
        listen.replace("127.0.0.1", "localhost")
    );
    if root().join("data/helve.db").exists() {
        println!(
            "── ./data is of an earlier `make run` and is not used; to use it: make run ARGS='--data data'\n"
        );
    }
    let mut serve = Command::new(&binary);
    serve.arg("serve").args(arguments).current_dir(root());
    let status = serve.status().with_context(|| format!("`{}` cannot be started", binary.display()))?;
    std::process::exit(status.code().unwrap_or(1));
}

/// Where the server will listen, as far as that can be known without its configuration file.
fn listen(arguments: &[String]) -> String {
    let after = arguments.iter().position(|argument| argument == "--listen").map(|at| at + 1);
    let given = after.and_then(|at| arguments.get(at)).cloned();
    let joined = arguments.iter().find_map(|argument| argument.strip_prefix("--listen=").map(str::to_owned));
    given.or(joined).or_else(|| std::env::var("HELVE_LISTEN").ok()).unwrap_or_else(|| LISTEN.into())
}

fn check_port(listen: &str) -> anyhow::Result<()> {
    let Err(error) = TcpListener::bind(listen) else { return Ok(()) };
    if error.kind() != std::io::ErrorKind::AddrInUse {
        bail!("cannot listen on {listen}: {error}");
    }
    let holder = port_holder(listen).map(|holder| format!(", {holder}")).unwrap_or_default();
    let other = "make run ARGS='--listen 127.0.0.1:8891'";
    if is_helve(listen) {
        bail!(
            "Helve already runs at http://{listen}{holder}. Open that page, or talk with it: target/quick/helve chat\n   \
             To start anew, stop it first; to run a second one: {other}"
        );
    }
    bail!(
        "{listen} is in use by another program{holder}.\n   \
         Stop that program, or take another port: {other}"
    )
}

/// Whether a Helve answers there.
fn is_helve(address: &str) -> bool {
    #[expect(clippy::disallowed_methods, reason = "the port that the developer's own server is to have")]
    let ask = || -> Option<bool> {
        let patience = Duration::from_secs(2);
        let mut socket =
            TcpStream::connect_timeout(&address.to_socket_addrs().ok()?.next()?, patience).ok()?;
        socket.set_read_timeout(Some(patience)).ok()?;
        write!(socket, "GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = vec![];
        socket.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer);
        Some(answer.contains("\"service\":\"helve\""))
    };
    ask().unwrap_or_default()
}
