//! The line editor on a terminal: `rustyline`, with our keys and completion, in a thread of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler,
    Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::history::{ENTRIES_MAX, History};
use super::{Input, Names, Purpose};

/// One line that is wanted.
struct Wanted {
    purpose: Purpose,
    prompt: String,
}

/// The way to the editor's thread, which lives as long as the process: a read cannot be given up.
pub(super) struct EditorThread {
    wanted: std::sync::mpsc::Sender<Wanted>,
    lines: UnboundedReceiver<Input>,
}

impl EditorThread {
    pub(super) fn start(data: PathBuf, names: Names) -> rustyline::Result<Self> {
        let (wanted, asked) = std::sync::mpsc::channel();
        let (sender, lines) = unbounded_channel();
        // Made here, so that a terminal that cannot be used is known at once.
        let mut messages = open(names)?;
        std::thread::spawn(move || {
            let history = History::load(&data, &mut messages);
            serve(&asked, &sender, &mut messages, &history);
        });
        Ok(Self { wanted, lines })
    }

    pub(super) fn begin(&self, purpose: Purpose, prompt: &str) {
        // Without a thread `finish` says so.
        _ = self.wanted.send(Wanted { purpose, prompt: prompt.to_owned() });
    }

    pub(super) async fn finish(&mut self) -> Input {
        self.lines.recv().await.unwrap_or(Input::End)
    }
}

fn serve(
    asked: &std::sync::mpsc::Receiver<Wanted>,
    sender: &UnboundedSender<Input>,
    messages: &mut Editor<LineHelper, FileHistory>,
    history: &History,
) {
    while let Ok(Wanted { purpose, prompt }) = asked.recv() {
        let input = match purpose {
            Purpose::Message | Purpose::Remark => {
                let keys = keys(messages);
                let read = messages.readline(&prompt).map(|line| keys.without_continuations(line));
                if let Ok(line) = &read {
                    history.add(messages, line);
                }
                input(read, purpose, &keys)
            }
            // Without the history, and without what was typed ahead for another question.
            Purpose::Answer(_) => match open(Names::default()) {
                Ok(mut answers) => {
                    let keys = keys(&answers);
                    input(answers.readline(&prompt), purpose, &keys)
                }
                Err(_) => Input::End,
            },
        };
        if sender.send(input).is_err() {
            return;
        }
    }
}

fn keys(editor: &Editor<LineHelper, FileHistory>) -> Arc<Keys> {
    editor.helper().map(|helper| helper.keys.clone()).unwrap_or_default()
}

fn input(read: rustyline::Result<String>, purpose: Purpose, keys: &Keys) -> Input {
    match read {
        Ok(line) => Input::Line(purpose, line),
        Err(ReadlineError::Interrupted) if keys.interrupted_text.load(Ordering::Relaxed) => Input::Discarded,
        Err(ReadlineError::Interrupted) => Input::Interrupt,
        Err(_) => Input::End,
    }
}

/// An editor with our keys: Alt-Enter, or a backslash before Enter, begins another line.
pub(super) fn open(names: Names) -> rustyline::Result<Editor<LineHelper, FileHistory>> {
    let config = Config::builder()
        .max_history_size(ENTRIES_MAX)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .build();
    let history = FileHistory::with_config(&config);
    let mut editor = Editor::with_history(config, history)?;
    let keys = Arc::new(Keys::default());
    editor.set_helper(Some(LineHelper { names, keys: keys.clone() }));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), EventHandler::Simple(Cmd::Newline));
    let enter = EventHandler::Conditional(Box::new(ContinueAfterBackslash(keys.clone())));
    editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::NONE), enter);
    let interrupt = EventHandler::Conditional(Box::new(RememberText(keys)));
    editor.bind_sequence(KeyEvent::ctrl('C'), interrupt);
    Ok(editor)
}

/// What keys have done to the line.
#[derive(Default)]
struct Keys {
    /// Ctrl-C came while there was text.
    interrupted_text: AtomicBool,
    /// Enter behind a backslash has begun another line.
    continued: AtomicBool,
}

impl Keys {
    /// The line without the backslashes that stand for Enter. Those of a pasted text stay.
    fn without_continuations(&self, line: String) -> String {
        if self.continued.swap(false, Ordering::Relaxed) { line.replace("\\\n", "\n") } else { line }
    }
}

/// Enter behind a backslash begins another line.
struct ContinueAfterBackslash(Arc<Keys>);

impl ConditionalEventHandler for ContinueAfterBackslash {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        let is_continued = context.pos() == context.line().len() && context.line().ends_with('\\');
        is_continued.then(|| {
            self.0.continued.store(true, Ordering::Relaxed);
            Cmd::Newline
        })
    }
}

/// Ctrl-C ends the line; whether it had text decides what that means.
struct RememberText(Arc<Keys>);

impl ConditionalEventHandler for RememberText {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext) -> Option<Cmd> {
        self.0.interrupted_text.store(!context.line().is_empty(), Ordering::Relaxed);
        Some(Cmd::Interrupt)
    }
}

pub(super) struct LineHelper {
    names: Names,
    keys: Arc<Keys>,
}

impl Helper for LineHelper {}
impl Highlighter for LineHelper {}

impl Hinter for LineHelper {
    type Hint = String;
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.names.complete(line, cursor))
    }
}

impl Validator for LineHelper {
    /// A code block that is not closed yet goes on in the next line.
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let fences = context.input().lines().filter(|line| line.trim_start().starts_with("```")).count();
        Ok(if fences % 2 == 1 { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}
