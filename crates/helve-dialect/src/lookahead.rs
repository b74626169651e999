//! The look-ahead behind a mark: what must follow it to make it one.
//!
//! `judge` judges character by character, and is what holds. The other looks are quicker: what one of them is sure of is what
//! `judge` comes to say, and where it is unsure, `judge` is asked.

use crate::dialect::is_name_char;
use crate::envelope;
use helve_json::byte_search::begins;
use helve_json::is_blank;

/// What must follow a mark to make it one. Whatever fails stays text. Blanks are passed over, so the texts that are looked
/// for are written without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookahead {
    /// An object or an array of objects.
    Json,
    /// The same with the name of a call's member: all that an unmarked call may begin with. An object may be Python's.
    Object,
    /// A name, or a list or comment before it.
    Python,
    /// The name of a function and its opening parenthesis, perhaps in a list.
    Function,
    /// One of these texts.
    Words(&'static [&'static str]),
    /// One of these words with anything right behind it, no blank between.
    Glued(&'static [&'static str]),
    /// A name with one of these texts behind it.
    Name(&'static [&'static str]),
    /// `to=`, a name, and one of these texts; the role may stand before it.
    Recipient(&'static [&'static str]),
    /// The numbers of sources, and the bracket behind them.
    Sources,
    /// Whatever it is.
    Anything,
    /// Whatever it is, behind a mark at the beginning of a line.
    Line,
}

/// Whether the text after a mark fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    No,
    /// More text is needed.
    Unsure,
}

/// No name is longer.
const NAME_MAX: usize = 128;

impl Lookahead {
    /// Judges the text behind the mark, blanks left out; `gap` says that one stood right before its last character. All
    /// shorter texts were judged before and left it unsure.
    pub(crate) fn judge(self, text: &str, gap: bool) -> Fit {
        let Some(first) = text.chars().next() else {
            return Fit::Unsure;
        };
        match self {
            Self::Anything | Self::Line => Fit::Yes,
            Self::Sources => match text.chars().next_back() {
                Some('>') if text.contains(|c: char| c.is_ascii_digit()) => Fit::Yes,
                Some('0'..='9' | ',' | ':' | '[' | ']') if text.len() < NAME_MAX => Fit::Unsure,
                _ => Fit::No,
            },
            Self::Python if first.is_alphabetic() || matches!(first, '_' | '[' | '#') => Fit::Yes,
            Self::Python => Fit::No,
            Self::Json if first == '{' || text == "[]" => Fit::Yes,
            Self::Json => strip_beginning(text, "[{").map_or_else(|fit| fit, |_| Fit::Yes),
            Self::Object => {
                let (quote, key) = match text.strip_prefix("{'") {
                    Some(key) => ('\'', Ok(key)),
                    None => ('"', strip_beginning(text.strip_prefix('[').unwrap_or(text), "{\"")),
                };
                match key {
                    // No name has a blank in it.
                    Ok(key) if gap && !key.is_empty() => Fit::No,
                    Ok(key) => envelope::may_begin_with(key, quote),
                    Err(fit) => fit,
                }
            }
            Self::Function => {
                let name = text.strip_prefix('[').unwrap_or(text);
                if name.is_empty() { Fit::Unsure } else { match_name_before(name, gap, &["("]) }
            }
            Self::Words(words) => match_any(text, words),
            Self::Glued(words) => match words.iter().find(|word| text.starts_with(**word)) {
                Some(word) if text.len() == word.len() => Fit::Unsure,
                Some(_) if gap => Fit::No,
                Some(_) => Fit::Yes,
                None => match_any(text, words),
            },
            Self::Name(ends) => match_name_before(text, gap, ends),
            Self::Recipient(ends) => {
                let role = strip_beginning(text, "assistant");
                if role == Err(Fit::Unsure) || role == Ok("") {
                    return Fit::Unsure;
                }
                match strip_beginning(role.unwrap_or(text), "to=") {
                    Ok("") => Fit::Unsure,
                    Ok(name) => match_name_before(name, gap, ends),
                    Err(fit) => fit,
                }
            }
        }
    }

    /// How much of the text goes on with what was read and was unsure, and what that comes to: sure with its last byte,
    /// or still unsure. `gap` says that a blank stands between the two.
    pub(crate) fn judge_more(self, read: &str, gap: impl Fn() -> bool, text: &str) -> (usize, Fit) {
        match self {
            Self::Words(words) => word_continuation(read, text, words),
            Self::Name(ends) => match name_continuation(read, gap, text) {
                0 => match read.find(NO_NAME).unwrap_or(read.len()) {
                    end if !is_name_like(&read[..end]) => (0, Fit::Unsure),
                    end => word_continuation(&read[end..], text, ends),
                },
                run => (run, Fit::Unsure),
            },
            Self::Function => {
                (name_continuation(read.strip_prefix('[').unwrap_or(read), gap, text), Fit::Unsure)
            }
            _ => (0, Fit::Unsure),
        }
    }

