//! How a profile writes calls, learned from what its template makes of calls with known words in them.

use super::super::{CallView, Language, Profile, ResultView};
use super::rules::Notation;
use helve_json::coerce::quote_text;

/// head, then calls with `between` between them, then tail. A call is lead, arguments, close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::profile) struct Shape {
    pub(super) head: String,
    /// The beginning of the head that nothing but a call begins with; empty where there is no such thing.
    pub(super) mark: String,
    /// What comes before the arguments: each slot with the text behind it.
    pub(super) lead: Vec<(Slot, String)>,
    pub(super) body: Body,
    pub(super) close: String,
    pub(super) between: String,
    pub(super) tail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Id,
    Name,
}

/// How arguments are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// As one object.
    Whole(Notation),
    /// One by one.
    Members {
        assign: String,
        next: String,
        /// What takes the place of the last text of the lead, and of `close`, where there are none.
        empty: String,
        notation: Notation,
    },
}

impl Body {
    pub(super) fn notation(&self) -> Notation {
        match self {
            Self::Whole(notation) | Self::Members { notation, .. } => *notation,
        }
    }
}

/// Words that no template writes by itself.
const IDS: [&str; 2] = ["call_70717", "call_70718"];
const NAMES: [&str; 2] = ["name_70717", "name_70718"];
const NONE: &str = "{}";
const TWO: &str = r#"{"key_70717":"value_70717","key_70718":"value_70718"}"#;
const TRUTH: &str = r#"{"key_70717":true}"#;

/// A text cut at the known words in it: always one text more than words.
struct Cut<'a> {
    texts: Vec<&'a str>,
    words: Vec<&'static str>,
}

impl<'a> Cut<'a> {
    fn new(text: &'a str, known: &[&'static str]) -> Self {
        let mut cut = Cut { texts: vec![], words: vec![] };
        let mut rest = text;
        // The longest of those that begin first: an object has its members' words in it.
        let first = |rest: &str| {
            let found = known.iter().filter_map(|word| Some((rest.find(word)?, *word)));
            found.min_by_key(|(at, word)| (*at, usize::MAX - word.len()))
        };
        while let Some((at, word)) = first(rest) {
            cut.texts.push(&rest[..at]);
            cut.words.push(word);
            rest = &rest[at + word.len()..];
        }
        cut.texts.push(rest);
        cut
    }
}

/// What stands between two calls and what stands behind the last, without what both begin with: the call's own end.
struct Ends<'a> {
    close: &'a str,
    between: &'a str,
    tail: &'a str,
}

impl Shape {
    /// `None` where the template writes something that has no place here; such a profile is used without a form.
    pub(in crate::profile) fn from_profile(profile: &Profile) -> Option<Self> {
        let written = |calls: usize, arguments: &str| {
            let views = IDS.iter().zip(NAMES).take(calls);
            let views: Vec<_> = views.map(|(id, name)| CallView { id, name, arguments }).collect();
            profile.try_call(&views).ok()
        };
        let (one, two) = (written(1, TWO)?, written(2, TWO)?);
        let escaped = quote_text(TWO);
        let escaped = escaped.get(1..escaped.len() - 1)?;
        let whole = if one.contains(TWO) {
            Some((Notation::Json, TWO.to_owned()))
        } else {
            one.contains(escaped).then(|| (Notation::Quoted, escaped.to_owned()))
        };
        let shape = match whole {
            Some((notation, object)) => {
                // One stand-in for the object, so that it can be told from its members.
                const OBJECT: &str = "object_70717";
                let (one, two) = (one.replace(&object, OBJECT), two.replace(&object, OBJECT));
                Self::from_calls(&one, &two, &[OBJECT], Body::Whole(notation))
            }
            None => Self::from_member_calls(
                &one,
                &two,
                &written(1, NONE)?,
                &written(2, NONE)?,
                &written(1, TRUTH)?,
            ),
        };
        shape.map(|shape| Self { mark: find_call_mark(profile, &shape.head), ..shape })
    }

