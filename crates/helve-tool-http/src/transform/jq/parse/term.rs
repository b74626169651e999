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
    pub(super) fn operand(&mut self) -> Parsed {
        let source = self.postfix()?;
        if !self.take_word("as") {
            return Ok(source);
        }
        let name = self.variable_name()?;
        self.skip_space();
        if !self.peek_pipe() {
            return Err(self.wrong("`|` was expected here"));
        }
        self.at += 1;
        self.scope.push(name);
        let body = self.pipe()?;
        self.scope.pop();
        Ok(Filter::Bind { source: source.into(), body: body.into() })
    }

    /// A term with the steps behind it.
    fn postfix(&mut self) -> Parsed {
        self.enter()?;
        let mut term = self.term()?;
        let mut steps = vec![];
        loop {
            self.skip_space();
            let rest = &self.text[self.at..];
            if rest.starts_with("?//") {
                return Err(self.wrong("`?//` does not exist here"));
            } else if rest.starts_with('?') {
                self.at += 1;
                term = Filter::Try(Box::new(with_steps(term, std::mem::take(&mut steps))), None);
            } else if rest.starts_with('[') {
                steps.push(self.parse_bracket()?);
            } else if rest.starts_with('.') && !rest.starts_with("..") {
                self.at += 1;
                match self.field()? {
                    Some(step) => steps.push(step),
                    None if self.text[self.at..].starts_with('[') => steps.push(self.parse_bracket()?),
                    None => return Err(self.wrong("a name was expected behind `.`")),
                }
            } else {
                self.nesting -= 1;
                return Ok(with_steps(term, steps));
            }
        }
    }

    fn term(&mut self) -> Parsed {
        self.skip_space();
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            None => Err(self.wrong("the filter ends too early")),
            Some('.') if rest.starts_with("..") => {
                self.at += 2;
                Ok(Filter::Descend)
            }
            Some('.') if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.at += 1;
                Ok(match self.field()? {
                    Some(step) => Filter::Steps(Box::new(Filter::Identity), vec![step]),
                    None => Filter::Identity,
                })
            }
            Some('"') => self.string(),
            Some('.' | '0'..='9') => self.number(),
            Some('$') => self.variable(),
            Some('-') => {
                self.at += 1;
                Ok(Filter::Negative(self.postfix()?.into()))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.pipe()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                if self.take("]") {
                    return Ok(Filter::List(None));
                }
                let inner = self.pipe()?;
                self.expect("]")?;
                Ok(Filter::List(Some(inner.into())))
            }
            Some('{') => self.object(),
            Some('@') => Err(self.wrong("formats such as `@csv` do not exist here")),
            Some(_) => self.word(),
        }
    }

    /// The name behind a dot, if one is there.
    fn field(&mut self) -> Result<Option<PathStep>, SyntaxError> {
        let rest = &self.text[self.at..];
        if rest.starts_with('"') {
            return Ok(Some(PathStep::Index(self.string()?)));
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
        self.expect("[")?;
        if self.take("]") {
            return Ok(PathStep::Each);
        }
        if self.take(":") {
            let to = self.pipe()?;
            self.expect("]")?;
            return Ok(PathStep::Slice(None, Some(to)));
        }
        let from = self.pipe()?;
        if self.take(":") {
            let to = if self.take("]") { return Ok(PathStep::Slice(Some(from), None)) } else { self.pipe()? };
            self.expect("]")?;
            return Ok(PathStep::Slice(Some(from), Some(to)));
        }
        self.expect("]")?;
        Ok(PathStep::Index(from))
    }

    fn variable_name(&mut self) -> Result<String, SyntaxError> {
        self.skip_space();
        if !self.take("$") {
            return Err(self.wrong("a variable such as `$x` was expected here"));
        }
        let name = self.peek_word().to_owned();
        if name.is_empty() {
            return Err(self.wrong("a variable's name was expected here"));
        }
        self.at += name.len();
        Ok(name)
    }

    pub(super) fn variable(&mut self) -> Parsed {
        let at = self.at;
        let name = self.variable_name()?;
        let found = self.scope.iter().rev().position(|known| *known == name);
        found.map(Filter::Variable).ok_or_else(|| {
            self.wrong_at(
                at,
                &format!("there is no variable `${name}`; name a value with `… as ${name} | …`"),
            )
        })
    }

    fn word(&mut self) -> Parsed {
        let at = self.at;
        let word = self.peek_word().to_owned();
        self.at += word.len();
        match word.as_str() {
            "" => Err(self.wrong("a value was expected here")),
            "null" => Ok(Filter::Null),
            "true" => Ok(Filter::Bool(true)),
            "false" => Ok(Filter::Bool(false)),
            "if" => self.choice(),
            "try" => {
                let body = self.postfix()?;
                let handler = if self.take_word("catch") { Some(self.postfix()?.into()) } else { None };
                Ok(Filter::Try(body.into(), handler))
            }
            "reduce" | "foreach" => self.fold(word == "foreach"),
            "then" | "elif" | "else" | "end" | "as" | "and" | "or" | "catch" => {
                Err(self.wrong_at(at, "a value was expected here"))
            }
            name => self.call(at, name),
        }
    }

    /// Behind `if` or `elif`.
    fn choice(&mut self) -> Parsed {
        self.enter()?;
        let condition = self.pipe()?.into();
        self.expect_word("then")?;
        let then = self.pipe()?.into();
        let otherwise = if self.take_word("elif") {
            Some(self.choice()?.into())
        } else if self.take_word("else") {
            let otherwise = self.pipe()?;
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
    fn fold(&mut self, each: bool) -> Parsed {
        let source = self.postfix()?.into();
        self.expect_word("as")?;
        let name = self.variable_name()?;
        self.expect("(")?;
        let start = self.pipe()?.into();
        self.expect(";")?;
        self.scope.push(name);
        let update = self.pipe()?.into();
        let extract = if each && self.take(";") { Some(self.pipe()?.into()) } else { None };
        self.scope.pop();
        self.expect(")")?;
        Ok(match each {
            true => Filter::Foreach { source, start, update, extract },
            false => Filter::Reduce { source, start, update },
        })
    }

    fn call(&mut self, at: usize, name: &str) -> Parsed {
        if let Some((_, instead)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
            return Err(self.wrong_at(at, &format!("`{name}`: {instead}")));
        }
        let mut arguments = vec![];
        if self.take("(") {
            arguments.push(self.pipe()?);
            while self.take(";") {
                arguments.push(self.pipe()?);
            }
            self.expect(")")?;
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
        Err(self.wrong_at(at, &problem))
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