    /// A cheap first look at the few bytes at hand with which an unmarked call may begin.
    pub(crate) fn may_begin(self, bytes: &[u8]) -> bool {
        let may_name = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80 || byte == b'_';
        match (self, bytes) {
            (Self::Object, [b'{', b'"' | b'\'', letter, ..]) => may_name(*letter),
            (Self::Object, [b'{', second, ..]) => matches!(second, b'"' | b'\'') || is_blank(*second as char),
            (Self::Object, [b'[', b'{', third, ..]) => *third == b'"' || is_blank(*third as char),
            (Self::Object, [b'[', second, ..]) => *second == b'{' || is_blank(*second as char),
            (Self::Object, _) => true,
            (Self::Json, [b'[', second, ..]) => *second == b'{' || is_blank(*second as char),
            (Self::Json, _) => true,
            (Self::Function, [b'[', second, ..]) => may_name(*second) || is_blank(*second as char),
            (Self::Function, [b'[']) => true,
            (Self::Words(words), [b'[', second, ..]) => {
                is_blank(*second as char) || words.iter().any(|word| word.as_bytes().get(1) == Some(second))
            }
            (Self::Words(_), [b'[']) => true,
            _ => false,
        }
    }
}

/// How much of the text goes on with a name that was begun.
fn name_continuation(read: &str, gap: impl Fn() -> bool, text: &str) -> usize {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let over = gap() || read.contains(NO_NAME);
    let room = if over { 0 } else { (NAME_MAX - 1).saturating_sub(read.len()) };
    text.bytes().take(room).take_while(name).count()
}

/// How much of the text goes on with a word that was begun, and whether that is all of it.
fn word_continuation(begun: &str, text: &str, words: &[&str]) -> (usize, Fit) {
    for word in words.iter().filter(|word| begins(word.as_bytes(), begun)) {
        let ahead = &word[begun.len()..];
        let fit = match () {
            _ if ahead.is_empty() => continue,
            _ if begins(text.as_bytes(), ahead) => Fit::Yes,
            _ if begins(ahead.as_bytes(), text) => Fit::Unsure,
            _ => continue,
        };
        // A shorter word would have been enough.
        let shorter = |other: &&str| other.len() < word.len() && begins(word.as_bytes(), other);
        return match words.iter().any(shorter) {
            true => (0, Fit::Unsure),
            false => (ahead.len().min(text.len()), fit),
        };
    }
    (0, Fit::Unsure)
}

/// Whether what may be a name is one: it holds more than signs.
fn is_name_like(name: &str) -> bool {
    name.contains(char::is_alphanumeric)
}

/// What ends a name.
const NO_NAME: [char; 6] = ['<', '>', '(', '[', '\\', '{'];

/// The name with which a call begins, perhaps in a list.
pub(crate) fn leading_name(text: &str) -> &str {
    let name = text.trim_start_matches('[');
    &name[..name.find(NO_NAME).unwrap_or(name.len())]
}

/// A name and then one of these texts. Only what is new is looked at: the name's characters were good so far.
fn match_name_before(text: &str, gap: bool, ends: &[&str]) -> Fit {
    if let Some(at) = text.find(NO_NAME) {
        return if is_name_like(&text[..at]) { match_any(&text[at..], ends) } else { Fit::No };
    }
    match text.chars().next_back() {
        Some(last)
            if (is_name_char(last) || matches!(last, '"' | '\''))
                && !(gap && text.len() > last.len_utf8())
                && text.len() < NAME_MAX =>
        {
            Fit::Unsure
        }
        _ => Fit::No,
    }
}

fn match_any(text: &str, words: &[&str]) -> Fit {
    if words.iter().any(|word| begins(text.as_bytes(), word)) {
        Fit::Yes
    } else if words.iter().any(|word| begins(word.as_bytes(), text)) {
        Fit::Unsure
    } else {
        Fit::No
    }
}

