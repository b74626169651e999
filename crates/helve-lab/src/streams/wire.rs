//! A stream of events, byte by byte: an answer's head, its chunks, the frames in them.
//!
//! Written for cutting: a connection may end after any byte, and whatever was not complete by then does not count. It
//! is stricter than readers have to be, because what it lets pass nobody finds.

/// What the bytes so far have told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParsedBytes {
    /// The head is complete; the status.
    Head(u16),
    Frame(StreamFrame),
    /// The proper end of the stream.
    End,
}

/// One frame with data: its id, if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamFrame {
    pub(super) id: Option<u64>,
    pub(super) data: String,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    stage: Stage,
    /// Bytes of the connection that are not understood yet.
    held: Vec<u8>,
    /// Bytes of the stream that are not a whole frame yet.
    frame: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Head,
    Size,
    /// So many bytes of a chunk are to come.
    Chunk(usize),
    ChunkEnd,
    /// Nothing that is of use.
    Rest,
}

impl Decoder {
    /// Takes in what was read; an error is something that no server should send.
    pub(super) fn read_bytes(&mut self, bytes: &[u8]) -> Result<Vec<ParsedBytes>, String> {
        self.held.extend_from_slice(bytes);
        let mut heard = vec![];
        while self.step(&mut heard)? {}
        Ok(heard)
    }

    /// Whether the bytes so far end inside of a character.
    pub(super) fn is_inside_a_character(&self) -> bool {
        let tail = if self.held.is_empty() { &self.frame } else { &self.held };
        std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none())
    }

    /// Whether the bytes so far end inside of a frame.
    pub(super) fn is_inside_a_frame(&self) -> bool {
        !self.frame.is_empty() || matches!(self.stage, Stage::Chunk(_)) && !self.held.is_empty()
    }

    pub(super) fn is_inside_the_head(&self) -> bool {
        self.stage == Stage::Head
    }

    /// One step further; false if that takes more bytes.
    fn step(&mut self, heard: &mut Vec<ParsedBytes>) -> Result<bool, String> {
        match self.stage {
            Stage::Head => {
                let Some(head) = self.up_to(b"\r\n\r\n") else { return Ok(false) };
                let head = String::from_utf8(head).map_err(|_| "a head that is no text")?.to_lowercase();
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                let status = status.ok_or_else(|| format!("no status in `{head}`"))?;
                let streams = status == 200;
                if streams && !head.contains("transfer-encoding: chunked") {
                    return Err(format!("a stream that is not chunked: `{head}`"));
                }
                heard.push(ParsedBytes::Head(status));
                self.stage = if streams { Stage::Size } else { Stage::Rest };
            }
            Stage::Size => {
                let Some(line) = self.up_to(b"\r\n") else { return Ok(false) };
                let line = String::from_utf8_lossy(&line);
                let size = usize::from_str_radix(line.trim(), 16);
                self.stage = match size.map_err(|_| format!("`{line}` is no size of a chunk"))? {
                    0 => {
                        heard.push(ParsedBytes::End);
                        Stage::Rest
                    }
                    size => Stage::Chunk(size),
                };
            }
            Stage::Chunk(left) => {
                let now = left.min(self.held.len());
                if now == 0 {
                    return Ok(false);
                }
                self.frame.extend(self.held.drain(..now));
                self.frames(heard)?;
                self.stage = if now == left { Stage::ChunkEnd } else { Stage::Chunk(left - now) };
            }
            Stage::ChunkEnd => {
                let Some(line) = self.up_to(b"\r\n") else { return Ok(false) };
                if !line.is_empty() {
                    return Err("a chunk is longer than it said".into());
                }
                self.stage = Stage::Size;
            }
            Stage::Rest => {
                self.held.clear();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes what comes before the mark, and the mark.
    fn up_to(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        let end = self.held.windows(mark.len()).position(|window| window == mark)?;
        let taken = self.held[..end].to_vec();
        self.held.drain(..end + mark.len());
        Some(taken)
    }

    fn frames(&mut self, heard: &mut Vec<ParsedBytes>) -> Result<(), String> {
        let mut from = 0;
        while let Some(end) = self.frame[from..].windows(2).position(|pair| pair == b"\n\n") {
            let text = std::str::from_utf8(&self.frame[from..from + end]);
            let text = text.map_err(|_| "a whole frame that is no text")?;
            heard.extend(parse(text)?.map(ParsedBytes::Frame));
            from += end + 2;
        }
        self.frame.drain(..from);
        Ok(())
    }
}

/// Comments and `retry:` are no frames, and must not have an id.
fn parse(text: &str) -> Result<Option<StreamFrame>, String> {
    let (mut id, mut data) = (None, None);
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("id: ") {
            id = Some(value.parse().map_err(|_| format!("`{value}` is no number of an event"))?);
        } else if let Some(value) = line.strip_prefix("data: ") {
            if data.replace(value.to_owned()).is_some() {
                return Err(format!("two lines of data in `{text}`"));
            }
        } else if !line.starts_with(':') && !line.starts_with("retry: ") {
            return Err(format!("a line that nobody needs: `{line}`"));
        }
    }
    match (id, data) {
        (Some(id), None) => Err(format!("number {id} on a frame without data")),
        (id, data) => Ok(data.map(|data| StreamFrame { id, data })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str, chunk: usize) -> Vec<u8> {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for part in body.as_bytes().chunks(chunk) {
            bytes.extend(format!("{:x}\r\n", part.len()).bytes());
            bytes.extend(part);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    }

    #[test]
    fn frames_are_the_same_however_the_bytes_come() {
        let body = "retry: 1000\n\nid: 1\ndata: 流\n\n:\n\ndata: \u{1f30a} live\n\n";
        let frame = |id, data: &str| ParsedBytes::Frame(StreamFrame { id, data: data.into() });
        let expected =
            [ParsedBytes::Head(200), frame(Some(1), "流"), frame(None, "\u{1f30a} live"), ParsedBytes::End];
        for chunk in [1, 2, 5, 1000] {
            let bytes = answer(body, chunk);
            for piece in 1..bytes.len() {
                let mut decoder = Decoder::default();
                let heard: Vec<ParsedBytes> =
                    bytes.chunks(piece).flat_map(|bytes| decoder.read_bytes(bytes).unwrap()).collect();
                assert_eq!(heard, expected, "chunks of {chunk} read {piece} at a time");
            }
        }
    }

    #[test]
    fn a_cut_knows_where_it_was_made() {
        let bytes = answer("data: 流\n\n", 1000);
        let at = |end: usize| {
            let mut decoder = Decoder::default();
            _ = decoder.read_bytes(&bytes[..end]);
            (decoder.is_inside_the_head(), decoder.is_inside_a_frame(), decoder.is_inside_a_character())
        };
        let character = bytes.windows(3).position(|window| window == "流".as_bytes()).unwrap();
        assert_eq!(at(10), (true, false, false));
        assert_eq!(at(character), (false, true, false));
        assert_eq!(at(character + 1), (false, true, true));
        assert_eq!(at(bytes.len()), (false, false, false));
    }

    #[test]
    fn what_no_server_should_send_is_an_error() {
        assert!(parse("id: 7").is_err());
        assert!(parse("id: seven\ndata: x").is_err());
        assert!(parse("data: a\ndata: b").is_err());
        assert!(parse("event: odd\ndata: a").is_err());
    }
}
