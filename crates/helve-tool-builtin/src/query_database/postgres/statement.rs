//! The names in a statement, read as PostgreSQL's own scanner reads them. What this cannot read is refused.
//!
//! It knows no grammar. It finds every name, and of each whether it is called (a parenthesis follows) or stands behind a
//! dot, where PostgreSQL also accepts a function (`orders.pg_column_size` is a call). Whatever the grammar makes of the
//! statement, a function cannot be called in another way than by its name in one of these places.

use std::iter::Peekable;
use std::str::CharIndices;

/// PostgreSQL cuts longer names off.
const NAME_BYTES_MAX: usize = 63;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// As PostgreSQL compares it.
    pub(super) text: String,
    pub(super) is_called: bool,
    pub(super) is_behind_a_dot: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Dot,
    Open,
    Other,
}

/// All names of a statement, keywords among them, or what cannot be read.
pub(super) fn list_names(sql: &str) -> Result<Vec<Name>, String> {
    let tokens = Scanner { sql, rest: sql.char_indices().peekable() }.read_tokens()?;
    let mut names = vec![];
    for (place, token) in tokens.iter().enumerate() {
        let Token::Name(text) = token else { continue };
        names.push(Name {
            text: text.clone(),
            is_called: tokens.get(place + 1) == Some(&Token::Open),
            is_behind_a_dot: place.checked_sub(1).and_then(|before| tokens.get(before)) == Some(&Token::Dot),
        });
    }
    Ok(names)
}

struct Scanner<'a> {
    sql: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

fn begins_a_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn goes_on_in_a_name(c: char) -> bool {
    begins_a_name(c) || c.is_ascii_digit() || c == '$'
}

