//! A profile is tried before it is used: every template once, and its calls through its own dialect.

use helve_types::{Effect, Example, OnUnknown, ToolSpec};
use serde_json::{Value, json};

use super::{CallView, Language, Profile, ProfileError, ResultView};
use crate::{Reading, Tools, read};

impl Profile {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        let sample = sample_tool();
        let tools = [&sample];
        let results = [
            ResultView { id: "call_1", name: "sample", text: "42", is_error: false },
            ResultView { id: "call_2", name: "sample", text: "no such thing", is_error: true },
        ];
        for language in [Language::English, Language::Chinese] {
            self.try_introduction(&tools, language)?;
            self.try_result(&results, language)?;
        }
        if let Some(schema) = self.try_constraint(&tools) {
            serde_json::from_str::<Value>(&schema?)
                .map_err(|error| ProfileError::Template { key: "constraint", fault: error.to_string() })?;
        }
        self.check_calls()?;
        self.check_stops(&results)
    }

    fn check_stops(&self, results: &[ResultView<'_>]) -> Result<(), ProfileError> {
        let call = CallView { id: "call_1", name: "sample", arguments: r#"{"text": "x"}"# };
        let called = self.try_call(&[call])?;
        for stop in &self.stops {
            let fault = |fault| ProfileError::Stop { stop: stop.clone(), fault };
            if stop.trim().is_empty() {
                return Err(fault("is empty; write what results begin with"));
            }
            if called.contains(&**stop) {
                return Err(fault(
                    "stands in a call, which it would cut; write what only results begin with",
                ));
            }
            for language in [Language::English, Language::Chinese] {
                if !self.try_result(results, language)?.contains(&**stop) {
                    return Err(fault("stands in no result; write what results begin with"));
                }
            }
        }
        Ok(())
    }

    fn check_calls(&self) -> Result<(), ProfileError> {
        let arguments = json!({"text": "a \"b\" </c>\n", "n": [1, null]}).to_string();
        let calls = ["call_1", "call_2"].map(|id| CallView { id, name: "sample", arguments: &arguments });
        let written = self.try_call(&calls)?;
        let tools = Tools::new([("sample".to_owned(), sample_tool().parameters)]);
        let read = read(&written, Reading::for_dialect(self.dialect, tools), None);
        let same =
            |text: &str| serde_json::from_str::<Value>(text).ok() == serde_json::from_str(&arguments).ok();
        let back = read.calls.iter().filter(|call| call.name == "sample" && same(&call.arguments));
        if back.count() != calls.len() || !read.content.trim().is_empty() {
            return Err(ProfileError::NotReadBack { dialect: self.dialect.name, written });
        }
        Ok(())
    }
}

fn sample_tool() -> ToolSpec {
    ToolSpec {
        name: "sample".to_owned(),
        title: None,
        description: "A sample.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"text": {"type": "string"}, "n": {"type": "array"}},
        }),
        effect: Effect::Read,
        tags: Vec::new(),
        examples: vec![Example {
            question: "A question?".to_owned(),
            arguments: json!({"text": "x"}),
            result: "A result.".to_owned(),
            answer: "An answer.".to_owned(),
        }],
        client: false,
        on_unknown: OnUnknown::default(),
        check_tool: None,
        leads_to: None,
        flow: helve_types::Flow::default(),
        labels: helve_types::LabelTerms::default(),
    }
}
