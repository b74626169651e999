//! The terminal between two lines: keys are not echoed and wait to be read, Ctrl-C is a signal.

use std::io::{Write, stdin, stdout};
use std::path::Path;
use std::sync::mpsc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::editor::EditorThread;
use super::{Input, Names, Purpose};

/// A paste that comes while no line is edited is marked as one, so that its lines stay together.
const PASTE_MARKS_ON: &[u8] = b"\x1b[?2004h";
const PASTE_MARKS_OFF: &[u8] = b"\x1b[?2004l";
/// Exit codes of shells for a process that a signal has ended.
const SIGNAL_CODE: i32 = 128;

pub(in crate::commands::chat) struct Terminal {
    keys: KeyWatch,
    /// How the terminal was found.
    found: Termios,
    is_waiting: bool,
    is_editing: bool,
    editor: EditorThread,
}

impl Terminal {
    pub(super) fn open(data: &Path, names: Names) -> anyhow::Result<Self> {
        let found = tcgetattr(stdin())?;
        let editor = EditorThread::start(data.to_owned(), names)?;
        restore_when_ended(&found)?;
        Ok(Self { keys: KeyWatch::start(), found, is_waiting: false, is_editing: false, editor })
    }

    pub(super) fn is_editing(&self) -> bool {
        self.is_editing
    }

    pub(super) fn edit(&mut self, purpose: Purpose, prompt: &str) {
        if purpose == Purpose::Message {
            self.restore();
        }
        self.is_editing = true;
        self.editor.begin(purpose, prompt);
    }

    pub(super) async fn next(&mut self) -> Input {
        if !self.is_editing {
            self.wait_mode();
            self.keys.pressed().await;
            return Input::Key;
        }
        let input = self.editor.finish().await;
        self.is_editing = false;
        // The line editor has taken the marks off.
        self.is_waiting = false;
        input
    }

    fn wait_mode(&mut self) {
        if std::mem::replace(&mut self.is_waiting, true) {
            return;
        }
        let mut mode = self.found.clone();
        mode.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        _ = tcsetattr(stdin(), OptionalActions::Now, &mode);
        write_to_terminal(PASTE_MARKS_ON);
    }

    pub(super) fn restore(&mut self) {
        self.is_waiting = false;
        restore(&self.found);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
    }
}

fn restore(found: &Termios) {
    _ = tcsetattr(stdin(), OptionalActions::Now, found);
    write_to_terminal(PASTE_MARKS_OFF);
}

fn write_to_terminal(bytes: &[u8]) {
    let mut out = stdout().lock();
    _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// A shell behind a chat that was ended with a signal finds its terminal as it was.
fn restore_when_ended(found: &Termios) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::hangup()] {
        let (mut ended, found) = (signal(kind)?, found.clone());
        tokio::spawn(async move {
            if ended.recv().await.is_some() {
                restore(&found);
                std::process::exit(SIGNAL_CODE + kind.as_raw_value());
            }
        });
    }
    Ok(())
}

/// Waits until something can be read from the terminal, and leaves it unread.
struct KeyWatch {
    wanted: mpsc::Sender<()>,
    seen: UnboundedReceiver<()>,
    /// The thread is waiting.
    pending: bool,
}

impl KeyWatch {
    fn start() -> Self {
        let (wanted, asked) = mpsc::channel();
        let (sender, seen) = unbounded_channel();
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                is_readable(None);
                if sender.send(()).is_err() {
                    return;
                }
            }
        });
        Self { wanted, seen, pending: false }
    }

    /// May be given up and called again.
    async fn pressed(&mut self) {
        loop {
            if !self.pending {
                self.pending = self.wanted.send(()).is_ok();
            }
            // Without the thread there is no key any more.
            if self.seen.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
            self.pending = false;
            // The line editor may have read it meanwhile.
            if is_readable(Some(&Timespec::default())) {
                return;
            }
        }
    }
}

/// Waits for this long, or without an end. A terminal that is gone can be read: its end.
fn is_readable(patience: Option<&Timespec>) -> bool {
    let stdin = stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut waiting, patience).is_ok_and(|ready| ready > 0)
}
