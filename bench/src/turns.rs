//! An agent turn, two model calls and one tool: CPU time and bytes written, beside the floor and beside rig.

use std::time::Duration;

use bytes::Bytes;

use crate::load::{Question, crowd};
use crate::processes::Server;

/// How many ask at once, and how many turns are measured in pieces.
const LOADS: [(usize, u64); 2] = [(1, 1_000), (32, 4_000)];

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
    written_kib: f64,
}

async fn measure(server: &Server, stream: bool, clients: usize, turns: u64) -> anyhow::Result<Measured> {
    let question = question(server, stream);
    crowd(&question, clients, turns / 8).await?;
    let (before, written) = (server.cpu()?, server.written()?);
    let crowd = crowd(&question, clients, turns).await?;
    let each = crowd.answers as f64;
    Ok(Measured {
        cpu: (server.cpu()? - before).div_f64(each),
        turns_per_second: crowd.answers_per_second(),
        memory_kib: server.memory_kib()?,
        written_kib: (server.written()? - written) as f64 / 1024.0 / each,
    })
}

pub(crate) fn report() -> anyhow::Result<()> {
    println!("\nAn agent turn: two model calls and one tool; Helve records everything\n");
    println!(
        "| clients | server | answer | CPU µs a turn | times the floor | turns/s | memory MiB | KiB written a turn |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mock = Server::mock()?;
    let dir = tempfile::tempdir()?;
    let servers = [
        ("floor", Server::floor(&mock)?),
        ("rig", Server::rig(&mock)?),
        ("Helve", Server::helve(&mock, dir.path())?),
    ];
    crate::block_on(async {
        for (clients, turns) in LOADS {
            for (stream, turns) in [(true, turns), (false, turns * 2)] {
                let answer = if stream { "in pieces" } else { "whole" };
                let mut floor = None;
                for (name, server) in &servers {
                    let found = measure(server, stream, clients, turns).await?;
                    let floor = *floor.get_or_insert(found.cpu);
                    println!(
                        "| {clients} | {name} | {answer} | {} | {:.2} | {:.0} | {} | {:.1} |",
                        found.cpu.as_micros(),
                        found.cpu.as_secs_f64() / floor.as_secs_f64(),
                        found.turns_per_second,
                        found.memory_kib / 1024,
                        found.written_kib
                    );
                }
            }
        }
        Ok(())
    })
}
