//! From the text of a filter to its tree, or to what is wrong and where.

mod literal;
mod term;

use super::syntax::{Filter, JqOperator, depth};

/// A longer filter is a program, and belongs elsewhere.
const BYTES_MAX: usize = 2 << 10;
const DEPTH_MAX: usize = 64;

/// What is wrong, and before which character (counted from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) problem: String,
}

pub(super) fn parse(text: &str) -> Result<Filter, SyntaxError> {
    if text.len() > BYTES_MAX {
        return Err(SyntaxError { at: 1, problem: format!("a filter has {BYTES_MAX} bytes at most") });
    }
    let mut parser = Parser { text, at: 0, nesting: 0, scope: vec![] };
    let filter = parser.parse_whole_pipe()?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.syntax_error("nothing more was expected here"));
    }
    if depth(&filter) > DEPTH_MAX {
        return Err(SyntaxError { at: 1, problem: too_deep_message() });
    }
    Ok(filter)
}

fn too_deep_message() -> String {
    format!("the filter is nested deeper than {DEPTH_MAX} levels")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nesting: usize,
    /// The variables that are known here, the innermost last.
    scope: Vec<String>,
}

type Parsed = Result<Filter, SyntaxError>;

/// What stands between two terms.
#[derive(Clone, Copy, PartialEq)]
enum InfixOperator {
    Otherwise,
    Update,
    Assign,
    Change(Option<JqOperator>),
    Or,
    And,
    Binary(JqOperator),
}

impl InfixOperator {
    /// The longer ones come before those that they begin with.
    const ALL: [(&str, Self); 22] = [
        ("//=", Self::Change(None)),
        ("//", Self::Otherwise),
        ("|=", Self::Update),
        ("+=", Self::Change(Some(JqOperator::Add))),
        ("-=", Self::Change(Some(JqOperator::Subtract))),
        ("*=", Self::Change(Some(JqOperator::Multiply))),
        ("/=", Self::Change(Some(JqOperator::Divide))),
        ("%=", Self::Change(Some(JqOperator::Remainder))),
        ("==", Self::Binary(JqOperator::Equal)),
        ("!=", Self::Binary(JqOperator::Unequal)),
        ("<=", Self::Binary(JqOperator::LessOrEqual)),
        (">=", Self::Binary(JqOperator::GreaterOrEqual)),
        ("=", Self::Assign),
        ("<", Self::Binary(JqOperator::Less)),
        (">", Self::Binary(JqOperator::Greater)),
        ("+", Self::Binary(JqOperator::Add)),
        ("-", Self::Binary(JqOperator::Subtract)),
        ("*", Self::Binary(JqOperator::Multiply)),
        ("/", Self::Binary(JqOperator::Divide)),
        ("%", Self::Binary(JqOperator::Remainder)),
        ("or", Self::Or),
        ("and", Self::And),
    ];

    /// How tightly it binds.
    fn precedence(self) -> u8 {
        match self {
            Self::Otherwise => 1,
            Self::Update | Self::Assign | Self::Change(_) => 2,
            Self::Or => 3,
            Self::And => 4,
            Self::Binary(JqOperator::Add | JqOperator::Subtract) => 6,
            Self::Binary(JqOperator::Multiply | JqOperator::Divide | JqOperator::Remainder) => 7,
            Self::Binary(_) => 5,
        }
    }

    fn join_operands(self, left: Filter, right: Filter) -> Filter {
        let (left, right) = (Box::new(left), Box::new(right));
        match self {
            Self::Otherwise => Filter::Otherwise(left, right),
            Self::Update => Filter::Update(left, right),
            Self::Assign => Filter::Assign(left, right),
            Self::Change(operator) => Filter::Change(operator, left, right),
            Self::Or => Filter::Or(left, right),
            Self::And => Filter::And(left, right),
            Self::Binary(operator) => Filter::Binary(operator, left, right),
        }
    }
}

