//! Output within bounds.

use tokio::io::{AsyncRead, AsyncReadExt};

/// The beginning of an output. The rest is read too, so that the program is not held up by a full pipe.
pub(crate) async fn read_beginning(mut output: impl AsyncRead + Unpin, bytes_max: usize) -> String {
    let mut kept = vec![];
    let mut buffer = [0; 4 << 10];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        let room = bytes_max.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Lines out of pieces that end anywhere.
#[derive(Debug, Default)]
pub struct LineReader {
    open: Vec<u8>,
}

impl LineReader {
    /// Takes a piece and gives every line that it completes, without its line feed.
    pub fn push(&mut self, piece: &[u8], mut line: impl FnMut(&[u8])) {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            if self.open.is_empty() {
                line(head);
            } else {
                self.open.extend_from_slice(head);
                line(&self.open);
                self.open.clear();
            }
            rest = &tail[1..];
        }
        self.open.extend_from_slice(rest);
    }

    /// The last line, if it did not end.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.open.is_empty()).then_some(self.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_where_pieces_end() {
        let text = b"one\n\ntwo three\nlast";
        for size in 1..=text.len() {
            let (mut reader, mut lines) = (LineReader::default(), vec![]);
            for piece in text.chunks(size) {
                reader.push(piece, |line| lines.push(line.to_vec()));
            }
            lines.extend(reader.finish());
            assert_eq!(lines, [&b"one"[..], b"", b"two three", b"last"], "pieces of {size}");
        }
    }
}
