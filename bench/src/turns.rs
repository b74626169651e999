//! An agent turn, two model calls and one tool: CPU time beside the floor.

use std::time::Duration;

use bytes::Bytes;

use crate::load::{Question, crowd};
use crate::processes::Server;

const CLIENTS: usize = 32;

fn question(server: &Server, stream: bool) -> Question {
    Question {
        address: server.address,
        path: "/api/agent",
        body: Bytes::from(format!("{{\"message\": \"what is 12.5% of 3,480?\", \"stream\": {stream}}}")),
        token: b"\"content\":\"",
    }
}

struct Measured {
    cpu: Duration,
    turns_per_second: f64,
    memory_kib: u64,
}

async fn measure(server: &Server, stream: bool, turns: u64) -> anyhow::Result<Measured> {
    let question = question(server, stream);
    crowd(&question, CLIENTS, turns / 8).await?;
    let before = server.cpu()?;
    let crowd = crowd(&question, CLIENTS, turns).await?;
    let cpu = (server.cpu()? - before).div_f64(crowd.answers as f64);
    Ok(Measured { cpu, turns_per_second: crowd.answers_per_second(), memory_kib: server.memory_kib()? })
}

pub(crate) fn report() -> anyhow::Result<()> {
    println!("\nAn agent turn: two model calls and one tool, {CLIENTS} clients, everything recorded\n");
    println!("| server | answer | CPU µs a turn | times the floor | turns/s | memory MiB |");
    println!("|---|---|---|---|---|---|");
    let mock = Server::mock()?;
    let dir = tempfile::tempdir()?;
    let floor = Server::floor(&mock)?;
    let helve = Server::helve(&mock, dir.path())?;
    crate::block_on(async {
        for (stream, turns) in [(true, 4_000), (false, 8_000)] {
            let answer = if stream { "in pieces" } else { "whole" };
            let bare = measure(&floor, stream, turns).await?;
            let ours = measure(&helve, stream, turns).await?;
            for (name, found) in [("floor", &bare), ("Helve", &ours)] {
                println!(
                    "| {name} | {answer} | {} | {:.2} | {:.0} | {} |",
                    found.cpu.as_micros(),
                    found.cpu.as_secs_f64() / bare.cpu.as_secs_f64(),
                    found.turns_per_second,
                    found.memory_kib / 1024
                );
            }
        }
        Ok(())
    })
}
