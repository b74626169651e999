//! A crowd that catches up with finished runs: memory and threads of the server, and what it gives back.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;

use crate::load::client;
use crate::processes::Server;

const READERS: usize = 2_000;
/// What a run's log has, about.
const RUN_BYTES: usize = 100_000;
/// The server keeps some of what a crowd took for so long at most.
const GIVEN_BACK: Duration = Duration::from_secs(10);

pub(crate) fn report() -> anyhow::Result<()> {
    let mock = Server::mock()?;
    println!("\n{READERS} readers of finished runs of {} KB, all at once\n", RUN_BYTES / 1_000);
    println!("| runs | memory before, MiB | at most | 10 s after they left | threads before | at most |");
    println!("|---|---|---|---|---|---|");
    for runs in [1, 50] {
        let dir = tempfile::tempdir()?;
        let helve = Server::helve(&mock, dir.path())?;
        crate::block_on(crowd(&helve, runs))?;
    }
    Ok(())
}

async fn crowd(helve: &Server, count: usize) -> anyhow::Result<()> {
    let mut runs = vec![];
    for _ in 0..count {
        runs.push(finished_run(helve).await?);
    }
    let (before, threads) = (helve.memory_kib()?, helve.threads()?);
    let readers: Vec<_> = runs
        .iter()
        .cycle()
        .take(READERS)
        .map(|run| tokio::spawn(get(format!("http://{}/api/runs/{run}/events", helve.address))))
        .collect();
    let (mut most, mut threads_most) = (before, threads);
    while readers.iter().any(|reader| !reader.is_finished()) {
        most = most.max(helve.memory_kib()?);
        threads_most = threads_most.max(helve.threads()?);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for reader in readers {
        let read = reader.await??;
        ensure!(read.len() >= RUN_BYTES, "a reader got {} bytes", read.len());
    }
    tokio::time::sleep(GIVEN_BACK).await;
    let after = helve.memory_kib()?;
    println!(
        "| {count} | {} | {} | {} | {threads} | {threads_most} |",
        before >> 10,
        most >> 10,
        after >> 10
    );
    Ok(())
}

async fn finished_run(helve: &Server) -> anyhow::Result<String> {
    let message = "lorem ipsum ".repeat(RUN_BYTES / 12 + 1);
    let body = serde_json::json!({"message": message}).to_string();
    let address = format!("http://{}/api/runs", helve.address);
    let request = Request::post(address)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))?;
    let answer = client().request(request).await?.into_body().collect().await?.to_bytes();
    let started: serde_json::Value = serde_json::from_slice(&answer)?;
    let run = started["run"].as_str().context("no run was started")?.to_owned();
    for _ in 0..500 {
        let shown = get(format!("http://{}/api/runs/{run}", helve.address)).await?;
        let shown: serde_json::Value = serde_json::from_slice(&shown)?;
        if shown["state"] == "completed" {
            return Ok(run);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bail!("a run does not end")
}

/// On a connection of its own.
async fn get(address: String) -> anyhow::Result<Bytes> {
    let request = Request::get(address).body(Full::new(Bytes::new()))?;
    Ok(client().request(request).await?.into_body().collect().await?.to_bytes())
}
