//! `calculator`: exact arithmetic, without an `eval`.
//!
//! Text → tokens (`tokens`) → a number (`solve`, over `number` and `functions`) → text (`render`). A number is an
//! exact fraction as long as it can be one; what is irrational is a ball that knows its error. Everything is
//! bounded before it begins: 1 KB of text, 64 levels, 4,096 bits.

mod fraction;
mod functions;
mod interval;
mod number;
mod render;
mod series;
mod solve;
#[cfg(test)]
mod tests;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use helve_tool::{CallContext, Guards, Request, Tool, ToolError, ToolFuture, schema_of};
use helve_types::{Effect, Example, Notice, OnUnknown, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::number::DIVISION_BY_ZERO;
use self::render::{ShownNumber, render_number};

const EXPRESSION_BYTES_MAX: usize = 1_024;
const TITLE_CHARS_MAX: usize = 120;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What to calculate, as on paper: `12.5% of 3,480`, `200 + 10%`, `sqrt(2) * (3 + 4)^2`, `round(5/3, 2)`,
    /// `mod(17, 5)`, `sin(30°)`. Numbers only: no variables, units or equations.
    #[schemars(length(min = 1, max = 1024))]
    expression: String,
}

struct Calculator {
    spec: ToolSpec,
}

pub(crate) fn tool() -> (Arc<dyn Tool>, Guards) {
    (Arc::new(Calculator { spec: spec() }), guards())
}

impl Tool for Calculator {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, _: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let Arguments { expression } = request.parse()?;
            calculate(&expression).map_err(|why| {
                let notice = if why.ends_with(DIVISION_BY_ZERO) {
                    Notice::divided_by_zero(&expression)
                } else {
                    Notice::not_calculable(&expression)
                };
                ToolError::Declined(why).with_notice(notice)
            })
        })
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Calculator".into()),
        tags: vec!["math".into()],
        examples: examples(),
        on_unknown: OnUnknown::TellModel,
        ..ToolSpec::new(
            "calculator",
            include_str!("calculator.md").trim(),
            schema_of::<Arguments>(),
            Effect::Read,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "What is 12.5% of 3,480?".into(),
            arguments: json!({"expression": "12.5% of 3,480"}),
            result: "435".into(),
            answer: "12.5% of 3,480 is **435**.".into(),
        },
        Example {
            question: "Calculate 17 times 23".into(),
            arguments: json!({"expression": "17 * 23"}),
            result: "391".into(),
            answer: "17 times 23 is **391**.".into(),
        },
        Example {
            question: "一件衣服原价 399 元，打八折后再满减 50 元，要付多少钱？".into(),
            arguments: json!({"expression": "399 × 80% − 50"}),
            result: "269.2".into(),
            answer: "要付 **269.2 元**。".into(),
        },
    ]
}

/// It takes milliseconds and touches nothing.
fn guards() -> Guards {
    Guards { timeout: Duration::from_secs(5), attempts: 1, ..Guards::default() }
}

fn calculate(expression: &str) -> Result<ToolOutput, String> {
    let bytes = expression.len();
    if bytes > EXPRESSION_BYTES_MAX {
        return Err(format!(
            "the expression has {bytes} bytes and may have {EXPRESSION_BYTES_MAX}; calculate it in parts"
        ));
    }
    let (shown, doubtful_commas) = evaluate(expression)
        .map_err(|trouble| format!("at position {} of the expression: {}", trouble.at, trouble.what))?;
    let ShownNumber { digits, exact, fraction, doubt } = shown;
    let mut text = if exact { digits.clone() } else { format!("≈ {digits}") };
    let mut data = json!({"result": digits, "exact": exact});
    if let Some(fraction) = fraction {
        text.push_str(&format!("\nexactly {fraction}"));
        data["fraction"] = fraction.into();
    }
    if let Some(doubt) = doubt {
        text.push_str(&format!("\nnote: {doubt}"));
    }
    if doubtful_commas {
        text.push_str("\nnote: the commas inside the function were read as separating its arguments");
    }
    Ok(ToolOutput::text(text).with_title(title(expression, &digits, exact)).with_data(data))
}

fn evaluate(expression: &str) -> Result<(ShownNumber, bool), tokens::CalculatorError> {
    let tokens = tokens::read_tokens(expression)?;
    let number = solve::solve(&tokens)?;
    Ok((render_number(&number), tokens.doubtful_commas))
}

fn title(expression: &str, digits: &str, exact: bool) -> String {
    let sign = if exact { '=' } else { '≈' };
    let words: Vec<&str> = expression.split_whitespace().collect();
    let words = words.join(" ");
    format!("{} {sign} {}", shorten(words.trim_end_matches(['=', '?', ' '])), shorten(digits))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
