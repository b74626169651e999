//! Helve's client in each protocol, beside a bare reader of the same bytes: first token, tokens a second, memory.
//!
//! Both are `reqwest` in this process and ask the same mock, one after the other. The bare reader takes the bytes
//! and looks at none; Helve's client finds frames, parses them and makes events.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures_util::StreamExt;
use helve_lab::mock::{PROTOCOLS, Protocol};
use helve_model::{Model, ModelEvent, ModelRequest, Needs, ToolMode, Turn};
use helve_model_http::{HttpModel, HttpModelSettings};
use helve_types::{ModelParams, ToolChoice};

use crate::processes::{Server, cpu_of, memory_kib_of};

const TOKENS: u64 = 200;
const SAY: &str = "[[text=200]]";
const SAY_SLOWLY: &str = "[[text=2000,gap=100]]";
const HELD: u64 = 1_000;

/// Who reads the answers.
#[derive(Clone)]
enum Reader {
    Bare { client: reqwest::Client, url: String, body: String },
    Helve { model: Arc<HttpModel>, say: &'static str },
}

impl Reader {
    fn bare(address: &str, protocol: &Protocol, say: &str) -> anyhow::Result<Self> {
        let url = format!("http://{address}{}{}", protocol.base, protocol.path);
        let body = match protocol.name {
            "gemini" => {
                format!("{{\"contents\": [{{\"role\": \"user\", \"parts\": [{{\"text\": \"{say}\"}}]}}]}}")
            }
            _ => format!(
                "{{\"model\": \"mock\", \"stream\": true, \"messages\": [{{\"role\": \"user\", \"content\": \"{say}\"}}]}}"
            ),
        };
        Ok(Self::Bare { client: helve_model_http::build_client()?, url, body })
    }

    fn helve(address: &str, protocol: &Protocol, say: &'static str) -> anyhow::Result<Self> {
        let settings = HttpModelSettings {
            name: "mock".into(),
            vendor: None,
            protocol: Some(protocol.name.into()),
            model: "mock".into(),
            base_url: Some(format!("http://{address}{}", protocol.base)),
            key_env: None,
            key: None,
            tool_mode: ToolMode::Auto,
            params: ModelParams::default(),
        };
        Ok(Self::Helve { model: Arc::new(HttpModel::new(settings, helve_model_http::build_client()?)?), say })
    }

