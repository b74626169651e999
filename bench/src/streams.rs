//! Streams through Helve, beside the model server alone: first token, tokens a second.

use std::time::Duration;

use bytes::Bytes;

use crate::load::{Question, crowd};
use crate::open;
use crate::processes::Server;

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

pub(crate) fn through(helve: &Server) -> Question {
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
        open::taken(&helve).await
    })?;
    drop(helve);
    println!(
        "\nMemory of an open, slow stream, one of {}, in Helve when it has served a crowd of 256 before, and keeps \
         what it needed for it: {} KiB",
        open::STREAMS,
        after_a_crowd.kib_each
    );
    Ok(())
}
