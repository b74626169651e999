//! Lines from standard input, read only when one is wanted, so that an editor may have the input in between.

use std::io::{BufRead, Read};
use std::sync::mpsc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A longer line is cut into lines of this size.
const LINE_BYTES_MAX: u64 = 16 << 20;

pub(in crate::commands::chat) struct PipedLines {
    wanted: mpsc::Sender<()>,
    lines: UnboundedReceiver<Option<String>>,
    /// A line is being read.
    pending: bool,
    ended: bool,
}

impl PipedLines {
    pub(super) fn new() -> Self {
        let (wanted, asked) = mpsc::channel();
        let (sender, lines) = unbounded_channel();
        // A read cannot be given up, so it has a thread of its own, which the process does not wait for.
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            while asked.recv().is_ok() {
                let mut bytes = vec![];
                let line = match input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes) {
                    Ok(0) | Err(_) => None,
                    Ok(_) => Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned()),
                };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { wanted, lines, pending: false, ended: false }
    }

    /// The next line; none at the end of the input.
    pub(super) async fn next(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        if !self.pending {
            self.pending = self.wanted.send(()).is_ok();
        }
        let line = self.lines.recv().await.flatten();
        self.pending = false;
        self.ended = line.is_none();
        line
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.ended
    }
}
