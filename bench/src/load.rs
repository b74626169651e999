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
        if found > 0 {
            first_token.get_or_insert_with(|| began.elapsed());
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