impl Parser<'_> {
    fn parse_whole_pipe(&mut self) -> Parsed {
        self.parse_pipe(Self::parse_comma)
    }

    /// A member's value ends at a comma.
    fn parse_pipe_without_comma(&mut self) -> Parsed {
        self.parse_pipe(|parser| parser.parse_infix(0))
    }

    fn parse_pipe(&mut self, part: fn(&mut Self) -> Parsed) -> Parsed {
        self.enter_level()?;
        let mut parts = vec![part(self)?];
        while self.peek_pipe() {
            self.at += 1;
            parts.push(part(self)?);
        }
        self.nesting -= 1;
        Ok(one_or_several(parts, Filter::Pipe))
    }

    fn parse_comma(&mut self) -> Parsed {
        let mut parts = vec![self.parse_infix(0)?];
        while self.take_sign(",") {
            parts.push(self.parse_infix(0)?);
        }
        Ok(one_or_several(parts, Filter::Comma))
    }

    /// Terms joined by what binds at least as tightly as `strength`.
    fn parse_infix(&mut self, strength: u8) -> Parsed {
        self.enter_level()?;
        let mut left = self.parse_operand()?;
        let mut last = None;
        while let Some((length, joint)) =
            self.peek_infix().filter(|(_, joint)| joint.precedence() >= strength)
        {
            let binds = joint.precedence();
            // Comparisons and assignments do not chain: `1 < 2 < 3` means nothing.
            if matches!(binds, 2 | 5) && last == Some(binds) {
                return Err(self.syntax_error("put one of the two into brackets"));
            }
            last = Some(binds);
            self.at += length;
            // What `//` joins groups from the right, all else from the left.
            let right = self.parse_infix(if binds == 1 { 1 } else { binds + 1 })?;
            left = joint.join_operands(left, right);
        }
        self.nesting -= 1;
        Ok(left)
    }

    fn peek_infix(&mut self) -> Option<(usize, InfixOperator)> {
        self.skip_space();
        let rest = &self.text[self.at..];
        if rest.starts_with("?//") {
            return None;
        }
        InfixOperator::ALL.into_iter().find_map(|(sign, joint)| {
            let after = rest.strip_prefix(sign)?;
            let is_word = sign.starts_with(|c: char| c.is_ascii_alphabetic());
            let goes_on = is_word && after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            (!goes_on).then_some((sign.len(), joint))
        })
    }

    fn peek_pipe(&mut self) -> bool {
        self.skip_space();
        let rest = &self.text[self.at..];
        rest.starts_with('|') && !rest.starts_with("|=")
    }

    fn enter_level(&mut self) -> Result<(), SyntaxError> {
        self.nesting += 1;
        // Brackets are counted here so that parsing them is safe; the tree is measured when it is whole.
        if self.nesting > 4 * DEPTH_MAX { Err(self.syntax_error(&too_deep_message())) } else { Ok(()) }
    }

    /// Blanks and comments.
    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), SyntaxError> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(self.syntax_error(&format!("`{sign}` was expected here")))
        }
    }

    /// The word at this place, which is left there.
    fn peek_word(&mut self) -> &str {
        self.skip_space();
        let rest = &self.text[self.at..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return "";
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<(), SyntaxError> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(self.syntax_error(&format!("`{word}` was expected here")))
        }
    }

    fn syntax_error(&self, problem: &str) -> SyntaxError {
        self.syntax_error_at(self.at, problem)
    }

    fn syntax_error_at(&self, at: usize, problem: &str) -> SyntaxError {
        let rest: String = self.text[at..].chars().take(12).collect();
        let before = if rest.is_empty() { " (the end)".into() } else { format!(" (`{rest}`)") };
        SyntaxError { at: 1 + self.text[..at].chars().count(), problem: format!("{problem}{before}") }
    }
}

fn one_or_several(mut parts: Vec<Filter>, several: fn(Vec<Filter>) -> Filter) -> Filter {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            several(parts)
        }
    }
}
