//! `helve models probe`: a few cheap questions to a model, and what it can do.

use anyhow::Context;
use helve_types::{Answered, ModelProfile, Timestamp};

use crate::assemble::Assembly;
use crate::output::{errln, out, outln};

pub(super) async fn probe(assembly: &Assembly, name: &str, as_json: bool) -> anyhow::Result<()> {
    let mut progress = |question: &str| errln!("{question}");
    let asked = assembly.runtime.probe(name, &mut progress).await;
    let profile = asked.with_context(|| format!("the model `{name}` cannot be probed"))?;
    if as_json {
        outln!("{}", serde_json::to_string_pretty(&profile)?);
    } else {
        out!("{}", in_words(&profile));
    }
    Ok(())
}

/// The findings, one on each line.
pub(super) fn in_words(profile: &ModelProfile) -> String {
    let mut text = format!("probed on {}: {}\n", day(profile.at), profile.subject);
    for (name, finding) in profile.findings() {
        let is = match finding.is {
            Answered::Yes => "yes",
            Answered::No => "no",
            Answered::Unknown => "?",
        };
        text.push_str(&format!("  {name:21} {is:4} {}\n", finding.because));
    }
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:21} {value}\n"));
    if !profile.rejects.is_empty() {
        line("refuses in schemas", &profile.rejects.join(", "));
    }
    if let Some(prompt) = &profile.prompt {
        line("prompt profile", prompt);
    } else if profile.native.is_no() {
        line("prompt profile", "none of those tried made it write a call");
    }
    if let Some(dialect) = &profile.dialect {
        line("dialect", dialect);
    }
    let used = profile.usage;
    let cost =
        format!("{} questions, {} + {} tokens", profile.questions, used.input_tokens, used.output_tokens);
    line("asked", &cost);
    text
}

fn day(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| "?".into(), |at| at.strftime("%Y-%m-%d").to_string())
}
