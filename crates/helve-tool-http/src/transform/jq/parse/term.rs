//! Terms: what operators join.

use super::{Parsed, Parser, SyntaxError};
use crate::transform::jq::syntax::{Filter, Function, PathStep};

/// Words of jq that this subset does without, and what to do instead.
const ABSENT: &[(&str, &str)] = &[
    ("def", "functions cannot be defined here"),
    ("import", "there are no modules here"),
    ("include", "there are no modules here"),
    ("label", "`label` and `break` do not exist here; use `first(…)` or `limit(n; …)`"),
    ("env", "a filter sees the answer and nothing else"),
    ("input", "a filter sees the answer and nothing else"),
    ("inputs", "a filter sees the answer and nothing else"),
    ("now", "a filter sees the answer and nothing else"),
    ("debug", "a filter sees the answer and nothing else"),
    ("walk", "recursion does not exist here; use `..` and `|=`"),
    ("while", "endless loops do not exist here; use `range` and `reduce`"),
    ("until", "endless loops do not exist here; use `range` and `reduce`"),
    ("repeat", "endless loops do not exist here; use `range` and `reduce`"),
];

impl Parser<'_> {
    /// A term, or one that gives its value a name for all that follows.
    pub(super) fn parse_operand(&mut self) -> Parsed {
        let source = self.parse_postfix()?;
        if !self.take_word("as") {
            return Ok(source);
        }
        let name = self.parse_variable_name()?;
        self.skip_space();
        if !self.peek_pipe() {
            return Err(self.syntax_error("`|` was expected here"));
        }
        self.at += 1;
        self.scope.push(name);
        let body = self.parse_whole_pipe()?;
        self.scope.pop();
        Ok(Filter::Bind { source: source.into(), body: body.into() })
    }

    /// A term with the steps behind it.
    fn parse_postfix(&mut self) -> Parsed {
        self.enter_level()?;
        let mut term = self.parse_term()?;
        let mut steps = vec![];
        loop {
            self.skip_space();
            let rest = &self.text[self.at..];
            if rest.starts_with("?//") {
                return Err(self.syntax_error("`?//` does not exist here"));
            } else if rest.starts_with('?') {
                self.at += 1;
                term = Filter::Try(Box::new(with_steps(term, std::mem::take(&mut steps))), None);
            } else if rest.starts_with('[') {
                steps.push(self.parse_bracket()?);
            } else if rest.starts_with('.') && !rest.starts_with("..") {
                self.at += 1;
                match self.parse_field()? {
                    Some(step) => steps.push(step),
                    None if self.text[self.at..].starts_with('[') => steps.push(self.parse_bracket()?),
                    None => return Err(self.syntax_error("a name was expected behind `.`")),
                }
            } else {
                self.nesting -= 1;
                return Ok(with_steps(term, steps));
            }
        }
    }

    fn parse_term(&mut self) -> Parsed {
        self.skip_space();
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            None => Err(self.syntax_error("the filter ends too early")),
            Some('.') if rest.starts_with("..") => {
                self.at += 2;
                Ok(Filter::Descend)
            }
            Some('.') if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.at += 1;
                Ok(match self.parse_field()? {
                    Some(step) => Filter::Steps(Box::new(Filter::Identity), vec![step]),
                    None => Filter::Identity,
                })
            }
            Some('"') => self.parse_string(),
            Some('.' | '0'..='9') => self.parse_number(),
            Some('$') => self.parse_variable(),
            Some('-') => {
                self.at += 1;
                Ok(Filter::Negative(self.parse_postfix()?.into()))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.parse_whole_pipe()?;
                self.expect_sign(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                if self.take_sign("]") {
                    return Ok(Filter::List(None));
                }
                let inner = self.parse_whole_pipe()?;
                self.expect_sign("]")?;
                Ok(Filter::List(Some(inner.into())))
            }
            Some('{') => self.parse_object(),
            Some('@') => Err(self.syntax_error("formats such as `@csv` do not exist here")),
            Some(_) => self.parse_word(),
        }
    }

    /// The name behind a dot, if one is there.
    fn parse_field(&mut self) -> Result<Option<PathStep>, SyntaxError> {
        let rest = &self.text[self.at..];
        if rest.starts_with('"') {
            return Ok(Some(PathStep::Index(self.parse_string()?)));
        }
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Ok(None);
        }
        let name = self.peek_word().to_owned();
        self.at += name.len();
        Ok(Some(PathStep::Index(Filter::text(&name))))
    }

    /// `[]`, `[index]`, `[from:to]`.
    fn parse_bracket(&mut self) -> Result<PathStep, SyntaxError> {
        self.expect_sign("[")?;
        if self.take_sign("]") {
            return Ok(PathStep::Each);
        }
        if self.take_sign(":") {
            let to = self.parse_whole_pipe()?;
            self.expect_sign("]")?;
            return Ok(PathStep::Slice(None, Some(to)));
        }
        let from = self.parse_whole_pipe()?;
        if self.take_sign(":") {
            let to = if self.take_sign("]") {
                return Ok(PathStep::Slice(Some(from), None));
            } else {
                self.parse_whole_pipe()?
            };
            self.expect_sign("]")?;
            return Ok(PathStep::Slice(Some(from), Some(to)));
        }
        self.expect_sign("]")?;
        Ok(PathStep::Index(from))
    }

    fn parse_variable_name(&mut self) -> Result<String, SyntaxError> {
        self.skip_space();
        if !self.take_sign("$") {
            return Err(self.syntax_error("a variable such as `$x` was expected here"));
        }
        let name = self.peek_word().to_owned();
        if name.is_empty() {
            return Err(self.syntax_error("a variable's name was expected here"));
        }
        self.at += name.len();
        Ok(name)
    }

    pub(super) fn parse_variable(&mut self) -> Parsed {
        let at = self.at;
        let name = self.parse_variable_name()?;
        let found = self.scope.iter().rev().position(|known| *known == name);
        found.map(Filter::Variable).ok_or_else(|| {
            self.syntax_error_at(
                at,
                &format!("there is no variable `${name}`; name a value with `… as ${name} | …`"),
            )
        })
    }

    fn parse_word(&mut self) -> Parsed {
        let at = self.at;
        let word = self.peek_word().to_owned();
        self.at += word.len();
        match word.as_str() {
            "" => Err(self.syntax_error("a value was expected here")),
            "null" => Ok(Filter::Null),
            "true" => Ok(Filter::Bool(true)),
            "false" => Ok(Filter::Bool(false)),
            "if" => self.parse_choice(),
            "try" => {
                let body = self.parse_postfix()?;
                let handler = if self.take_word("catch") { Some(self.parse_postfix()?.into()) } else { None };
                Ok(Filter::Try(body.into(), handler))
            }
            "reduce" | "foreach" => self.parse_fold(word == "foreach"),
            "then" | "elif" | "else" | "end" | "as" | "and" | "or" | "catch" => {
                Err(self.syntax_error_at(at, "a value was expected here"))
            }
            name => self.parse_call(at, name),
        }
    }

    /// Behind `if` or `elif`.
    fn parse_choice(&mut self) -> Parsed {
        self.enter_level()?;
        let condition = self.parse_whole_pipe()?.into();
        self.expect_word("then")?;
        let then = self.parse_whole_pipe()?.into();
        let otherwise = if self.take_word("elif") {
            Some(self.parse_choice()?.into())
        } else if self.take_word("else") {
            let otherwise = self.parse_whole_pipe()?;
            self.expect_word("end")?;
            Some(otherwise.into())
        } else {
            self.expect_word("end")?;
            None
        };
        self.nesting -= 1;
        Ok(Filter::If { condition, then, otherwise })
    }

    /// `source as $x (start; update)`; foreach may have a third part.
    fn parse_fold(&mut self, each: bool) -> Parsed {
        let source = self.parse_postfix()?.into();
        self.expect_word("as")?;
        let name = self.parse_variable_name()?;
        self.expect_sign("(")?;
        let start = self.parse_whole_pipe()?.into();
        self.expect_sign(";")?;
        self.scope.push(name);
        let update = self.parse_whole_pipe()?.into();
        let extract = if each && self.take_sign(";") { Some(self.parse_whole_pipe()?.into()) } else { None };
        self.scope.pop();
        self.expect_sign(")")?;
        Ok(match each {
            true => Filter::Foreach { source, start, update, extract },
            false => Filter::Reduce { source, start, update },
        })
    }

    fn parse_call(&mut self, at: usize, name: &str) -> Parsed {
        if let Some((_, instead)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
            return Err(self.syntax_error_at(at, &format!("`{name}`: {instead}")));
        }
        let mut arguments = vec![];
        if self.take_sign("(") {
            arguments.push(self.parse_whole_pipe()?);
            while self.take_sign(";") {
                arguments.push(self.parse_whole_pipe()?);
            }
            self.expect_sign(")")?;
        }
        if let Some(function) = Function::find(name, arguments.len()) {
            return Ok(Filter::Call(function, arguments));
        }
        let known = Function::ALL.iter().filter(|(known, ..)| *known == name);
        let takes: Vec<String> = known.map(|(_, takes, _)| takes.to_string()).collect();
        let problem = if takes.is_empty() {
            format!("there is no function `{name}`")
        } else {
            format!("`{name}` takes {} arguments, not {}", takes.join(" or "), arguments.len())
        };
        Err(self.syntax_error_at(at, &problem))
    }
}

fn with_steps(term: Filter, steps: Vec<PathStep>) -> Filter {
    match (term, steps) {
        (term, steps) if steps.is_empty() => term,
        (Filter::Steps(term, mut before), steps) => {
            before.extend(steps);
            Filter::Steps(term, before)
        }
        (term, steps) => Filter::Steps(term.into(), steps),
    }
}
