//! What a result must not be able to say: the words by which a profile, or a model's own template, tells who speaks.
//!
//! A result is text from anywhere. Put into a prompt as it is, it could close the place it was put in and go on as
//! somebody else: another result, a call, the system. So the words of the profile are learned from what its templates write,
//! those that models know besides are in `special`, and where they stand in a result they are written otherwise: for JSON by an escape that means the same, and in plain
//! text so that people and models still read what was there.

use std::borrow::Cow;
use std::iter;

use super::search::FRAME_TAGS;
use super::{CallView, Language, Profile, ResultView};
use crate::special;

/// A label is a few words and a colon: `Action Input:`.
const LABEL_CHARS_MAX: usize = 24;
const SAMPLE: &str = "sample";

/// The words of one profile.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// They count wherever they stand; lower case.
    tags: Vec<String>,
    /// They count at the beginning of a line.
    labels: Vec<String>,
    /// A line that begins with the name of a tool and a colon is a result.
    names_are_labels: bool,
}

impl Marks {
    /// What the templates write around what they are given.
    pub(super) fn from_profile(profile: &Profile) -> Self {
        let call = CallView { id: "1", name: SAMPLE, arguments: r#"{"text": "x"}"# };
        let result = |is_error| ResultView { id: "1", name: SAMPLE, text: "x", is_error };
        let mut written = vec![profile.call(&[call])];
        for language in [Language::English, Language::Chinese] {
            written.push(profile.result(&[result(false), result(true)], language));
        }
        let mut marks = Self::default();
        for text in &written {
            marks.tags.extend(find_tags(text).map(|tag| tag.to_lowercase()));
            marks.labels.extend(text.lines().filter_map(read_label).map(str::to_owned));
            marks.names_are_labels |= text.lines().any(|line| is_labelled(line, SAMPLE));
        }
        marks.tags.extend(FRAME_TAGS.map(str::to_owned));
        marks.tags.sort_unstable();
        marks.tags.dedup();
        marks.labels.sort_unstable();
        marks.labels.dedup();
        marks
    }

    /// The words of nothing but the frames around search results.
    pub(super) fn for_frames() -> Self {
        Self { tags: FRAME_TAGS.map(str::to_owned).into(), ..Self::default() }
    }

    /// The text as it may stand in a prompt, beside results of the tools with these names.
    pub(super) fn escape_in_text<'a>(&self, text: &'a str, names: &[&str]) -> Cow<'a, str> {
        let text = special::escape_marks(text, |text| self.is_mark(text), special::as_entity);
        let begins = |at: &usize| self.begins_with_label(&text[*at..], names);
        let lines = iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let labels: Vec<usize> = lines.filter(begins).collect();
        if labels.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len() + 2 * labels.len());
        let mut done = 0;
        for at in labels {
            out.push_str(&text[done..at]);
            out.push_str("> ");
            done = at;
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// The same for JSON on one line, in which such words stand inside of strings only: it means what it meant.
    pub(super) fn escape_in_json(&self, json: String) -> String {
        special::escape_marks(&json, |text| self.is_mark(text), special::as_escape).into_owned()
    }

    fn is_mark(&self, text: &str) -> bool {
        special::begins_with_mark(text) || self.tags.iter().any(|tag| begins_with(text, tag))
    }

    fn begins_with_label(&self, line: &str, names: &[&str]) -> bool {
        self.labels.iter().any(|label| begins_with(line, label))
            || (self.names_are_labels && names.iter().any(|name| is_labelled(line, name)))
    }
}

fn begins_with(text: &str, mark: &str) -> bool {
    text.as_bytes().get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()))
}

fn is_labelled(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
}

/// `<name>`, `</name>`, `<name=` and `[NAME]`, `[/NAME]`.
fn find_tags(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().filter_map(|(at, c)| match c {
        '<' => {
            let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
            read_tag(&text[at..], name, &['>', '='])
        }
        '[' => read_tag(&text[at..], |c| c.is_ascii_uppercase() || c == '_', &[']']),
        _ => None,
    })
}

fn read_tag<'a>(text: &'a str, is_name: impl Fn(char) -> bool, ends: &[char]) -> Option<&'a str> {
    let inner = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
    let begins = text.len() - inner.len();
    let name = inner.find(|c| !is_name(c)).filter(|length| *length > 0)?;
    let end = inner[name..].chars().next().filter(|end| ends.contains(end))?;
    Some(&text[..begins + name + end.len_utf8()])
}

/// The few words and the colon that a line begins with.
fn read_label(line: &str) -> Option<&str> {
    let colon = line.find(':').filter(|colon| *colon <= LABEL_CHARS_MAX)?;
    let words = &line[..colon];
    let is_label = words.starts_with(|c: char| c.is_ascii_uppercase())
        && words.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    is_label.then(|| &line[..=colon])
}
