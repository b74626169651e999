//! `save_note`: appends to the user's own file of notes.
//!
//! The one built-in tool that changes something, so that people see a call that waits for their consent. A note
//! is on disk before it is reported; a write that fails half-way is taken back.

#[cfg(test)]
mod tests;

use std::io::{Error, Result as IoResult};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve_tool::{
    CallContext, Guards, LimitSettings, Limits, Request, Tool, ToolError, ToolFuture, schema_of,
};
use helve_types::{Effect, Example, Notice, Timestamp, ToolOutput, ToolSpec, UserId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::fs::{self, DirBuilder, File, OpenOptions};
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;

use crate::Settings;

const TEXT_CHARS_MAX: usize = 4_000;
const TITLE_CHARS_MAX: usize = 200;
/// Some thousand notes; then the user has to tidy up.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// What file systems take, less the ending.
const NAME_BYTES_MAX: usize = 240;
/// Every note begins with a line like this, and no other line does.
const HEADING: &str = "## ";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The note, in Markdown; at most 4,000 characters.
    #[schemars(length(min = 1, max = 4000))]
    text: String,
    /// A heading of a few words.
    #[schemars(length(max = 200))]
    title: Option<String>,
}

struct SaveNote {
    spec: ToolSpec,
    dir: PathBuf,
    /// Held while a note is written, so that the count is true.
    writing: Mutex<()>,
}

pub(crate) fn tool(settings: &Settings) -> (Arc<dyn Tool>, Guards) {
    let dir = settings.notes_dir.clone();
    (Arc::new(SaveNote { spec: spec(), dir, writing: Mutex::default() }), guards())
}

impl Tool for SaveNote {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, request: Request<'a>, cx: &'a CallContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let arguments = request.parse()?;
            let note = format_note(&arguments, cx.world.now()).map_err(not_saved_error)?;
            let name = file_name(&cx.user).map_err(not_saved_error)?;
            let path = self.dir.join(name);
            let _writing = self.writing.lock().await;
            let notes = append_note(&self.dir, &path, &note).await?;
            // Where the notes are on this machine is not told outside of it.
            Ok(ToolOutput::text(format!("Saved as note {notes}."))
                .with_headline(format!("Saved note {notes}"), Notice::note_saved(notes as u64))
                .with_data(json!({"notes": notes})))
        })
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        title: Some("Save a note".into()),
        tags: vec!["notes".into()],
        examples: examples(),
        ..ToolSpec::new(
            "save_note",
            include_str!("save_note.md").trim(),
            schema_of::<Arguments>(),
            Effect::NonIdempotent,
        )
    }
}

fn examples() -> Vec<Example> {
    vec![
        Example {
            question: "Note that the server room's code is changed every first Monday.".into(),
            arguments: json!({
                "text": "The code of the server room is changed on the first Monday of every month.",
                "title": "Server room"
            }),
            result: "Saved as note 3.".into(),
            answer: "Saved. You have **3** notes now.".into(),
        },
        Example {
            question: "记一下：下周三下午三点和王老师开会。今天是 2026 年 3 月 27 日。".into(),
            arguments: json!({"text": "2026 年 4 月 1 日（星期三）15:00 和王老师开会。", "title": "开会"}),
            result: "Saved as note 1.".into(),
            answer: "已经记下了：**4 月 1 日（星期三）15:00 和王老师开会**。".into(),
        },
    ]
}

/// Never sent twice by itself, and not so often that a loop could fill the disk.
fn guards() -> Guards {
    Guards {
        timeout: Duration::from_secs(10),
        attempts: 1,
        limits: Limits {
            tool: None,
            user: Some(LimitSettings { per_window: Some(30), ..LimitSettings::default() }),
        },
        ..Guards::default()
    }
}

