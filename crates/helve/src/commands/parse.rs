//! `helve parse`: what is in a model's output.

use std::io::{BufRead, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use helve_dialect::{Dialect, ReadResult, Reading, Tools, dialect, dialects, read};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// Read only this dialect; `list` prints those there are [default: found from the text]
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// A JSON file with the declared tools, as OpenAI function declarations
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Each line is {"id", "text", "tools"?, "dialect"?, "reasoning_open"?}; one result line each, in order
    #[arg(long)]
    jsonl: bool,
    /// Feed the text N characters at a time, which must not change the result
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    chunk: Option<u32>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Option<Value>,
    text: String,
    #[serde(default)]
    tools: Option<Value>,
    #[serde(default)]
    dialect: Option<String>,
    #[serde(default)]
    reasoning_open: bool,
}

#[derive(Serialize)]
struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(flatten)]
    read: ReadResult,
}

pub(super) fn run(args: &ParseArgs) -> anyhow::Result<ExitCode> {
    if args.dialect.as_deref() == Some("list") {
        for dialect in dialects() {
            println!("{}", dialect.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let given = args.dialect.as_deref().map(named).transpose()?;
    let declared = match &args.tools {
        None => Tools::unknown(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the tools `{}` cannot be read", path.display()))?;
            let value =
                serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))?;
            Tools::from_openai(&value).with_context(|| format!("`{}`", path.display()))?
        }
    };
    let chunk = args.chunk.map(|chunk| chunk as usize);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if args.jsonl {
        for (number, line) in (1..).zip(std::io::stdin().lock().lines()) {
            let line = line.with_context(|| format!("line {number} cannot be read"))?;
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(&line).with_context(|| format!("line {number}"))?;
            let found = find(line, given, &declared, chunk).with_context(|| format!("line {number}"))?;
            serde_json::to_writer(&mut out, &found)?;
            out.write_all(b"\n")?;
        }
    } else {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .context("standard input cannot be read as UTF-8")?;
        let line = Line { id: None, text, tools: None, dialect: None, reasoning_open: false };
        serde_json::to_writer(&mut out, &find(line, given, &declared, chunk)?)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn named(name: &str) -> anyhow::Result<&'static Dialect> {
    match dialect(name) {
        Some(dialect) => Ok(dialect),
        None => bail!("there is no dialect `{name}`; `helve parse --dialect list` prints those there are"),
    }
}

fn find(
    line: Line,
    given: Option<&'static Dialect>,
    declared: &Tools,
    chunk: Option<usize>,
) -> anyhow::Result<Found> {
    let tools = match &line.tools {
        None => declared.clone(),
        Some(value) => Tools::from_openai(value).context("`tools`")?,
    };
    let dialect = line.dialect.as_deref().map(named).transpose()?.or(given);
    let reading = Reading { dialect, tools, reasoning_open: line.reasoning_open };
    Ok(Found { id: line.id, read: read(&line.text, reading, chunk) })
}