    /// From what one and two calls look like, whose arguments are these words.
    fn from_calls(one: &str, two: &str, arguments: &[&'static str], body: Body) -> Option<Self> {
        let known: Vec<&'static str> =
            IDS.into_iter().chain(NAMES).chain(arguments.iter().copied()).collect();
        let (one, two) = (Cut::new(one, &known), Cut::new(two, &known));
        let slots = one.words.len();
        let lead = slots.checked_sub(arguments.len())?;
        let repeated = two.words.len() == 2 * slots
            && two.texts[..slots] == one.texts[..slots]
            && two.texts[slots + 1..2 * slots] == one.texts[1..slots]
            && two.texts[2 * slots] == one.texts[slots];
        if !repeated || one.words[lead..] != *arguments || !one.words[..lead].contains(&NAMES[0]) {
            return None;
        }
        let ends = Ends::split_common(two.texts[slots], one.texts[slots]);
        let slot = |at: usize| {
            let slot = if one.words[at] == IDS[0] { Slot::Id } else { Slot::Name };
            (slot, one.texts[at + 1].to_owned())
        };
        Some(Self {
            head: one.texts[0].to_owned(),
            mark: String::new(),
            lead: (0..lead).map(slot).collect(),
            body,
            close: ends.close.to_owned(),
            between: ends.between.to_owned(),
            tail: ends.tail.to_owned(),
        })
    }

    fn from_member_calls(one: &str, two: &str, bare: &str, bare_two: &str, truth: &str) -> Option<Self> {
        const TEXT: [&str; 4] = ["key_70717", "value_70717", "key_70718", "value_70718"];
        const STRING: [&str; 4] = ["key_70717", "\"value_70717\"", "key_70718", "\"value_70718\""];
        let words = if one.contains(STRING[1]) { STRING } else { TEXT };
        let notation = match (words == STRING, truth.contains("True")) {
            (true, true) => Notation::Python,
            (true, false) => Notation::Json,
            (false, _) => Notation::Text,
        };
        let members = Cut::new(one, &words);
        let [_, assign, next, again, _] = members.texts[..] else { return None };
        if assign != again || members.words != words {
            return None;
        }
        let empty = Self::from_calls(bare, bare_two, &[], Body::Whole(notation))?;
        let (assign, next) = (assign.to_owned(), next.to_owned());
        let (_, fewer) = empty.lead.split_last()?;
        let body = Body::Members { assign, next, empty: empty.close.clone(), notation };
        let shape = Self::from_calls(one, two, &words, body)?;
        // Calls with and without arguments must differ in nothing but the arguments.
        let same = (&shape.head, &shape.between, &shape.tail) == (&empty.head, &empty.between, &empty.tail)
            && shape.lead.len() == empty.lead.len()
            && shape.lead.starts_with(fewer);
        same.then_some(shape)
    }
}

/// Shorter ones are found in ordinary text.
const MARK_MIN: usize = 3;

/// What a call begins with and nothing else does: a tag or a word. Where results begin alike it is what they have in
/// common, since a model must not write those either.
fn find_call_mark(profile: &Profile, head: &str) -> String {
    let opening = |text: &str| {
        let end = text.find(['{', '"', '\n']).unwrap_or(text.len());
        text[..end].trim_end().to_owned()
    };
    let mark = opening(head);
    let result = ResultView { id: IDS[0], name: NAMES[0], text: "text_70717", is_error: false };
    let result = profile.try_result(&[result], Language::English).unwrap_or_default();
    let both = &mark[..common_prefix_len(&mark, &opening(&result))];
    let mark = if both.len() >= MARK_MIN { both } else { &mark };
    if mark.len() >= MARK_MIN { mark.to_owned() } else { String::new() }
}

/// How many bytes two texts have in common at their beginning.
pub(super) fn common_prefix_len(one: &str, other: &str) -> usize {
    let same = one.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
    same.last().map_or(0, |((at, c), _)| at + c.len_utf8())
}

impl<'a> Ends<'a> {
    fn split_common(between: &'a str, tail: &'a str) -> Self {
        let at = common_prefix_len(between, tail);
        Self { close: &between[..at], between: &between[at..], tail: &tail[at..] }
    }
}