/// What follows the beginning that must be there.
fn strip_beginning<'t>(text: &'t str, beginning: &str) -> Result<&'t str, Fit> {
    match text.strip_prefix(beginning) {
        Some(rest) => Ok(rest),
        None if beginning.starts_with(text) => Err(Fit::Unsure),
        None => Err(Fit::No),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_mark_needs_what_follows_it() {
        assert_eq!(Lookahead::Json.judge("{", false), Fit::Yes);
        assert_eq!(Lookahead::Json.judge("tag", false), Fit::No);
        assert_eq!(Lookahead::Json.judge("[1", false), Fit::No);
        assert_eq!(Lookahead::Python.judge("f(", false), Fit::Yes);
        assert_eq!(Lookahead::Object.judge("{", false), Fit::Unsure);
        assert_eq!(Lookahead::Object.judge("{a", false), Fit::No);
        assert_eq!(Lookahead::Object.judge("[{", false), Fit::Unsure);
        assert_eq!(Lookahead::Object.judge("{\"na", false), Fit::Unsure);
        assert_eq!(Lookahead::Object.judge("{\"name\"", false), Fit::Yes);
        assert_eq!(Lookahead::Object.judge("{\"names\"", false), Fit::No);
        assert_eq!(Lookahead::Object.judge("{\"age", false), Fit::No);
        assert_eq!(Lookahead::Object.judge("{'na", false), Fit::Unsure);
        assert_eq!(Lookahead::Object.judge("{'name'", false), Fit::Yes);
        assert_eq!(Lookahead::Object.judge("{'name\"", false), Fit::No);
        assert_eq!(Lookahead::Object.judge("[{'", false), Fit::No);
        assert_eq!(Lookahead::Object.judge("[1", false), Fit::No);
        let glm = Lookahead::Name(&["<arg_key>", "</tool_call>"]);
        assert_eq!(glm.judge("get_weather", false), Fit::Unsure);
        assert_eq!(glm.judge("get_weather<arg_", true), Fit::Unsure);
        assert_eq!(glm.judge("get_weather<arg_key>", true), Fit::Yes);
        assert_eq!(glm.judge("getw", true), Fit::No);
        assert_eq!(glm.judge("<b", false), Fit::No);
        assert_eq!(Lookahead::Sources.judge("0:[1,2", true), Fit::Unsure);
        assert_eq!(Lookahead::Sources.judge("0:[1,2]>", false), Fit::Yes);
        assert_eq!(Lookahead::Sources.judge("0x", false), Fit::No);
        assert_eq!(Lookahead::Sources.judge(">", false), Fit::No);
        let glued = Lookahead::Glued(&["final", "analysis"]);
        assert_eq!(glued.judge("fina", false), Fit::Unsure);
        assert_eq!(glued.judge("final", false), Fit::Unsure);
        assert_eq!(glued.judge("finalY", false), Fit::Yes);
        assert_eq!(glued.judge("finalY", true), Fit::No);
        assert_eq!(Lookahead::Function.judge("[f", true), Fit::Unsure);
        assert_eq!(Lookahead::Function.judge("[fg", true), Fit::No);
        assert_eq!(Lookahead::Function.judge("[a.b(", false), Fit::Yes);
        assert_eq!(Lookahead::Function.judge("[link]", false), Fit::No);
    }

    /// What follows a mark, for each dialect that looks ahead.
    fn all() -> Vec<Lookahead> {
        let openers =
            crate::dialects().iter().flat_map(|dialect| dialect.openers.iter().chain(dialect.given.openers));
        let mut all = vec![];
        openers.map(|opener| opener.then).for_each(|then| {
            if !all.contains(&then) {
                all.push(then);
            }
        });
        all
    }

    /// What it comes to, character by character, as the parser does where nothing quicker decides.
    fn slowly(then: Lookahead, text: &str) -> Fit {
        let mut nonblank = String::new();
        let mut gap = false;
        for c in text.chars() {
            if is_blank(c) {
                gap = !nonblank.is_empty();
                continue;
            }
            nonblank.push(c);
            match then.judge(&nonblank, std::mem::take(&mut gap)) {
                Fit::Unsure => {}
                fit => return fit,
            }
        }
        Fit::Unsure
    }

    fn ahead() -> impl Strategy<Value = String> {
        let mut words = vec![
            "[",
            "{",
            "\"",
            "'",
            "(",
            "name",
            "tool",
            "f",
            "get_weather",
            "a.b",
            "-",
            "é",
            " ",
            "\n",
            "to=",
            "1",
            ">",
            "<",
            ":",
            "assistant",
            "#",
        ];
        for then in all() {
            match then {
                Lookahead::Words(more)
                | Lookahead::Glued(more)
                | Lookahead::Name(more)
                | Lookahead::Recipient(more) => words.extend(more),
                _ => {}
            }
        }
        proptest::collection::vec((prop::sample::select(words), 0usize..8), 1..6).prop_map(|words| {
            // Some words come in pieces.
            let whole = |(word, cut): (&str, usize)| {
                if cut < 6 { word.to_owned() } else { word.chars().skip(cut - 5).collect() }
            };
            words.into_iter().map(whole).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn quick_looks_see_what_slow_ones_do(text in ahead(), at in any::<prop::sample::Index>()) {
            let text = text.trim_start_matches(is_blank);
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            if ends.is_empty() {
                return Ok(());
            }
            for then in all() {
                let slow = slowly(then, text);
                let begins = text.as_bytes().first().is_some_and(|byte| matches!(byte, b'{' | b'['));
                if begins && !then.may_begin(text.as_bytes()) && matches!(then, Lookahead::Object | Lookahead::Json | Lookahead::Function) {
                    prop_assert_ne!(slow, Fit::Yes, "{:?} may begin with {:?}", then, text);
                }
                // What was read and left it unsure, and more of the text behind it.
                let (read, more) = text.split_at(ends[at.index(ends.len())]);
                if slowly(then, read) == Fit::Unsure && !read.is_empty() && !more.starts_with(is_blank) {
                    let nonblank: String = read.chars().filter(|c| !is_blank(*c)).collect();
                    let (run, fit) = then.judge_more(&nonblank, || read.ends_with(is_blank), more);
                    prop_assert_eq!(slowly(then, &format!("{read}{}", &more[..run])), fit, "{:?} goes on from {:?} with {:?}", then, read, &more[..run]);
                }
            }
        }
    }
}
