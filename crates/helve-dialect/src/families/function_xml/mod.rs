//! Calls written as elements: a function with its parameters, each in tags of its own.
//!
//! One body reads all of them. A grammar says which elements there are, how tags are spelt, what frames a value and
//! what an untyped value means where no schema is known. Closing tags of calls and wrappers may be missing.

pub(crate) mod body;
pub(crate) mod claude_xml;
pub(crate) mod deepseek_v32;
pub(crate) mod deepseek_v4;
pub(crate) mod deepseek_v41;
pub(crate) mod dots;
pub(crate) mod glm45;
pub(crate) mod glm47;
pub(crate) mod hy_v3;
pub(crate) mod hy_v4;
pub(crate) mod minicpm5;
pub(crate) mod minimax_m2;
pub(crate) mod poolside_v1;
pub(crate) mod qwen3_coder;
pub(crate) mod seed_oss;
pub(crate) mod step3;

pub(crate) use body::TagBody;

use crate::Tools;

/// How functions and parameters are written.
pub(crate) struct TagGrammar {
    pub(crate) spelling: Spelling,
    /// What may stand before an element's name.
    pub(crate) namespaces: &'static [&'static str],
    /// A bar behind the element may stand for the bracket that ends its tag, or before it.
    pub(crate) barred: bool,
    /// Elements may carry a suffix behind a colon.
    pub(crate) suffixed: bool,
    pub(crate) elements: &'static [(&'static str, Element)],
    pub(crate) framing: Framing,
    /// Elements of this namespace frame their values with one line break on either side.
    pub(crate) one_line_in: &'static str,
    pub(crate) untyped: Untyped,
    /// Values may be `<![CDATA[…]]>`.
    pub(crate) cdata: bool,
    /// Entities in a value are decoded where it does not fit its type otherwise.
    pub(crate) entities: bool,
    /// A single parameter of this name may wrap the real arguments.
    pub(crate) wraps: &'static [&'static str],
    /// A tag that opens another call ends the one before it, even behind words. Otherwise those quote it.
    pub(crate) reopens: bool,
    /// A parameter that is written twice has two readings, and the call none.
    pub(crate) once: bool,
    /// The head of the message has named the call already.
    pub(crate) headed: bool,
    /// The tool that is meant by what is written.
    pub(crate) name: for<'n> fn(&'n str, &Tools) -> &'n str,
}

impl TagGrammar {
    /// What a grammar is unless it says otherwise.
    pub(crate) const PLAIN: Self = Self {
        spelling: Spelling::Angles,
        namespaces: &[],
        barred: false,
        suffixed: false,
        elements: &[],
        framing: Framing::Verbatim,
        one_line_in: "",
        untyped: Untyped::Look,
        cdata: false,
        entities: false,
        wraps: &[],
        reopens: true,
        once: false,
        headed: false,
        name: |name, _| name,
    };

    fn has(&self, element: Element) -> bool {
        self.elements.iter().any(|(_, kind)| *kind == element)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `<a>` and `</a>`.
    Angles,
    /// `<|open|>a<|sep|>` and `<|close|>a<|sep|>`.
    Tokens,
}

impl Spelling {
    const OPEN: &'static str = "<|open|>";
    const CLOSE: &'static str = "<|close|>";
    const SEPARATOR: &'static str = "<|sep|>";
}

/// What an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// Encloses calls.
    Wrapper,
    /// A call; its tag carries the name.
    Call,
    /// A call whose name is the text behind its tag.
    NamedByText,
    /// Holds the name of the call.
    Name,
    /// Encloses parameters that are elements of their own names.
    Group,
    Parameter,
    /// Holds the name of the parameter whose value follows.
    Key,
    Value,
    /// Holds all arguments as JSON.
    Json,
    /// Means nothing.
    Skip,
    /// Means nothing, and neither does the word `function` behind it.
    Kind,
    /// Encloses the text around calls, and belongs to no section.
    Channel,
    /// Ends the section.
    End,
}

impl Element {
    /// How many kinds there are.
    const COUNT: usize = Self::End as usize + 1;
}

/// What around a value belongs to the markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Verbatim,
    /// One line break on either side.
    OneLine,
    /// All blanks on either side.
    Trimmed,
}

/// What a value is where no schema says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untyped {
    /// The text it is.
    Text,
    /// JSON if it looks so.
    Look,
}
