//! A call that a client runs: claims it, does it once, brings what came of it. It survives the death of a server.

use helve_types::{CallId, Effect, RunId};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::connection::{ServerConnection, ServerGone};
use super::log::{AcceptedResult, Claim};
use super::{SharedLog, lock};
use crate::ledger::EffectRequest;
use crate::tools::CLIENT_TOOL;

pub(super) struct ClientCall {
    run: RunId,
    call: CallId,
    /// What the client calls itself, and whose it is.
    client: String,
    user: String,
    /// It stops the run before it brings the result.
    spoils_it: bool,
    stage: Stage,
}

enum Stage {
    Wanted,
    /// The client has the call, and has not begun.
    Claimed {
        token: String,
        payload: Value,
    },
    /// It happened, or did not; either is known.
    Done {
        token: String,
        result: Result<String, String>,
    },
    /// There is nothing to bring, or nobody wants it.
    Over,
}

impl ClientCall {
    pub(super) fn new(run: RunId, call: CallId, client: &str, user: &str, spoils_it: bool) -> Self {
        let (client, user) = (client.to_owned(), user.to_owned());
        Self { run, call, client, user, spoils_it, stage: Stage::Wanted }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// To its end, or to the server's.
    pub(super) async fn continue_call(
        &mut self,
        talk: &ServerConnection<'_>,
        ledger: &str,
        log: &SharedLog,
    ) -> Result<(), ServerGone> {
        loop {
            self.stage = match &self.stage {
                Stage::Over => return Ok(()),
                Stage::Wanted => self.claim(talk, log).await?,
                Stage::Claimed { token, payload } => {
                    let (token, order) = (token.clone(), self.effect_request(payload.clone()));
                    // Whatever comes of it, it is not done again.
                    self.stage = Stage::Over;
                    match carry_out(talk.http, ledger, &order).await {
                        Some(result) => Stage::Done { token, result },
                        None => Stage::Over,
                    }
                }
                Stage::Done { token, result } => {
                    if self.spoils_it {
                        talk.cancel(self.run).await?;
                    }
                    self.deliver_result(talk, token, result, log).await?
                }
            };
        }
    }

    async fn claim(&self, talk: &ServerConnection<'_>, log: &SharedLog) -> Result<Stage, ServerGone> {
        let (status, given) = talk.claim(self.run, &self.call, &self.client).await?;
        let text = |name: &str| given[name].as_str().unwrap_or_default().to_owned();
        match status {
            StatusCode::OK => {
                let claim = Claim { call: self.call.clone(), client: self.client.clone() };
                lock(log).claims.push(claim);
                let payload = serde_json::from_str(&text("arguments")).unwrap_or_default();
                Ok(Stage::Claimed { token: text("result_token"), payload })
            }
            // Another has it, or it waits for nobody any more.
            StatusCode::CONFLICT => Ok(Stage::Over),
            status => {
                lock(log).faults.push(format!("claiming {} gave {status}: {given}", self.call));
                Ok(Stage::Over)
            }
        }
    }

    fn effect_request(&self, payload: Value) -> EffectRequest {
        EffectRequest {
            call: self.call.to_string(),
            tool: CLIENT_TOOL.into(),
            class: Effect::NonIdempotent,
            user: self.user.clone(),
            at_once: 1,
            payload,
        }
    }

    async fn deliver_result(
        &self,
        talk: &ServerConnection<'_>,
        token: &str,
        result: &Result<String, String>,
        log: &SharedLog,
    ) -> Result<Stage, ServerGone> {
        let body = match result {
            Ok(text) => json!({"result_token": token, "result": text}),
            Err(why) => json!({"result_token": token, "error": why}),
        };
        let status = talk.deliver_result(self.run, &self.call, &body).await?;
        let mut log = lock(log);
        match (status, result) {
            (StatusCode::ACCEPTED, Ok(text)) => {
                log.brought.push(AcceptedResult { call: self.call.clone(), text: text.clone() });
            }
            (StatusCode::ACCEPTED | StatusCode::CONFLICT, _) => {}
            (status, _) => log.faults.push(format!("bringing {} gave {status}", self.call)),
        }
        Ok(Stage::Over)
    }
}

/// What came of it, if that is known.
async fn carry_out(http: &Client, ledger: &str, order: &EffectRequest) -> Option<Result<String, String>> {
    let sent = http.post(ledger).header("Idempotency-Key", &order.call).json(order).send().await.ok()?;
    let status = sent.status();
    let text = sent.text().await.ok()?;
    match status {
        StatusCode::OK => Some(Ok(text)),
        status if status.is_client_error() => Some(Err(text)),
        _ => None,
    }
}
