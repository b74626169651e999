//! `helve parse`: what is in a model's output.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::i18n::{self, tr};
use crate::output::outln;
use anyhow::{Context, bail};
use clap::Args;
use helve_dialect::{Dialect, ReadResult, Reading, Tools, dialect, dialects, read};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ParseArgs {
    /// Read only this dialect; `list` prints the known ones [default: detected from the text]
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// A JSON file with the declared tools, as OpenAI function declarations
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Read one JSON object per line: {"id", "text", "tools"?, "dialect"?, "reasoning_open"?}; print one result line each, in order
    #[arg(long)]
    jsonl: bool,
    /// The text begins inside the reasoning, because the prompt has opened it. With --jsonl each line may say so itself
    #[arg(long)]
    reasoning_open: bool,
    /// Feed the text N characters at a time, which must not change the result
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    chunk: Option<u32>,
}

const AFTER_HELP: &str = "\
Without --jsonl the whole input is one text. A result is one line:
  {\"content\": …, \"reasoning\": …, \"calls\": [{\"name\": …, \"arguments\": {…}}], \"dialect\": …, \"complete\": true}
`complete` is false where a call was cut off or is broken; such a call is not among the calls.
With --jsonl a result has the `id` of its line, blank lines have none, and a line that cannot be read gives
{\"id\": …, \"error\": …} and makes the command fail at the end.

  echo '<tool_call>{\"name\": \"time\", \"arguments\": {}}</tool_call>' | helve parse";

/// Borrowed from the line as far as possible: files of such lines are large.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(default, borrow)]
    id: Option<&'l RawValue>,
    #[serde(borrow)]
    text: Cow<'l, str>,
    #[serde(default, borrow)]
    tools: Option<&'l RawValue>,
    #[serde(default, borrow)]
    dialect: Option<Cow<'l, str>>,
    #[serde(default)]
    reasoning_open: Option<bool>,
}

#[derive(Serialize)]
struct Found<'l> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'l RawValue>,
    #[serde(flatten)]
    read: ReadResult,
}

pub(super) fn run(args: &ParseArgs) -> anyhow::Result<ExitCode> {
    if args.jsonl {
        i18n::speak_to_programs();
    }
    if args.dialect.as_deref() == Some("list") {
        for dialect in dialects() {
            outln!("{}", dialect.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let given = args.dialect.as_deref().map(named).transpose()?;
    let declared = match &args.tools {
        None => Tools::unknown(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| tr!("the tools `{path}` cannot be read", path = path.display()))?;
            let value = serde_json::from_str(&text)
                .with_context(|| tr!("`{path}` is not JSON", path = path.display()))?;
            Tools::from_openai(&value).with_context(|| format!("`{}`", path.display()))?
        }
    };
    let mut reader = Reader {
        given,
        declared,
        reasoning_open: args.reasoning_open,
        chunk: args.chunk.map(|chunk| chunk as usize),
        of_line: None,
    };
    let mut out = std::io::BufWriter::with_capacity(BUFFER, std::io::stdout().lock());
    let mut input = BufReader::with_capacity(BUFFER, std::io::stdin().lock());
    if args.jsonl {
        let wrong = reader.read_lines(&mut input, &mut out)?;
        out.flush()?;
        return match wrong {
            None => Ok(ExitCode::SUCCESS),
            Some(first) => {
                bail!(tr!("{first}; each such line has an `error` in place of a result", first = first))
            }
        };
    }
    let mut text = String::new();
    input.read_to_string(&mut text).with_context(|| tr!("standard input cannot be read as UTF-8"))?;
    let line = Line { id: None, text: text.into(), tools: None, dialect: None, reasoning_open: None };
    write_line(&mut out, &reader.find(&line)?)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn write_line(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")?;
    Ok(())
}

const BUFFER: usize = 1 << 18;

/// What holds for every text, and the tools of the last line that had its own: the next one often has the same.
struct Reader {
    given: Option<&'static Dialect>,
    declared: Tools,
    reasoning_open: bool,
    chunk: Option<usize>,
    of_line: Option<(String, Tools)>,
}

impl Reader {
    /// One line of output for each line of input, whatever is in it. Returns what is wrong with the first that
    /// could not be read.
    fn read_lines(
        &mut self,
        input: &mut impl BufRead,
        out: &mut impl Write,
    ) -> anyhow::Result<Option<String>> {
        let mut first_wrong = None;
        let mut line = vec![];
        for number in 1.. {
            line.clear();
            if input
                .read_until(b'\n', &mut line)
                .with_context(|| tr!("line {number} cannot be read", number = number))?
                == 0
            {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            match self.read_line(&line) {
                Ok(found) => write_line(out, &found)?,
                Err(error) => {
                    let error =
                        tr!("line {number}: {error}", number = number, error = format!("{:#}", error));
                    write_line(out, &serde_json::json!({"id": id_of(&line), "error": error}))?;
                    first_wrong.get_or_insert(error);
                }
            }
        }
        Ok(first_wrong)
    }

    fn read_line<'l>(&mut self, line: &'l [u8]) -> anyhow::Result<Found<'l>> {
        let line: Line<'l> = serde_json::from_slice(line)?;
        self.find(&line)
    }

    fn find<'l>(&mut self, line: &Line<'l>) -> anyhow::Result<Found<'l>> {
        let dialect = line.dialect.as_deref().map(named).transpose()?.or(self.given);
        let tools = self.tools(line.tools)?;
        let reasoning_open = line.reasoning_open.unwrap_or(self.reasoning_open);
        let reading = Reading::new(dialect, tools).reasoning_open(reasoning_open);
        Ok(Found { id: line.id, read: read(&line.text, reading, self.chunk) })
    }

    fn tools(&mut self, declarations: Option<&RawValue>) -> anyhow::Result<Tools> {
        let Some(declarations) = declarations else {
            return Ok(self.declared.clone());
        };
        match &self.of_line {
            Some((text, tools)) if text == declarations.get() => Ok(tools.clone()),
            _ => {
                let value = serde_json::from_str(declarations.get()).context("`tools`")?;
                let tools = Tools::from_openai(&value).context("`tools`")?;
                self.of_line = Some((declarations.get().to_owned(), tools.clone()));
                Ok(tools)
            }
        }
    }
}

/// The id of a line whose other members may be wrong.
fn id_of(line: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice::<serde_json::Value>(line).ok()?.get_mut("id").map(serde_json::Value::take)
}

fn named(name: &str) -> anyhow::Result<&'static Dialect> {
    match dialect(name) {
        Some(dialect) => Ok(dialect),
        None => bail!(tr!(
            "there is no dialect `{name}`; `helve parse --dialect list` prints those there are",
            name = name
        )),
    }
}
