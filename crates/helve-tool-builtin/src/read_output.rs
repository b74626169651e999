//! `read_output`: reads in pieces what was too long for the model to get at once, or is no longer shown to it.
//!
//! The whole of an output is kept with the record of its call; the user store gives it out to the same user in the same
//! conversation and to nobody else. Here is only the choice of the piece: by bytes, by lines, or by what stands in it.

mod find;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use helve_tool::{
    CallContext, Guards, READ_OUTPUT, Request, StoreError, Tool, ToolError, ToolFuture, cut_piece, schema_of,
};
use helve_types::{CallId, Effect, Example, Notice, OnUnknown, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const BYTES_DEFAULT: usize = 16_000;
/// Less than what is cut, so that a piece is never cut again.
const BYTES_MAX: usize = 32_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The id of the call whose output was cut or left out, exactly as it is said there.
    #[schemars(length(min = 1, max = 128))]
    call: String,
    /// The byte to begin at; 0 if nothing else says where.
    // Some models write every number with a point.
    #[schemars(with = "Option<u64>")]
    offset: Option<f64>,
    /// How many bytes at most; 16,000 if left out, 32,000 at most.
    #[schemars(with = "Option<u32>", range(min = 1, max = 32000))]
    limit: Option<f64>,
    /// The first line to read, counted from 1; instead of `offset`.
    #[schemars(with = "Option<u64>", range(min = 1))]
    from_line: Option<f64>,
    /// The last line to read; with `from_line`.
    #[schemars(with = "Option<u64>", range(min = 1))]
    to_line: Option<f64>,
    /// Words to look for, instead of reading: gives the places where they stand.
    #[schemars(length(min = 1, max = 200))]
    search: Option<String>,
}

struct ReadOutput {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(ReadOutput { spec: spec() }), guards())
}

impl Tool for ReadOutput {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments: Arguments = request.parse()?;
            let call: CallId = arguments.call.trim().parse().map_err(|_| not_found(&arguments.call))?;
            let whole = cx.user_store().whole_output(&call).await.map_err(|error| match error {
                StoreError::NotFound(_) => not_found(&arguments.call),
                other => ToolError::NotSent(other.to_string()),
            })?;
            read_piece(&whole, &arguments)
                .map_err(|why| ToolError::Declined(why).with_notice(Notice::output_not_readable()))
        })
    }
}

/// The same words whether it is not there or another user's.
fn not_found(call: &str) -> ToolError {
    ToolError::Declined(format!(
        "there is no output of a call `{call}` in this conversation; outputs that end with `[cut: …]` and those that \
         were left out, `[left out: …]`, can be read under the id that stands there"
    ))
    .with_notice(Notice::output_not_kept())
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Read an output".into()),
        tags: vec!["output".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            READ_OUTPUT,
            include_str!("read_output.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    let call = "019a8c1e-6f00-7000-8000-000000000001:1:0";
    vec![
        Example {
            question: "What is at the very end of that log?".into(),
            arguments: json!({"call": call, "offset": 90000}),
            result: "10:02 worker 3 stopped: disk full\n[bytes 90000 to 90033 of 90033: the end]".into(),
            answer: "The log ends with **worker 3 stopped: disk full**, at 10:02.".into(),
        },
        Example {
            question: "刚才的结果里有没有提到“退款”？".into(),
            arguments: json!({"call": call, "search": "退款"}),
            result: "1 place:\nline 214, offset 51230: 退款将在 7 个工作日内到账".into(),
            answer: "有，第 214 行写着：**退款将在 7 个工作日内到账**。".into(),
        },
    ]
}

/// It reads from the store and touches nothing. Not cached: what it reads is at hand.
fn guards() -> Guards {
    Guards { timeout: Duration::from_secs(10), attempts: 1, ..Guards::default() }
}

fn read_piece(whole: &str, arguments: &Arguments) -> Result<ToolOutput, String> {
    if let Some(words) = &arguments.search {
        return find::find_in_output(whole, words);
    }
    let limit = arguments.limit.map_or(BYTES_DEFAULT, to_line_number).clamp(1, BYTES_MAX);
    let (start, end) = match (arguments.from_line, arguments.to_line) {
        (None, None) => (arguments.offset.map_or(0, to_line_number), whole.len()),
        (from, to) => {
            let from = from.map_or(1, to_line_number).max(1);
            line_range(whole, from, to.map_or(usize::MAX, to_line_number))?
        }
    };
    if start >= whole.len() {
        return Err(format!("the output ends at byte {}; give an `offset` before that", whole.len()));
    }
    let part = cut_piece(whole, start, limit.min(end.saturating_sub(start)));
    let place = format!("bytes {} to {} of {}", part.start, part.end, whole.len());
    let next = if part.end < whole.len() {
        format!("; read on with offset {}", part.end)
    } else {
        ": the end".to_owned()
    };
    let gap = if part.text.ends_with('\n') { "" } else { "\n" };
    let data = json!({"start": part.start, "end": part.end, "whole_bytes": whole.len()});
    let headline = Notice::output_part(part.start as u64, part.end as u64, whole.len() as u64);
    let text = format!("{}{gap}[{place}{next}]", part.text);
    Ok(ToolOutput::text(text).with_headline(place, headline).with_data(data))
}

/// Where the lines `from` to `to` begin and end.
fn line_range(whole: &str, from: usize, to: usize) -> Result<(usize, usize), String> {
    if to < from {
        return Err("`to_line` is before `from_line`".into());
    }
    let mut start = None;
    let mut at = 0;
    let mut count = 0;
    for line in whole.split_inclusive('\n') {
        count += 1;
        if count == from {
            start = Some(at);
        }
        at += line.len();
        if count == to {
            break;
        }
    }
    let start =
        start.ok_or_else(|| format!("the output has {count} lines; give a `from_line` among them"))?;
    Ok((start, at))
}

/// A whole number, whichever way it was written. What is no number at all did not pass the schema.
fn to_line_number(written: f64) -> usize {
    written as usize
}