impl Scanner<'_> {
    fn read_tokens(mut self) -> Result<Vec<Token>, String> {
        let mut tokens = vec![];
        // A text that follows one with backslashes, on a line of its own, is read with backslashes too.
        let mut is_behind_backslashes = false;
        while let Some(&(start, c)) = self.rest.peek() {
            if c.is_ascii_whitespace() {
                self.rest.next();
            } else if self.skip_if_begins("--") {
                self.skip_line_comment();
            } else if self.skip_if_begins("/*") {
                self.skip_comment()?;
            } else if c == '\'' {
                if is_behind_backslashes {
                    return Err("a text that goes on behind one with backslashes; write it in one".into());
                }
                self.read_quoted('\'', false)?;
                tokens.push(Token::Other);
            } else {
                is_behind_backslashes = false;
                tokens.push(match c {
                    '"' => self.read_quoted_name()?,
                    '$' => self.read_dollar()?,
                    '(' => self.read_one(Token::Open),
                    '.' => self.read_one(Token::Dot),
                    _ if c.is_ascii_digit() => self.read_number(),
                    _ if begins_a_name(c) => {
                        let word = self.read_word(start);
                        let next = self.rest.peek().map(|(_, c)| *c);
                        match (word.as_str(), next) {
                            ("e", Some('\'')) => {
                                self.read_quoted('\'', true)?;
                                is_behind_backslashes = true;
                                Token::Other
                            }
                            ("u", Some('&')) if self.skip_if_begins("&'") || self.skip_if_begins("&\"") => {
                                return Err("`U&` texts and names; write the characters themselves".into());
                            }
                            _ => Token::Name(cut_name(word)),
                        }
                    }
                    _ => self.read_one(Token::Other),
                });
            }
        }
        Ok(tokens)
    }

    fn read_one(&mut self, token: Token) -> Token {
        self.rest.next();
        token
    }

    fn skip_if_begins(&mut self, with: &str) -> bool {
        self.rest.peek().is_some_and(|(start, _)| self.sql[*start..].starts_with(with))
    }

    fn skip_line_comment(&mut self) {
        while self.rest.next_if(|(_, c)| !matches!(c, '\n' | '\r')).is_some() {}
    }

    fn skip_comment(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        loop {
            if self.skip_if_begins("/*") {
                depth += 1;
                self.rest.next();
            } else if self.skip_if_begins("*/") {
                depth -= 1;
                self.rest.next();
            }
            if self.rest.next().is_none() {
                return Err("a comment that does not end".into());
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// What is between two quotes; a quote twice is one of them.
    fn read_quoted(&mut self, quote: char, has_backslashes: bool) -> Result<String, String> {
        let mut text = String::new();
        self.rest.next();
        while let Some((_, c)) = self.rest.next() {
            if c == quote {
                if self.rest.next_if(|(_, c)| *c == quote).is_none() {
                    return Ok(text);
                }
            } else if c == '\\' && has_backslashes {
                self.rest.next();
            }
            text.push(c);
        }
        Err(format!("a {quote} without its end"))
    }

    fn read_quoted_name(&mut self) -> Result<Token, String> {
        let name = self.read_quoted('"', false)?;
        if name.is_empty() { Err("a name without letters".into()) } else { Ok(Token::Name(cut_name(name))) }
    }

    /// A placeholder, or text between two of the same `$tag$`.
    fn read_dollar(&mut self) -> Result<Token, String> {
        let Some((start, _)) = self.rest.next() else { return Ok(Token::Other) };
        if self.rest.peek().is_some_and(|(_, c)| c.is_ascii_digit()) {
            return Ok(self.read_number());
        }
        while self.rest.next_if(|(_, c)| *c != '$' && goes_on_in_a_name(*c)).is_some() {}
        let Some((end, '$')) = self.rest.next() else { return Err("a `$` that begins nothing".into()) };
        let (tag, behind) = (&self.sql[start..=end], &self.sql[end + 1..]);
        let Some(length) = behind.find(tag) else { return Err(format!("a text in {tag} without its end")) };
        let over = end + 1 + length + tag.len();
        while self.rest.next_if(|(at, _)| *at < over).is_some() {}
        Ok(Token::Other)
    }

    fn read_number(&mut self) -> Token {
        while self.rest.next_if(|(_, c)| c.is_ascii_digit() || *c == '.').is_some() {}
        Token::Other
    }

    fn read_word(&mut self, start: usize) -> String {
        while self.rest.next_if(|(_, c)| goes_on_in_a_name(*c)).is_some() {}
        let end = self.rest.peek().map_or(self.sql.len(), |(at, _)| *at);
        self.sql[start..end].to_ascii_lowercase()
    }
}

fn cut_name(mut name: String) -> String {
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name.truncate(end.unwrap_or_default());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in order; `f(` is called, `.x` stands behind a dot.
    fn read(sql: &str) -> String {
        let shown = |name: &Name| {
            let dot = if name.is_behind_a_dot { "." } else { "" };
            format!("{dot}{}{}", name.text, if name.is_called { "(" } else { "" })
        };
        match list_names(sql) {
            Ok(names) => names.iter().map(shown).collect::<Vec<_>>().join(" "),
            Err(problem) => format!("no: {problem}"),
        }
    }

    #[test]
    fn names_are_found_wherever_they_hide() {
        for (sql, expected) in [
            ("SELECT pg_sleep(1)", "select pg_sleep("),
            ("SELECT PG_Sleep /* /* (in) */ */ -- x\n (1)", "select pg_sleep("),
            ("SELECT\"pg_sleep\"(1)", "select pg_sleep("),
            ("SELECT \"a\"\"b\"(1), \"Up\"(2)", "select a\"b( Up("),
            ("SELECT (a).pg_sleep, t . b, pg_catalog.now()", "select( a .pg_sleep t .b pg_catalog .now("),
            ("SELECT 'pg_sleep(1)', 'it''s f(1)' FROM t", "select from t"),
            ("SELECT 'a\\', f(1), '\\'", "select f("),
            ("SELECT e'a\\', f(1), \\'', g(1)", "select g("),
            ("SELECT E'\\\\', g(1)", "select g("),
            ("SELECT 1e'\\', f(1) '", "select"),
            ("SELECT typee'x', g(1)", "select typee g("),
            ("SELECT $$f(1)$$, $a$ $$ f(1) $b$ $a$, g(1)", "select g("),
            ("SELECT a$$, g(1)", "select a$$ g("),
            ("SELECT $1, $2f(1)", "select f("),
            ("SELECT 1.f(1), .5, 0x1f(2)", "select f( x1f("),
            ("SELECT *--x\nf(1)", "select f("),
            ("SELECT 1*/*x*/f(1)", "select f("),
            ("SELECT größe(1), 数(2), Ä(1)", "select größe( 数( Ä("),
            ("SELECT f\u{a0}(1)", "select f\u{a0}("),
            ("SELECT x'ff', b'01', n'x', N'f(1)'", "select x b n n"),
            ("SELECT u & 1, u&g(1)", "select u u g("),
            ("SELECT U&'\\0061'", "no: `U&` texts and names; write the characters themselves"),
            ("SELECT u&\"pg\\005fsleep\"(1)", "no: `U&` texts and names; write the characters themselves"),
            (
                "SELECT E'a'\n'\\', f(1) --'",
                "no: a text that goes on behind one with backslashes; write it in one",
            ),
            ("SELECT 'open", "no: a ' without its end"),
            ("SELECT \"open", "no: a \" without its end"),
            ("SELECT E'open\\'", "no: a ' without its end"),
            ("SELECT /* /* */", "no: a comment that does not end"),
            ("SELECT $a$ open $b$", "no: a text in $a$ without its end"),
            ("SELECT $a", "no: a `$` that begins nothing"),
            ("SELECT \"\"(1)", "no: a name without letters"),
            ("", ""),
        ] {
            assert_eq!(read(sql), expected, "{sql}");
        }
    }

    #[test]
    fn a_name_is_cut_where_postgresql_cuts_it() {
        assert_eq!(read(&"x".repeat(100)).len(), 63);
        assert_eq!(read(&format!("x{}", "数".repeat(30))).len(), 61);
    }

    #[test]
    fn no_text_is_too_odd_to_be_read() {
        let odd = [
            "'", "\"", "$", "$$", "/*", "*/", "--", "\n", "e'", "\\", "U&", "(", ".", "数", "a", "1", "\u{0}",
        ];
        for first in odd {
            for second in odd {
                for third in odd {
                    for fourth in odd {
                        _ = list_names(&format!("{first}{second}{third}{fourth}"));
                    }
                }
            }
        }
    }
}
