//! What the person types: lines from a terminal with an editor, or plain lines from a pipe.
//!
//! `next` may be given up and called again at any time: no line is lost. With a terminal, the line editor runs only
//! while the person writes, so that the answer of a model can be printed in between.

mod completion;
#[cfg(unix)]
mod editor;
#[cfg(unix)]
mod history;
mod piped;
#[cfg(unix)]
mod terminal;

use std::path::Path;

use helve_types::ApprovalId;

pub(super) use self::completion::{KnownNames, Names};
use self::piped::PipedLines;
#[cfg(unix)]
use self::terminal::Terminal;

/// What a line is typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The next message of the conversation.
    Message,
    /// Something for a run that is at work.
    Remark,
    /// An answer to this question.
    Answer(ApprovalId),
}

/// What comes from the keyboard.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A key is pressed while no line is edited. `edit` shows the line editor.
    Key,
    Line(Purpose, String),
    /// The person gave up the line that they were writing.
    Discarded,
    /// Ctrl-C in an empty line.
    Interrupt,
    End,
}

pub(super) enum Keyboard {
    Piped(PipedLines),
    #[cfg(unix)]
    Terminal(Box<Terminal>),
}

impl Keyboard {
    /// Plain lines from standard input.
    pub(super) fn piped() -> Self {
        Self::Piped(PipedLines::new())
    }

    /// The line editor, with a history in the data directory. Plain lines where a terminal cannot be edited on.
    #[cfg(unix)]
    pub(super) fn terminal(data: &Path, names: Names) -> Self {
        match Terminal::open(data, names) {
            Ok(terminal) => Self::Terminal(Box::new(terminal)),
            Err(error) => {
                tracing::warn!(%error, "line editor not available");
                Self::piped()
            }
        }
    }

    #[cfg(not(unix))]
    pub(super) fn terminal(_: &Path, _: Names) -> Self {
        Self::piped()
    }

    /// Waits for what comes next. A pipe takes the next line for this purpose.
    pub(super) async fn next(&mut self, purpose: Purpose) -> Input {
        match self {
            Self::Piped(lines) => match lines.next().await {
                Some(line) => Input::Line(purpose, line),
                None => Input::End,
            },
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.next().await,
        }
    }

    /// Shows the line editor behind this prompt; `next` gives what becomes of it. Without effect where lines are piped.
    pub(super) fn edit(&mut self, purpose: Purpose, prompt: &str) {
        match self {
            Self::Piped(_) => {}
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.edit(purpose, prompt),
        }
    }

    /// Whether the line editor has the screen, so that nothing else may write to it.
    pub(super) fn is_editing(&self) -> bool {
        match self {
            Self::Piped(_) => false,
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.is_editing(),
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        !matches!(self, Self::Piped(_))
    }

    pub(super) fn is_at_end(&self) -> bool {
        match self {
            Self::Piped(lines) => lines.is_at_end(),
            #[cfg(unix)]
            Self::Terminal(_) => false,
        }
    }

    /// Gives the terminal back as it was found, for a program that is started on it.
    pub(super) fn restore(&mut self) {
        match self {
            Self::Piped(_) => {}
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.restore(),
        }
    }
}
