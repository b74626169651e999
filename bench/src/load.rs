//! Clients: many at once, each asking again as soon as it was answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Streams that have no token by then never get one.
const OPENING_MAX: Duration = Duration::from_secs(60);

/// What is asked, and how its answer shows that it is a token.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
    pub(crate) body: Bytes,
    /// What each token's event contains.
    pub(crate) token: &'static [u8],
}

pub(crate) type HttpClient = Client<HttpConnector, Full<Bytes>>;

pub(crate) fn client() -> HttpClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).pool_max_idle_per_host(2_000).build(connector)
}

/// One answer, read to its end.
pub(crate) struct Answered {
    pub(crate) first_token: Duration,
    pub(crate) tokens: u64,
}

pub(crate) async fn ask(client: &HttpClient, question: &Question) -> anyhow::Result<Answered> {
    ask_and_tell(client, question, || {}).await
}

/// `started` is called when the first token has come.
async fn ask_and_tell(
    client: &HttpClient,
    question: &Question,
    started: impl Fn() + Send,
) -> anyhow::Result<Answered> {
    let request = Request::post(format!("http://{}{}", question.address, question.path))
        .header("content-type", "application/json")
        .body(Full::new(question.body.clone()))?;
    let began = Instant::now();
    let response = client.request(request).await?;
    if !response.status().is_success() {
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    let mut body = response.into_body();
    let mut first_token = None;
    let mut tokens = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let Some(data) = frame.data_ref() else { continue };
        let found = count(data, question.token);
        if found > 0 && first_token.is_none() {
            first_token = Some(began.elapsed());
            started();
        }
        tokens += found;
    }
    let first_token = first_token.context("an answer without a token")?;
    Ok(Answered { first_token, tokens })
}

/// How often a mark occurs. Marks are not cut by frames here: each event is written at once.
fn count(data: &[u8], mark: &[u8]) -> u64 {
    data.windows(mark.len()).filter(|window| *window == mark).count() as u64
}

/// Answers that are open at the same time, until this value is dropped.
pub(crate) struct OpenStreams {
    /// From the first request until the last stream had its first token.
    pub(crate) opening: Duration,
    asking: JoinSet<anyhow::Result<Answered>>,
}

impl OpenStreams {
    /// Opens so many at once.
    pub(crate) async fn open(question: &Question, count: usize) -> anyhow::Result<Self> {
        let client = client();
        let (started, mut all_started) = mpsc::channel(count);
        let began = Instant::now();
        let mut asking = JoinSet::new();
        for _ in 0..count {
            let (client, question, started) = (client.clone(), question.clone(), started.clone());
            asking.spawn(async move { ask_and_tell(&client, &question, || _ = started.try_send(())).await });
        }
        for _ in 0..count {
            tokio::select! {
                _ = all_started.recv() => {}
                Some(ended) = asking.join_next() => {
                    ended??;
                    bail!("a stream ended before all were open");
                }
                () = tokio::time::sleep(OPENING_MAX) => bail!("not all streams were open in time"),
            }
        }
        Ok(Self { opening: began.elapsed(), asking })
    }

    /// That all of them are still open.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match self.asking.try_join_next() {
            None => Ok(()),
            Some(ended) => {
                ended??;
                bail!("a slow stream ended early")
            }
        }
    }
}

/// What a crowd of clients got.
pub(crate) struct Crowd {
    pub(crate) answers: u64,
    pub(crate) tokens: u64,
    pub(crate) took: Duration,
    pub(crate) first_tokens: Vec<Duration>,
}

impl Crowd {
    pub(crate) fn median_first_token(&self) -> Duration {
        let mut sorted = self.first_tokens.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }

    pub(crate) fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn answers_per_second(&self) -> f64 {
        self.answers as f64 / self.took.as_secs_f64()
    }
}

/// `clients` at once, until `answers` have been given.
pub(crate) async fn crowd(question: &Question, clients: usize, answers: u64) -> anyhow::Result<Crowd> {
    let client = client();
    let left = Arc::new(AtomicU64::new(answers));
    let began = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (client, question, left) = (client.clone(), question.clone(), left.clone());
            tokio::spawn(async move {
                let mut mine = vec![];
                let take = |left: u64| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    mine.push(ask(&client, &question).await?);
                }
                anyhow::Ok(mine)
            })
        })
        .collect();
    let mut crowd = Crowd { answers: 0, tokens: 0, took: Duration::ZERO, first_tokens: vec![] };
    for task in tasks {
        for answered in task.await?? {
            crowd.answers += 1;
            crowd.tokens += answered.tokens;
            crowd.first_tokens.push(answered.first_token);
        }
    }
    crowd.took = began.elapsed();
    Ok(crowd)
}