/// The entry as it is written: a dated heading, the text, an empty line.
fn format_note(arguments: &Arguments, now: Timestamp) -> Result<String, String> {
    let printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let text: String = arguments.text.replace("\r\n", "\n").chars().filter(printable).collect();
    let text = text.trim();
    if text.is_empty() {
        return Err("`text` is empty; write what to remember".into());
    }
    if text.chars().count() > TEXT_CHARS_MAX {
        return Err(format!(
            "`text` has more than {TEXT_CHARS_MAX} characters; shorten it or save it in parts"
        ));
    }
    let title = arguments.title.as_deref().unwrap_or_default();
    let words = title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let title = words.collect::<Vec<_>>().join(" ");
    if title.chars().count() > TITLE_CHARS_MAX {
        return Err(format!("`title` has more than {TITLE_CHARS_MAX} characters; a few words are enough"));
    }
    let at = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
    let mut entry = format!("{HEADING}{}", at.strftime("%Y-%m-%d %H:%M:%S UTC"));
    if !title.is_empty() {
        entry.push_str(&format!(" — {title}"));
    }
    entry.push_str("\n\n");
    for line in text.lines() {
        // A line of the text that looks like a heading stays text.
        entry.push_str(if line.starts_with('#') { "\\" } else { "" });
        entry.push_str(line);
        entry.push('\n');
    }
    entry.push('\n');
    Ok(entry)
}

/// A name for each user that is no other user's, also where a file system ignores case, and that stays in its
/// folder: everything but plain characters is written as the numbers of its bytes.
fn file_name(user: &UserId) -> Result<String, String> {
    let mut name = String::new();
    for c in user.0.chars() {
        if matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '一'..='鿿') {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| name.push_str(&format!("%{byte:02x}")));
        }
    }
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err("notes cannot be kept under this user's name, which is empty or too long".into());
    }
    Ok(name + ".md")
}

fn not_saved_error(why: String) -> ToolError {
    ToolError::Declined(why).with_notice(Notice::note_not_saved())
}

fn unknown_outcome(why: String) -> ToolError {
    ToolError::Lost(why).with_notice(Notice::note_in_doubt())
}

/// Writes the note durably and says how many there are.
async fn append_note(dir: &Path, path: &Path, note: &str) -> Result<usize, ToolError> {
    // Up to here nothing has changed, and trying again would not help.
    let refused = |error: Error| {
        tracing::warn!(%error, dir = %dir.display(), "note not saved");
        not_saved_error(format!("the note was not saved: {error}; operator: check the notes directory"))
    };
    directory_options().create(dir).await.map_err(refused)?;
    let mut file = file_options().open(path).await.map_err(refused)?;
    let length = file.metadata().await.map_err(refused)?.len();
    if length + note.len() as u64 > FILE_BYTES_MAX {
        let told = "the note was not saved: the user's notes are full";
        return Err(ToolError::Declined(told.into()).with_notice(Notice::notes_full()));
    }
    let before = fs::read(path).await.map_err(refused)?;

    if let Err(error) = write_note(&mut file, note).await {
        return match undo_append(&file, length, note).await {
            Ok(()) => Err(refused(error)),
            Err(_) => Err(unknown_outcome(format!("the note may have been saved in part: {error}"))),
        };
    }
    if length == 0 {
        // A new file is only there for good when its folder says so.
        let synced = async { File::open(dir).await?.sync_all().await };
        synced.await.map_err(|error| unknown_outcome(format!("the note may not last: {error}")))?;
    }
    Ok(count_headings(&before) + 1)
}

async fn write_note(file: &mut File, note: &str) -> IoResult<()> {
    file.write_all(note.as_bytes()).await?;
    file.flush().await?;
    file.sync_all().await
}

/// Cuts the file to what it was, unless another process has written to it meanwhile.
async fn undo_append(file: &File, length: u64, note: &str) -> IoResult<()> {
    if file.metadata().await?.len() > length + note.len() as u64 {
        return Err(Error::other("another process has written to the file"));
    }
    file.set_len(length).await?;
    file.sync_all().await
}

fn count_headings(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(HEADING.as_bytes())).count()
}

fn directory_options() -> DirBuilder {
    let mut directory = DirBuilder::new();
    directory.recursive(true);
    #[cfg(unix)]
    directory.mode(0o700);
    directory
}

fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    options.mode(0o600);
    options
}
