//! What a foreign hook is asked, and how its answer is read. A word that is not known is a mistake worth telling.

use helve_tool::{ChangedOutput, HookError, HookPoint, HookReply, JsonBounds};
use helve_types::{ModelParams, SnapshotId, ToolOutput};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The question: which hook at which point, about what, and what may be changed.
pub(super) fn question(hook: &str, point: HookPoint, about: Value, more: Value) -> Vec<u8> {
    let mut question = json!({"hook": hook, "point": point});
    if let Value::Object(members) = &mut question {
        for part in [about, more] {
            if let Value::Object(part) = part {
                members.extend(part);
            }
        }
    }
    question.to_string().into_bytes()
}

/// The answer, if there is one.
pub(super) fn answer(bytes: &[u8]) -> Result<Option<Value>, HookError> {
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return Ok(None);
    }
    JsonBounds::default().check(bytes).map_err(|what| HookError(format!("its answer {what}")))?;
    serde_json::from_slice(bytes)
        .map(Some)
        .map_err(|error| HookError(format!("its answer is no JSON ({error})")))
}

pub(super) fn arguments(answer: Value) -> Result<HookReply<Value>, HookError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        arguments: Option<Value>,
    }
    read(answer, |answer: Answer| answer.arguments)
}

pub(super) fn output(answer: Value) -> Result<HookReply<ChangedOutput>, HookError> {
    read(answer, |output: ChangedOutput| (output != ChangedOutput::default()).then_some(output))
}

/// The output with its files, whose bytes stay here.
pub(super) fn shown(output: &ToolOutput) -> Value {
    let mut shown = json!(output);
    let files = output
        .files
        .iter()
        .map(|file| json!({"name": file.name, "media_type": file.media_type, "bytes": file.bytes.len()}));
    if !output.files.is_empty() {
        shown["files"] = files.collect();
    }
    shown
}

pub(super) fn system(answer: Value, before: &str) -> Result<HookReply<String>, HookError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        system: Option<String>,
        /// Goes behind what is there.
        add: Option<String>,
    }
    read(answer, |Answer { system, add }| match (system, add) {
        (None, None) => None,
        (system, None) => system,
        (system, Some(add)) => {
            let system = system.unwrap_or_else(|| before.to_owned());
            Some(if system.is_empty() { add } else { format!("{system}\n\n{add}") })
        }
    })
}

pub(super) fn params(answer: Value) -> Result<HookReply<ModelParams>, HookError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer {
        params: Option<ModelParams>,
    }
    read(answer, |answer: Answer| answer.params)
}

pub(super) fn snapshot(answer: Value) -> Result<HookReply<SnapshotId>, HookError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct SnapshotAnswer {
        snapshot: Option<SnapshotId>,
    }
    read(answer, |answer: SnapshotAnswer| answer.snapshot)
}

/// Reads an answer, in which `refuse` may always stand.
fn read<A: DeserializeOwned, T>(
    mut answer: Value,
    change: impl FnOnce(A) -> Option<T>,
) -> Result<HookReply<T>, HookError> {
    let refuse = answer.as_object_mut().and_then(|members| members.remove("refuse"));
    match refuse {
        None | Some(Value::Null) => {}
        Some(Value::String(reason)) => return Ok(HookReply::Refuse(reason)),
        Some(_) => return Err(HookError("`refuse` in its answer is no text".into())),
    }
    let answer = A::deserialize(answer)
        .map_err(|error| HookError(format!("its answer is not understood: {error}")))?;
    Ok(change(answer).map_or(HookReply::Nothing, HookReply::Change))
}
