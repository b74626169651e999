//! Numbers, strings and objects as they are written.

use serde_json::Number;

use super::{Parsed, Parser, SyntaxError};
use crate::transform::jq::syntax::{Filter, PathStep, StringPart};
use crate::transform::jq::value::JqValue;

impl Filter {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(vec![StringPart::Text(text.to_owned())])
    }
}

impl Parser<'_> {
    pub(super) fn parse_number(&mut self) -> Parsed {
        let rest = &self.text[self.at..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut end = digits(rest);
        if rest[end..].starts_with('.') {
            end += 1 + digits(&rest[end + 1..]);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[end + 1 + sign..]);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let written = &rest[..end];
        let whole = written.parse().ok().map(|number: u64| Number::from(number));
        let number = whole.or_else(|| match JqValue::number(written.parse().ok()?) {
            JqValue::Number(number) => Some(number),
            _ => None,
        });
        let number = number.ok_or_else(|| self.syntax_error("this is no number"))?;
        self.at += end;
        Ok(Filter::Number(number))
    }

    /// A string, with `\( … )` in it.
    pub(super) fn parse_string(&mut self) -> Parsed {
        let start = self.at;
        self.at += 1;
        let (mut pieces, mut text) = (vec![], String::new());
        loop {
            let Some(c) = self.text[self.at..].chars().next() else {
                return Err(self.syntax_error_at(start, "the string does not end"));
            };
            self.at += c.len_utf8();
            match c {
                '"' => break,
                '\\' if self.text[self.at..].starts_with('(') => {
                    self.at += 1;
                    pieces.push(StringPart::Text(std::mem::take(&mut text)));
                    pieces.push(StringPart::Filter(self.parse_whole_pipe()?));
                    self.expect_sign(")")?;
                }
                '\\' => text.push(self.parse_escape()?),
                c => text.push(c),
            }
        }
        pieces.push(StringPart::Text(text));
        pieces.retain(|piece| *piece != StringPart::Text(String::new()));
        Ok(Filter::Text(pieces))
    }

    /// Behind a backslash.
    fn parse_escape(&mut self) -> Result<char, SyntaxError> {
        let rest = &self.text[self.at..];
        let c = match rest.chars().next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.parse_unicode_escape(),
            _ => return Err(self.syntax_error("there is no such escape in a string")),
        };
        self.at += 1;
        Ok(c)
    }

    /// `uXXXX`, or two of them for what is beyond the first plane.
    fn parse_unicode_escape(&mut self) -> Result<char, SyntaxError> {
        let start = self.at;
        let wrong =
            |parser: &Self| parser.syntax_error_at(start, "four digits of a character were expected here");
        let unit = |text: &str| {
            let digits = text.strip_prefix('u')?.get(..4)?;
            u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
        };
        let first = unit(&self.text[self.at..]).ok_or_else(|| wrong(self))?;
        self.at += 5;
        let second = self.text[self.at..].strip_prefix('\\').and_then(unit);
        let units = [first, second.unwrap_or(0)];
        let pair = char::decode_utf16(units).next().and_then(Result::ok);
        if (0xd800..0xdc00).contains(&first) && second.is_some() && pair.is_some() {
            self.at += 6;
        }
        pair.ok_or_else(|| wrong(self))
    }

    pub(super) fn parse_object(&mut self) -> Parsed {
        self.expect_sign("{")?;
        let mut members = vec![];
        if self.take_sign("}") {
            return Ok(Filter::Object(members));
        }
        loop {
            members.push(self.parse_member()?);
            if self.take_sign("}") {
                return Ok(Filter::Object(members));
            }
            if !self.take_sign(",") {
                return Err(self.syntax_error("`,` or `}` was expected here"));
            }
        }
    }

    /// `name: value`, or a name alone, which means the member of that name.
    fn parse_member(&mut self) -> Result<(Filter, Filter), SyntaxError> {
        self.skip_space();
        let rest = &self.text[self.at..];
        if rest.starts_with('(') {
            self.at += 1;
            let name = self.parse_whole_pipe()?;
            self.expect_sign(")")?;
            self.expect_sign(":")?;
            return Ok((name, self.parse_pipe_without_comma()?));
        }
        if let Some(name) = rest.strip_prefix('$') {
            let name = name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
            let name = Filter::text(name.unwrap_or_default());
            return Ok((name, self.parse_variable()?));
        }
        let name = match rest.chars().next() {
            Some('"') => self.parse_string()?,
            _ => {
                let word = self.peek_word().to_owned();
                if word.is_empty() {
                    return Err(self.syntax_error("a member's name was expected here"));
                }
                self.at += word.len();
                Filter::text(&word)
            }
        };
        if self.take_sign(":") {
            return Ok((name, self.parse_pipe_without_comma()?));
        }
        let same = Filter::Steps(Box::new(Filter::Identity), vec![PathStep::Index(name.clone())]);
        Ok((name, same))
    }
}
