//! A thousand streams that stay open: what one of them takes, and how long it takes until all have begun. The bare server
//! reads the model's events and writes its own, as Helve does, and keeps nothing.

use std::time::Duration;

use bytes::Bytes;
use helve_lab::mock::PROTOCOLS;

use crate::load::{OpenStreams, Question};
use crate::processes::Server;
use crate::streams::through;

pub(crate) const STREAMS: usize = 1_000;

pub(crate) fn report() -> anyhow::Result<()> {
    let mock = Server::mock()?;
    println!("\n{STREAMS} slow streams opened at once in a server that has just started\n");
    println!("| server | the model's protocol | KiB each | opened within ms | times the bare server |");
    println!("|---|---|---|---|---|");
    let bare = crate::block_on(taken(&Server::floor(&mock)?))?;
    let row = |server: &str, protocol: &str, taken: &Taken| {
        let times = taken.opening.as_secs_f64() / bare.opening.as_secs_f64();
        let opening = taken.opening.as_millis();
        println!("| {server} | {protocol} | {} | {opening} | {times:.2} |", taken.kib_each);
    };
    row("bare", "openai_chat", &bare);
    for protocol in PROTOCOLS {
        let dir = tempfile::tempdir()?;
        let helve = Server::helve_with(&mock, dir.path(), protocol.name)?;
        row("Helve", protocol.name, &crate::block_on(taken(&helve))?);
    }
    Ok(())
}

/// What a thousand open, slow streams take.
pub(crate) struct Taken {
    pub(crate) kib_each: u64,
    opening: Duration,
}

pub(crate) async fn taken(server: &Server) -> anyhow::Result<Taken> {
    let body = Bytes::from_static(b"{\"message\": \"[[text=1000,gap=100]]\", \"tools\": false}");
    let question = Question { body, ..through(server) };
    let before = server.memory_kib()?;
    let mut open = OpenStreams::open(&question, STREAMS).await?;
    // Until all of them have been running for a while.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let after = server.memory_kib()?;
    open.check()?;
    Ok(Taken { kib_each: after.saturating_sub(before) / STREAMS as u64, opening: open.opening })
}
