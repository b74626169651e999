//! Asking for a summary: one question without tools, or several where the past is longer than a question may be.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use helve_dialect::{End, Language, Parser, Piece, Reading};
use helve_model::fleet::{Window, requested_num_ctx};
use helve_model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Needs, Turn};
use helve_types::{ModelParams, Spent, StopReason, ToolChoice, Usage};

use super::ModelStep;
use super::cost::compute_and_count_cost;
use crate::compact::{SummaryCut, estimate_summary_tokens, prompt};
use crate::drive::DriveError;
use crate::transcript::PlacedTurn;

/// A question that was lost on the way is asked again, so often.
const TRIES_MAX: u32 = 2;
const PAUSE: Duration = Duration::from_millis(500);
/// Models that think need room for that, too.
const ANSWER_TOKENS_MAX: u64 = 8_192;
/// So much of a question is not the past.
const PROMPT_TOKENS: u64 = 400;
/// No part of the past is asked about in smaller pieces than this.
const PART_TOKENS_MIN: u64 = 256;
/// How often the parts are halved where one was too long for the writer.
const HALVINGS_MAX: u32 = 2;

/// What is to be summed up.
pub(super) struct SummaryTask {
    pieces: Vec<String>,
    /// So much of it is asked about at once.
    tokens_max: u64,
    language: Language,
    words_max: u64,
}

/// What came of it, and what that took, also where there is no text.
pub(super) struct SummaryResult {
    pub(super) text: Option<String>,
    pub(super) model: String,
    pub(super) spent: Spent,
}

impl ModelStep<'_> {
    /// The turns before the cut, as a task for the model that writes summaries.
    pub(super) fn build_summary_task(
        &self,
        model: &dyn Model,
        turns: &[PlacedTurn<'_>],
        cut: &SummaryCut,
        whole: u64,
    ) -> SummaryTask {
        // The writer's window may be smaller than that of the model that is asked.
        let models = &self.driven().shared.models;
        let writer = self.summary_model_name().unwrap_or(model.name());
        let reads = models.get(writer).and_then(|writer| models.window(writer.name(), writer.params()));
        let tokens_max = match reads.map(Window::question_tokens_max) {
            // Estimates are off, and the summary of the parts before is asked with.
            Some(reads) => {
                let besides = PROMPT_TOKENS + estimate_summary_tokens(cut.tokens).min(reads / 8);
                models.token_ratio(writer).estimate_from_counted(reads.saturating_sub(besides)) / 10 * 9
            }
            // Unknown; but a summary is shorter than what it sums up.
            None => models.token_ratio(model.name()).estimate_from_counted(whole),
        };
        let effect = |tool: &str| self.driven().tools.toolbox.find(tool).map(|tool| tool.spec().effect);
        SummaryTask {
            pieces: prompt::format_turns(turns, effect),
            tokens_max: tokens_max.max(PART_TOKENS_MIN),
            language: self.driven().run.language(),
            words_max: estimate_summary_tokens(cut.tokens) * 3 / 4,
        }
    }

    fn summary_model_name(&self) -> Option<&str> {
        self.driven().shared.env.settings.compaction.model.as_deref()
    }

    /// Has the summary written. There is no text if the run is stopped, at a timeout, or if no model writes one.
    pub(super) async fn write_summary(
        &mut self,
        task: SummaryTask,
        model: &Arc<dyn Model>,
        window: Option<Window>,
        patience: Duration,
    ) -> Result<SummaryResult, DriveError> {
        let own = self.summary_model_name().and_then(|name| self.driven().shared.models.get(name));
        let writer = own.unwrap_or_else(|| model.clone());
        let needs = self.driven().shared.models.server_needs(writer.name());
        let params = summary_params(&*writer, &self.driven().run.setup().params, window);
        let (mut usage, mut text) = (Usage::default(), None);
        let writing = async {
            match write_summary_in_parts(&task, &*writer, &params, needs, &mut usage).await {
                Ok(said) => text = Some(said),
                Err(error) => tracing::warn!(model = writer.name(), %error, "summary failed"),
            }
        };
        self.driver.wait_unless_stopped(async { _ = tokio::time::timeout(patience, writing).await }).await?;
        let spent = compute_and_count_cost(&self.driven().shared.models, &*writer, usage);
        Ok(SummaryResult { text, model: writer.name().to_owned(), spent })
    }
}

