//! What the four plan tools share: the bounds of a plan, and how one is shown to a model, a person and a program.

#[cfg(test)]
mod tests;

use std::time::Duration;

use helve_tool::{
    CachePolicy, CacheScope, Guards, LimitSettings, Limits, PlanBody, PlanRecord, PlanStatus, PlanStep,
    StoreError, ToolError,
};
use helve_types::{Labels, Notice, Taint, Timestamp, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const TITLE_CHARS_MAX: usize = 200;
const CONTENT_CHARS_MAX: usize = 8_000;
const STEP_CHARS_MAX: usize = 500;
pub(crate) const STEPS_MAX: usize = 100;
pub(crate) const TAG: &str = "plans";

/// Where a plan stands, as models write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Active,
    Done,
    Dropped,
}

impl From<Status> for PlanStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Done => Self::Done,
            Status::Dropped => Self::Dropped,
        }
    }
}

fn status_word(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Active => "active",
        PlanStatus::Done => "done",
        PlanStatus::Dropped => "dropped",
    }
}

/// For the tools that read: their answers are each user's own, and end when the user's plans change.
pub(crate) fn read_guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(10),
        cache: Some(CachePolicy { ttl: Duration::from_secs(300), scope: CacheScope::User }),
        ..Guards::default()
    }
}

/// For the tools that write: not so often that a loop could fill the disk.
pub(crate) fn write_guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(10),
        limits: Limits {
            tool: None,
            user: Some(LimitSettings { per_window: Some(60), ..LimitSettings::default() }),
        },
        drops: vec!["get_plan".into(), "list_plans".into()],
        ..Guards::default()
    }
}

/// The plan, if it is one: within bounds, on one line where one line is meant.
pub(crate) fn check_plan(mut body: PlanBody) -> Result<PlanBody, String> {
    let title = clean_line(&body.title);
    if title.is_empty() {
        return Err("`title` is empty; say in a few words what the plan is for".into());
    }
    check_length("title", &title, TITLE_CHARS_MAX)?;
    let printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let content: String = body.content.replace("\r\n", "\n").chars().filter(printable).collect();
    let content = content.trim().to_owned();
    check_length("content", &content, CONTENT_CHARS_MAX)?;
    if body.steps.len() > STEPS_MAX {
        return Err(format!("a plan has {STEPS_MAX} steps at most; make two plans of it"));
    }
    let mut steps = vec![];
    for PlanStep { text, done } in std::mem::take(&mut body.steps) {
        let text = clean_line(&text);
        if text.is_empty() {
            return Err("a step is empty; say what is to be done, or leave it out".into());
        }
        check_length("steps", &text, STEP_CHARS_MAX)?;
        steps.push(PlanStep { text, done });
    }
    Ok(PlanBody { title, content, steps, ..body })
}

fn check_length(field: &str, text: &str, chars_max: usize) -> Result<(), String> {
    if text.chars().count() > chars_max {
        return Err(format!("`{field}` has more than {chars_max} characters; shorten it"));
    }
    Ok(())
}

fn clean_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// What is written on what a tool tells of plans: they hold what those had read who wrote them. Where that was not kept,
/// it is unknown what is in them.
pub(crate) fn plan_labels<'a>(spec: &ToolSpec, plans: impl IntoIterator<Item = &'a PlanRecord>) -> Labels {
    let mut labels = Labels { source: spec.name.clone(), ..Labels::default() };
    for PlanRecord { body, .. } in plans {
        let both = (true, true);
        let read = |taint: &Taint| (!taint.private.is_empty(), !taint.untrusted.is_empty());
        let (private, untrusted) = body.taint.as_ref().map_or(both, read);
        labels.private |= private;
        labels.untrusted |= untrusted;
    }
    labels
}

/// One plan, whole.
pub(crate) fn build_output(spec: &ToolSpec, plan: &PlanRecord) -> ToolOutput {
    let PlanRecord { number, version, body, .. } = plan;
    let mut text = format!("Plan {number} (version {version}, {}): {}", status_word(body.status), body.title);
    if !body.content.is_empty() {
        text.push('\n');
        text.push_str(&body.content);
    }
    for (place, step) in (1..).zip(&body.steps) {
        let mark = if step.done { 'x' } else { ' ' };
        text.push_str(&format!("\n{place}. [{mark}] {}", step.text));
    }
    let output = ToolOutput::text(text).with_title(headline(plan)).with_data(plan_data(plan));
    ToolOutput { labels: Some(plan_labels(spec, [plan])), ..output }
}

/// A line for a list, and for the person.
pub(crate) fn headline(plan: &PlanRecord) -> String {
    let PlanRecord { number, body, .. } = plan;
    let done = body.steps.iter().filter(|step| step.done).count();
    let steps = if body.steps.is_empty() { String::new() } else { format!(", {done}/{}", body.steps.len()) };
    format!("Plan {number} ({}{steps}): {}", status_word(body.status), body.title)
}

pub(crate) fn plan_data(plan: &PlanRecord) -> Value {
    let PlanRecord { number, version, body, created_at, updated_at, .. } = plan;
    let steps = (1..).zip(&body.steps);
    let steps: Vec<Value> = steps
        .map(|(place, step): (u32, _)| json!({"step": place, "text": step.text, "done": step.done}))
        .collect();
    json!({
        "plan_id": number,
        "version": version,
        "title": body.title,
        "content": body.content,
        "status": status_word(body.status),
        "steps": steps,
        "created_at": to_iso(*created_at),
        "updated_at": to_iso(*updated_at),
    })
}

fn to_iso(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_string()
}

/// What keeps a plan from being read or written, for the model.
pub(crate) fn store_error(error: StoreError, number: u32) -> ToolError {
    match error {
        StoreError::NotFound(_) => ToolError::Declined(format!(
            "the user has no plan {number}; list_plans shows the plans there are with their numbers"
        ))
        .with_notice(Notice::plan_not_found()),
        StoreError::Changed(version) => ToolError::Declined(format!(
            "plan {number} is at version {version} now, so nothing was changed; look at it with get_plan and decide \
             again"
        ))
        .with_notice(Notice::plan_changed()),
        StoreError::Full(_) => ToolError::Declined(
            "the user has as many plans as are kept; use update_plan on one that is over instead".into(),
        )
        .with_notice(Notice::plans_full()),
        // Every write is one transaction under the call's own key: to try again is safe.
        other => ToolError::NotSent(other.to_string()),
    }
}