    /// Reads one answer to its end; `first` is called when something of it has come.
    async fn read(&self, mut first: impl FnMut()) -> anyhow::Result<()> {
        match self {
            Self::Bare { client, url, body } => {
                let request = client.post(url).header("content-type", "application/json").body(body.clone());
                let mut bytes = request.send().await?.error_for_status()?.bytes_stream();
                while let Some(chunk) = bytes.next().await {
                    chunk?;
                    first();
                }
            }
            Self::Helve { model, say } => {
                let params = ModelParams::default();
                let mut events = model.ask(&ModelRequest {
                    system: "".into(),
                    stable: 0,
                    turns: vec![Turn::User((*say).into())],
                    tools: vec![],
                    tool_choice: &ToolChoice::Auto,
                    params: &params,
                    form: None,
                    needs: Needs::default(),
                    stop: &[],
                    stream: true,
                });
                let mut tokens = 0;
                while let Some(event) = events.next().await {
                    if let ModelEvent::Text(_) = event? {
                        tokens += 1;
                        first();
                    }
                }
                if tokens != TOKENS {
                    bail!("{tokens} tokens came of {TOKENS}");
                }
            }
        }
        Ok(())
    }
}

struct Measured {
    first_token: Duration,
    tokens_per_second: f64,
    cpu_us: f64,
}

/// So many answers, so many of them at once.
async fn measure(reader: &Reader, at_once: usize, answers: usize) -> anyhow::Result<Measured> {
    let before = cpu_of("self")?;
    let began = Instant::now();
    let mut firsts: Vec<Duration> = futures_util::stream::iter(0..answers)
        .map(|_| {
            let reader = reader.clone();
            async move {
                let asked = Instant::now();
                let mut first = None;
                reader.read(|| _ = first.get_or_insert_with(|| asked.elapsed())).await?;
                first.context("an answer without a token")
            }
        })
        .buffer_unordered(at_once)
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .collect::<anyhow::Result<_>>()?;
    firsts.sort_unstable();
    let tokens = answers as f64 * TOKENS as f64;
    Ok(Measured {
        first_token: firsts[firsts.len() / 2],
        tokens_per_second: tokens / began.elapsed().as_secs_f64(),
        cpu_us: (cpu_of("self")? - before).as_secs_f64() * 1e6 / tokens,
    })
}

pub(crate) fn report() -> anyhow::Result<()> {
    helve::assemble::install_tls();
    let mock = Server::mock()?;
    let address = mock.address.to_string();
    println!("\nAnswers of {TOKENS} tokens through Helve's client, beside a bare reader of the same bytes\n");
    println!(
        "| protocol | at once | first token ms, bare | Helve | tokens/s, bare | Helve | CPU µs a token, bare | Helve | times |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    crate::block_on(async {
        for protocol in PROTOCOLS {
            let bare = Reader::bare(&address, protocol, SAY)?;
            let helve = Reader::helve(&address, protocol, SAY)?;
            for (at_once, answers) in [(1, 400), (32, 4_000)] {
                for reader in [&bare, &helve] {
                    measure(reader, at_once, answers / 8).await?;
                }
                let bare = measure(&bare, at_once, answers).await?;
                let helve = measure(&helve, at_once, answers).await?;
                println!(
                    "| {} | {at_once} | {:.2} | {:.2} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} |",
                    protocol.name,
                    bare.first_token.as_secs_f64() * 1e3,
                    helve.first_token.as_secs_f64() * 1e3,
                    bare.tokens_per_second,
                    helve.tokens_per_second,
                    bare.cpu_us,
                    helve.cpu_us,
                    helve.cpu_us / bare.cpu_us,
                );
            }
        }
        anyhow::Ok(())
    })?;
    println!("\nMemory of an open slow answer, one of {HELD}, in the process that reads it\n");
    println!("| protocol | bare KiB | Helve KiB |");
    println!("|---|---|---|");
    for protocol in PROTOCOLS {
        let [bare, helve] = ["bare", "helve"].map(|reader| held(reader, protocol, &address));
        println!("| {} | {:.1} | {:.1} |", protocol.name, bare?, helve?);
    }
    Ok(())
}

/// What a process of its own says about holding many answers open.
fn held(reader: &str, protocol: &Protocol, address: &str) -> anyhow::Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["hold", reader, protocol.name, address])
        .stderr(Stdio::inherit())
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Holds many slow answers open and prints the memory of each, in KiB.
pub(crate) fn hold(reader: &str, protocol: &str, address: &str) -> anyhow::Result<()> {
    helve::assemble::install_tls();
    let protocol = PROTOCOLS.iter().find(|known| known.name == protocol).context("an unknown protocol")?;
    let slow = match reader {
        "bare" => Reader::bare(address, protocol, SAY_SLOWLY)?,
        _ => Reader::helve(address, protocol, SAY_SLOWLY)?,
    };
    crate::block_on(async move {
        // What is needed once is not counted.
        let (first, mut began) = tokio::sync::mpsc::unbounded_channel();
        let open = |slow: Reader, first: tokio::sync::mpsc::UnboundedSender<()>| {
            let mut first = Some(first);
            tokio::spawn(async move {
                slow.read(|| first.take().into_iter().for_each(|first| _ = first.send(()))).await
            })
        };
        let mut tasks = vec![open(slow.clone(), first.clone())];
        began.recv().await;
        let before = memory_kib_of("self")?;
        tasks.extend((0..HELD).map(|_| open(slow.clone(), first.clone())));
        for _ in 0..HELD {
            began.recv().await;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        let after = memory_kib_of("self")?;
        if let Some(ended) = tasks.into_iter().find(tokio::task::JoinHandle::is_finished) {
            ended.await??;
            bail!("a slow answer ended early");
        }
        println!("{:.1}", (after.saturating_sub(before)) as f64 / HELD as f64);
        // Nobody waits for the answers.
        std::process::exit(0)
    })
}