/// The writer's own parameters: what a request wants of its answer is not meant for a summary.
fn summary_params(writer: &dyn Model, asked: &ModelParams, window: Option<Window>) -> ModelParams {
    let mut params = ModelParams { stop: vec![], ..writer.params().clone() };
    if let (None, Some(tokens)) = (requested_num_ctx(&params), requested_num_ctx(asked)) {
        params.extra.insert("num_ctx".into(), tokens.into());
    }
    let fits = window.map_or(ANSWER_TOKENS_MAX, |window| (window.tokens / 4).min(ANSWER_TOKENS_MAX));
    params.max_tokens = Some(u32::try_from(fits).unwrap_or(u32::MAX).max(256));
    params
}

/// The whole of it, part after part, in smaller parts if they turn out to be too long.
async fn write_summary_in_parts(
    task: &SummaryTask,
    writer: &dyn Model,
    params: &ModelParams,
    needs: Needs,
    usage: &mut Usage,
) -> Result<String, ModelError> {
    let system = prompt::summary_system_prompt(task.language, task.words_max);
    let mut halvings = 0;
    'parts: loop {
        let tokens_max = (task.tokens_max >> halvings).max(PART_TOKENS_MIN);
        let parts = prompt::join_into_parts(&task.pieces, tokens_max).ok_or_else(|| {
            ModelError::new(ModelErrorKind::TooLong, "it would take too many questions to sum up the past")
        })?;
        let mut text: Option<String> = None;
        for part in &parts {
            let question = prompt::summary_question(task.language, text.as_deref(), part);
            match ask_with_retries(writer, (&system, &question), params, needs, usage).await {
                Ok(said) => text = Some(said),
                Err(error) if error.kind == ModelErrorKind::TooLong && halvings < HALVINGS_MAX => {
                    halvings += 1;
                    continue 'parts;
                }
                Err(error) => return Err(error),
            }
        }
        return Ok(text.unwrap_or_default());
    }
}

async fn ask_with_retries(
    writer: &dyn Model,
    (system, question): (&str, &str),
    params: &ModelParams,
    needs: Needs,
    usage: &mut Usage,
) -> Result<String, ModelError> {
    let request = ModelRequest {
        system: Cow::Borrowed(system),
        stable: system.len(),
        turns: vec![Turn::User(helve_dialect::escape_user_text(question))],
        tools: vec![],
        tool_choice: &ToolChoice::None,
        params,
        form: None,
        needs,
        stop: &[],
        stream: true,
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let mut took = Usage::default();
        let said = ask_once(writer, &request, &mut took).await;
        *usage = usage.plus(took);
        match said {
            Err(error) if tries < TRIES_MAX && error.kind.is_transient() => tokio::time::sleep(PAUSE).await,
            said => return said,
        }
    }
}

async fn ask_once(
    writer: &dyn Model,
    request: &ModelRequest<'_>,
    usage: &mut Usage,
) -> Result<String, ModelError> {
    // Some think in their text.
    let mut parser = Parser::new(Reading::any(helve_dialect::Tools::new([])));
    let mut text = String::new();
    let mut write = |piece: Piece<'_>| {
        if let Piece::Text(more) = piece {
            text.push_str(more);
        }
    };
    let mut stopped = None;
    let mut events = writer.ask(request);
    while let Some(event) = events.next().await {
        match event {
            Ok(ModelEvent::Text(more)) => parser.feed(&more, &mut write),
            Ok(ModelEvent::Usage(took)) => *usage = took,
            Ok(ModelEvent::Finished(reason)) => stopped = Some(reason),
            Ok(
                ModelEvent::Reasoning(_)
                | ModelEvent::CallStarted { .. }
                | ModelEvent::CallArguments { .. }
                | ModelEvent::CallFinished { .. }
                | ModelEvent::Echo(_),
            ) => {}
            // What was complete stays so.
            Err(_) if stopped.is_some() => break,
            Err(error) => return Err(error),
        }
    }
    parser.finish(End::Normal, &mut write);
    let no = |message| Err(ModelError::new(ModelErrorKind::Refused, message));
    match stopped {
        None => Err(ModelError::new(ModelErrorKind::Broken, "the summary broke off before its end")),
        // What comes last in it is what is still open.
        Some(StopReason::Length) => no("the summary became too long and was cut off"),
        Some(_) if text.trim().is_empty() => no("the summary is empty"),
        Some(_) => Ok(text.trim().to_owned()),
    }
}
