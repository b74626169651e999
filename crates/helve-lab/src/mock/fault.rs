//! What can go wrong with an answer: a list, each with the word that a script uses for it.

use std::fmt::Write;

/// One thing that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    // In place of an answer.
    Slam,
    Mute,
    HalfHead,
    EndlessHead,
    Status(u16),
    Redirect,
    Gzip,
    // How much of it comes.
    Cut(usize),
    Long,
    Short,
    Endless,
    Drip(usize),
    // After so many tokens.
    Break(usize),
    Close(usize),
    Hush(usize),
    Stall(usize),
    Error(usize),
    Invalid(usize),
    Truncated(usize),
    Nested(usize),
    Nan(usize),
    Surrogate(usize),
    Twice(usize),
    // How it is written; the meaning stays.
    CrLf,
    Cr,
    Mixed,
    Bom,
    Tight,
    Unknown,
    Comments(usize),
    Bytes,
    Fat(usize),
    // How it ends.
    Early,
    Open,
    NoDone,
    Late,
}

/// A fault as it is written in a script.
pub struct FaultWord {
    pub word: &'static str,
    pub meaning: &'static str,
    make: FaultParser,
}

enum FaultParser {
    Plain(Fault),
    Numbered(&'static str, fn(usize) -> Fault),
}

const fn plain(word: &'static str, fault: Fault, meaning: &'static str) -> FaultWord {
    FaultWord { word, meaning, make: FaultParser::Plain(fault) }
}

const fn numbered(
    word: &'static str,
    unit: &'static str,
    make: fn(usize) -> Fault,
    meaning: &'static str,
) -> FaultWord {
    FaultWord { word, meaning, make: FaultParser::Numbered(unit, make) }
}

/// All faults, in the order in which an answer comes.
pub const FAULTS: &[FaultWord] = &[
    plain("slam", Fault::Slam, "the connection is reset as soon as it stands (only for `--script`)"),
    plain("mute", Fault::Mute, "not a byte comes"),
    plain("halfhead", Fault::HalfHead, "the head stops in the middle, and nothing follows"),
    plain("endlesshead", Fault::EndlessHead, "the head never ends"),
    numbered("status", "CODE", status, "no answer but this status; see `retry_after`"),
    plain("redirect", Fault::Redirect, "a redirect to the same address"),
    plain("gzip", Fault::Gzip, "a body of 1 KiB that unpacks to 1 MiB, though nobody asked for gzip"),
    numbered(
        "cut",
        "BYTES",
        Fault::Cut,
        "the connection is reset after so many bytes, those of the head too",
    ),
    plain("long", Fault::Long, "the head promises more bytes than come"),
    plain("short", Fault::Short, "the head promises half of the bytes, and no more come"),
    plain("endless", Fault::Endless, "the answer never ends"),
    numbered("drip", "MS", Fault::Drip, "after its beginning a byte at a time, with this pause between two"),
    numbered("break", "N", Fault::Break, "the connection is reset after N tokens"),
    numbered("close", "N", Fault::Close, "the connection is closed after N tokens"),
    numbered("hush", "N", Fault::Hush, "silence after N tokens"),
    numbered("stall", "N", Fault::Stall, "silence in the middle of the token after N others"),
    numbered("error", "N", Fault::Error, "an error inside the stream after N tokens"),
    numbered("invalid", "N", Fault::Invalid, "after N tokens something that is not JSON"),
    numbered("truncated", "N", Fault::Truncated, "the JSON of the token after N others is cut in half"),
    numbered("nested", "N", Fault::Nested, "after N tokens JSON that is 100,000 deep"),
    numbered("nan", "N", Fault::Nan, "the token after N others has a `NaN` in its JSON"),
    numbered("surrogate", "N", Fault::Surrogate, "the token after N others has half a character in its text"),
    numbered("twice", "N", Fault::Twice, "the JSON of the token after N others has a key twice"),
    plain("crlf", Fault::CrLf, "lines end with CR LF"),
    plain("cr", Fault::Cr, "lines end with CR"),
    plain("mixed", Fault::Mixed, "lines end in each way in turn"),
    plain("bom", Fault::Bom, "the body begins with a byte order mark"),
    plain("tight", Fault::Tight, "no space after `data:`"),
    plain("unknown", Fault::Unknown, "an event of an unknown type before each token"),
    numbered("comments", "N", Fault::Comments, "N comments before each token"),
    plain("bytes", Fault::Bytes, "every byte in a chunk of its own"),
    numbered("fat", "BYTES", Fault::Fat, "one more token, of this size"),
    plain("early", Fault::Early, "the end comes before the last piece of the last call's arguments"),
    plain("open", Fault::Open, "the stream ends without saying why the model stopped"),
    plain("nodone", Fault::NoDone, "the stream ends without the protocol's word for the end"),
    plain("late", Fault::Late, "the connection is reset where that word would come"),
];

fn status(code: usize) -> Fault {
    Fault::Status(u16::try_from(code).ok().filter(|code| (400..600).contains(code)).unwrap_or(500))
}

impl Fault {
    /// The fault of this name; none if no fault is called so.
    pub(super) fn parse(word: &str, value: &str) -> Option<Result<Self, String>> {
        let known = FAULTS.iter().find(|known| known.word == word)?;
        Some(match known.make {
            FaultParser::Plain(fault) if value.is_empty() => Ok(fault),
            FaultParser::Plain(_) => Err(format!("`{word}` stands alone")),
            FaultParser::Numbered(..) => known.numbered(value),
        })
    }
}

impl FaultWord {
    fn numbered(&self, value: &str) -> Result<Fault, String> {
        let word = self.word;
        let FaultParser::Numbered(_, make) = self.make else { return Err(format!("`{word}` stands alone")) };
        let number: usize = value.parse().map_err(|_| format!("`{word}={value}` wants a number"))?;
        if word == "status" && !(400..600).contains(&number) {
            return Err(format!("`{word}={value}` wants the code of an error"));
        }
        Ok(make(number))
    }

    fn form(&self) -> String {
        match self.make {
            FaultParser::Plain(_) => self.word.to_owned(),
            FaultParser::Numbered(unit, _) => format!("{}={unit}", self.word),
        }
    }
}

/// All faults as lines for `--help`.
pub(super) fn list_faults() -> String {
    let mut text = String::new();
    for word in FAULTS {
        _ = writeln!(text, "  {:<16} {}", word.form(), word.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_understood_under_its_own_word_alone() {
        for (at, known) in FAULTS.iter().enumerate() {
            assert!(FAULTS[..at].iter().all(|other| other.word != known.word), "{}", known.word);
            let value = if matches!(known.make, FaultParser::Plain(_)) { "" } else { "429" };
            assert!(Fault::parse(known.word, value).unwrap().is_ok(), "{}", known.word);
            let wrong = if value.is_empty() { "1" } else { "" };
            assert!(Fault::parse(known.word, wrong).unwrap().is_err(), "{}", known.word);
        }
        assert!(Fault::parse("status", "200").unwrap().is_err());
        assert!(Fault::parse("txt", "5").is_none());
    }
}
