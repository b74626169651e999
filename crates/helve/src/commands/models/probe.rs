//! `helve models probe`: a few cheap questions to a model, and what it can do.

use anyhow::{Context, bail};
use helve_types::{Answered, ModelProfile, Timestamp};

use super::unknown_model;
use crate::assemble::Assembly;
use crate::client::{Client, segment};
use crate::i18n::tr;
use crate::output::{errln, out, outln, padded};

pub(super) async fn probe(assembly: &Assembly, name: &str, as_json: bool) -> anyhow::Result<()> {
    let mut progress = |question: &str| errln!("{question}");
    let asked = assembly.runtime.probe_model(name, &mut progress).await;
    let profile = asked.with_context(|| tr!("the model `{name}` cannot be probed", name = name))?;
    print(&profile, as_json)
}

/// Has the server ask the model: it has the keys, and keeps what it finds.
pub(super) async fn ask_server(client: &Client, name: &str, as_json: bool) -> anyhow::Result<()> {
    errln!("{}", tr!("the server asks the model; this may take minutes"));
    let path = format!("/api/models/{}/probe", segment(name));
    let asked = client.post_and_wait(&path, None).await;
    let profile: ModelProfile = match asked {
        Ok(profile) => serde_json::from_value(profile)?,
        Err(error) if error.is_refused_with(404) => bail!(unknown_model(name)),
        Err(error) => {
            return Err(error).with_context(|| tr!("the model `{name}` cannot be probed", name = name));
        }
    };
    print(&profile, as_json)
}

fn print(profile: &ModelProfile, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        outln!("{}", serde_json::to_string_pretty(profile)?);
    } else {
        out!("{}", in_words(profile));
    }
    Ok(())
}

/// The findings, one on each line.
pub(super) fn in_words(profile: &ModelProfile) -> String {
    let mut text = tr!("probed on {at}: {subject}\n", at = day(profile.at), subject = profile.subject);
    for (name, finding) in profile.findings() {
        let is = match finding.is {
            Answered::Yes => tr!("yes"),
            Answered::No => tr!("no"),
            Answered::Unknown => "?".to_owned(),
        };
        text.push_str(&format!("  {name:21} {} {}\n", padded(&is, 4), finding.because));
    }
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {} {value}\n", padded(name, 21)));
    if !profile.rejects.is_empty() {
        line(&tr!("refuses in schemas"), &profile.rejects.join(", "));
    }
    if let Some(prompt) = &profile.prompt {
        line(&tr!("prompt profile"), prompt);
    } else if profile.native.is_no() {
        line(&tr!("prompt profile"), &tr!("none of those tried made it write a call"));
    }
    if let Some(dialect) = &profile.dialect {
        line(&tr!("dialect"), dialect);
    }
    let used = profile.usage;
    let cost = tr!(
        "{questions} questions, {input_tokens} + {output_tokens} tokens",
        questions = profile.questions,
        input_tokens = used.input_tokens,
        output_tokens = used.output_tokens
    );
    line(&tr!("cost"), &cost);
    text
}

fn day(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| "?".into(), |at| at.strftime("%Y-%m-%d").to_string())
}
