//! Calls framed by marks: a name, a mark or a bracket, and the arguments as JSON.
//!
//! The body walks from sign to sign. What stands between a call's first sign and its arguments is its head, and the
//! dialect says how the name is written there. Arguments end where their JSON ends, so a sign inside a string is data.

mod body;
pub(crate) mod deepseek_v3;
pub(crate) mod deepseek_v31;
pub(crate) mod kimi_k2;
pub(crate) mod llama31_function_tag;
pub(crate) mod mistral;
pub(crate) mod react;

pub(crate) use body::FramedBody;
pub(crate) use body::text::find_interpreter;

use crate::Tools;
use helve_json::is_blank;

/// How the calls of a section are framed.
pub(crate) struct FramedGrammar {
    pub(crate) signs: &'static [(&'static str, FramedSign)],
    /// The signs that may end arguments which are not quite JSON.
    pub(crate) closers: &'static [&'static str],
    /// The bracket of the arguments ends the head, whether a sign stands before it or not.
    pub(crate) bracket_ends_head: bool,
    /// A declared name right behind a call, and the sign of arguments behind it, make another.
    pub(crate) chained: bool,
    /// How arguments are written that are plain text.
    pub(crate) text: TextGrammar,
    /// The signs are ordinary words, so that a head of more than one word is prose.
    pub(crate) wordy: bool,
    /// Who is called, by the head.
    pub(crate) read_name: fn(&str, &Tools) -> HeadMeaning,
    /// Whether a head that calls no tool is prose about the marks. Behind it stands the bracket of arguments, if
    /// one does. Any other is that of a broken call.
    pub(crate) is_prose_about_marks: fn(&str) -> bool,
    /// Whether the head may be all of a call, which then has no arguments.
    pub(crate) is_call_by_head_alone: fn(&str) -> bool,
}

impl FramedGrammar {
    /// What a grammar is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self {
        signs: &[],
        closers: &[],
        bracket_ends_head: false,
        chained: false,
        text: TextGrammar::NONE,
        wordy: false,
        read_name: |_, _| HeadMeaning::NotACall,
        is_prose_about_marks: |_| true,
        is_call_by_head_alone: |_| false,
    };
}

/// Arguments that are plain text, which goes to the only parameter that is required.
pub(crate) struct TextGrammar {
    /// The signs that end it, each `FramedSign::Close` or `FramedSign::Beyond`; without any, arguments are never text.
    pub(crate) signs: &'static [(&'static str, FramedSign)],
    /// It is code for an interpreter.
    pub(crate) code: bool,
    /// It counts only with the sign that ends it: without that it was cut off.
    pub(crate) closed: bool,
    /// What is not the section's own ends it only as the head of a message: a name that is fit for one, and a line break.
    pub(crate) heads: Option<fn(&str, &Tools) -> bool>,
}

impl TextGrammar {
    pub(crate) const NONE: Self = Self { signs: &[], code: false, closed: false, heads: None };
}

/// What a sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramedSign {
    /// A call begins.
    Call,
    /// Its id follows.
    Id,
    /// Its arguments follow.
    Arguments,
    /// It is over.
    End,
    /// The fence around its arguments begins, or ends right behind them.
    Fence,
    /// No tool is called, and the answer follows.
    Answer,
    /// The section is over.
    Close,
    /// The section is over, and this sign is no longer its own.
    Beyond,
}

/// What a head says.
pub(crate) enum HeadMeaning {
    Tool {
        name: String,
        id: Option<String>,
    },
    /// A call without a name: the arguments may tell whose they are.
    Unnamed {
        id: Option<String>,
    },
    /// The head names no tool.
    NoTool,
    NotACall,
}

/// No head is longer.
const HEAD_MAX: usize = 512;

/// Whether what stands where something else was awaited is the middle of a sentence.
fn continues_as_prose(before: &str, text: &str) -> bool {
    match text.chars().next() {
        Some(c) if c.is_alphabetic() => before.ends_with(is_blank),
        Some(c) => matches!(c, ',' | '.' | ';' | ':' | '!' | '?' | ')'),
        None => false,
    }
}

/// A head that is nothing but a name, perhaps in quotes.
fn read_plain_name(head: &str, _: &Tools) -> HeadMeaning {
    let name = head.trim().trim_matches(['"', '\'']);
    match name.is_empty() || name.contains(char::is_whitespace) {
        true => HeadMeaning::NotACall,
        false => HeadMeaning::Tool { name: name.to_owned(), id: None },
    }
}
