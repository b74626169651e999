//! Streams through Helve, beside the model server alone: first token, tokens a second, memory.

use std::time::Duration;

use bytes::Bytes;

use helve_lab::mock::PROTOCOLS;

use crate::load::{Question, ask, client, crowd};
use crate::processes::Server;

const STREAMS: u64 = 1_000;

/// Straight to the mock, or through Helve; `model` says how the mock is to answer.
fn direct(mock: &Server, model: &str) -> Question {
    let body = format!(
        "{{\"model\": \"{model}\", \"stream\": true, \"messages\": [{{\"role\": \"user\", \"content\": \"go\"}}]}}"
    );
    Question {
        address: mock.address,
        path: "/v1/chat/completions",
        body: body.into(),
        token: b"\"content\":\"",
    }
}

fn through(helve: &Server) -> Question {
    let body = Bytes::from_static(b"{\"message\": \"go\", \"tools\": false}");
    Question { address: helve.address, path: "/api/agent", body, token: b"\"content\":\"" }
}

pub(crate) fn report() -> anyhow::Result<()> {
    let mock = Server::mock()?;
    let dir = tempfile::tempdir()?;
    let helve = Server::helve(&mock, dir.path())?;
    println!("\nStreams of 20 tokens: the mock model server alone, and through Helve\n");
    println!(
        "| streams at once | first token ms, alone | through Helve | tokens/s, alone | through Helve | CPU µs a token in Helve |"
    );
    println!("|---|---|---|---|---|---|");
    let after_a_crowd = crate::block_on(async {
        for clients in [1, 32, 256] {
            let answers = if clients == 1 { 300 } else { 4_000 };
            crowd(&through(&helve), clients, answers / 8).await?;
            let alone = crowd(&direct(&mock, "mock"), clients, answers).await?;
            let before = helve.cpu()?;
            let ours = crowd(&through(&helve), clients, answers).await?;
            let cpu = (helve.cpu()? - before).as_secs_f64() * 1e6 / ours.answers as f64 / 20.0;
            let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
            println!(
                "| {clients} | {:.2} | {:.2} | {:.0} | {:.0} | {cpu:.1} |",
                ms(alone.median_first_token()),
                ms(ours.median_first_token()),
                alone.tokens_per_second(),
                // Pieces that come together go out together, so answers are counted, not writes.
                ours.answers_per_second() * 20.0,
            );
        }
        memory(&helve).await
    })?;
    drop(helve);
    println!("\nAn open slow stream, one of {STREAMS}, in a server that has just started\n");
    println!("| the model's protocol | KiB of memory |");
    println!("|---|---|");
    for protocol in PROTOCOLS {
        let dir = tempfile::tempdir()?;
        let helve = Server::helve_with(&mock, dir.path(), protocol.name)?;
        println!("| {} | {} |", protocol.name, crate::block_on(memory(&helve))?);
    }
    println!("\nIn one that has served a crowd before, and keeps what it needed for it: {after_a_crowd} KiB");
    Ok(())
}

/// The memory of an open, slow stream, in KiB.
async fn memory(helve: &Server) -> anyhow::Result<u64> {
    let body = Bytes::from_static(b"{\"message\": \"[[text=1000,gap=100]]\", \"tools\": false}");
    let question = Question { body, ..through(helve) };
    let before = helve.memory_kib()?;
    let client = client();
    let open: Vec<_> = (0..STREAMS)
        .map(|_| {
            let (client, question) = (client.clone(), question.clone());
            tokio::spawn(async move { ask(&client, &question).await.map(drop) })
        })
        .collect();
    // Until all of them have been running for a while.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let after = helve.memory_kib()?;
    if let Some(ended) = open.into_iter().find(tokio::task::JoinHandle::is_finished) {
        ended.await??;
        anyhow::bail!("a slow stream ended early");
    }
    Ok(after.saturating_sub(before) / STREAMS)
}
