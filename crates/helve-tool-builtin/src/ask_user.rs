//! `ask_user`: the model asks the person.
//!
//! It does nothing itself. The pipeline puts the question on record as one of those that people answer, and the reply is
//! the result of the call.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use helve_tool::{
    CallContext, Guards, Request, Tool, ToolError, ToolFuture, WrittenQuestion, read_question, schema_of,
};
use helve_types::{Effect, Example, ToolSpec, UserQuestion};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What you want to know, as the user will read it.
    #[schemars(length(min = 1, max = 2000))]
    question: String,
    /// 2 to 20 short answers to choose from.
    #[schemars(length(max = 20))]
    options: Option<Vec<String>>,
    /// Whether the user may choose several of the options; one if left out.
    several: Option<bool>,
    /// A form, as a JSON Schema of an object, in place of `options`. Fields are shown in the order of `required`. Types:
    /// string (with enum, format email, uri, date, time or date-time, minLength, maxLength, multiline), number and
    /// integer (with minimum, maximum), boolean, array of strings with an enum, one level of object. Each may have
    /// title, description and default.
    form: Option<Map<String, Value>>,
}

struct AskUser {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(AskUser { spec: spec() }), Guards { attempts: 1, ..Guards::default() })
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn question(&self, request: Request<'_>) -> Option<Result<UserQuestion, String>> {
        Some(read_arguments(request))
    }

    fn call<'a>(&'a self, _request: Request<'a>, _cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async { Err(ToolError::Declined("no person can be asked here".into())) })
    }
}

fn read_arguments(request: Request<'_>) -> Result<UserQuestion, String> {
    let arguments: Arguments = request.parse().map_err(|error| error.to_string())?;
    let Arguments { question, options, several, form } = arguments;
    let form = form.map(Value::Object);
    read_question(WrittenQuestion {
        question: &question,
        options: options.as_deref(),
        several: several.unwrap_or_default(),
        form: form.as_ref(),
    })
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Ask the user".into()),
        tags: vec!["people".into()],
        examples: examples(),
        ..ToolSpec::new(
            "ask_user",
            include_str!("ask_user.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Book the meeting room for my talk.".into(),
            arguments: json!({
                "question": "Which room shall I book?",
                "options": ["Small room, 6 seats", "Large room, 30 seats"]
            }),
            result: "Large room, 30 seats".into(),
            answer: "I will book the **large room** with 30 seats.".into(),
        },
        Example {
            question: "帮我写一封请假邮件。".into(),
            arguments: json!({
                "question": "请告诉我请假的日期和原因。",
                "form": {
                    "type": "object",
                    "properties": {
                        "from": {"type": "string", "format": "date", "title": "开始日期"},
                        "days": {"type": "integer", "minimum": 1, "title": "天数"},
                        "reason": {"type": "string", "title": "原因"}
                    },
                    "required": ["from", "days"]
                }
            }),
            result: r#"{"days":2,"from":"2026-04-01","reason":"搬家"}"#.into(),
            answer: "好的，请假信如下：我因搬家需要从 **2026 年 4 月 1 日**起请假 **2 天**……".into(),
        },
    ]
}
