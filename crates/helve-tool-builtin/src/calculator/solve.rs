//! From tokens to a number: a Pratt parser that calculates as it reads.
//!
//! There is no tree: each rule gives its value, so that neither memory nor the stack grows with the length of
//! the text, and nesting is counted.
//!
//! A percentage is a hundredth (`15%` is 0.15). Only where it is the whole right side of `+` or `-` and the left
//! side is none, it is a part of the left side, as on a pocket calculator: `200 + 10%` is 220. Parentheses make
//! it a plain number again.

use super::functions::{self, FUNCTIONS};
use super::number::{self, Number};
use super::tokens::{CalculatorError, Token, TokenKind, Tokens};

const DEPTH_MAX: usize = 64;
const ARGUMENTS_MAX: usize = 256;

/// How strongly the operators bind, from loose to tight.
const SUM: u8 = 10;
const PRODUCT: u8 = 20;
const MINUS: u8 = 30;
const POWER: u8 = 40;
const ROOT: u8 = 45;

pub(super) fn solve(tokens: &Tokens) -> Result<Number, CalculatorError> {
    let mut solver = Solver { tokens: &tokens.tokens, next: 0, depth: 0 };
    let value = solver.parse_expression(0)?;
    let rest = solver.peek();
    match &rest.kind {
        TokenKind::End => Ok(value.number),
        TokenKind::Sign(')') => Err(error_at(rest, "there is no `(` for this `)`")),
        TokenKind::Sign(',') => {
            Err(error_at(rest, "arguments can only be separated inside a function, as in max(1, 2)"))
        }
        _ => Err(error_at(rest, format!("expected an operator, found `{}`", rest.text))),
    }
}

/// A value on its way.
struct Operand {
    number: Number,
    /// A bare percentage, which `+` and `-` take as a part of what stands before.
    percent: bool,
}

impl From<Number> for Operand {
    fn from(number: Number) -> Self {
        Self { number, percent: false }
    }
}

struct Solver<'a> {
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Infix {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
}

impl<'a> Solver<'a> {
    fn peek(&self) -> &'a Token {
        self.peek_ahead(0)
    }

    /// The last token is the end, and it stays the last.
    fn peek_ahead(&self, n: usize) -> &'a Token {
        &self.tokens[(self.next + n).min(self.tokens.len() - 1)]
    }

    fn next_token(&mut self) -> &'a Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn parse_expression(&mut self, least: u8) -> Result<Operand, CalculatorError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let what = format!("this is nested deeper than {DEPTH_MAX} levels; calculate it in parts");
            return Err(error_at(self.peek(), what));
        }
        let mut left = self.parse_prefix()?;
        loop {
            let token = self.peek();
            if let Some(value) = self.apply_postfix(&left.number, token) {
                left = value?;
                continue;
            }
            let Some((infix, strength, written)) = self.read_infix(token) else { break };
            if strength <= least {
                break;
            }
            self.next += usize::from(written);
            // A power is calculated from its right end.
            let right =
                self.parse_expression(if matches!(infix, Infix::Power) { strength - 1 } else { strength })?;
            left = apply_infix(infix, left, right).map_err(|what| error_at(token, what))?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn parse_prefix(&mut self) -> Result<Operand, CalculatorError> {
        let token = self.next_token();
        match &token.kind {
            TokenKind::Number(number) => Ok(number.clone().into()),
            TokenKind::Name(name) => self.eval_name(name, token),
            TokenKind::Sign('+') => self.parse_expression(MINUS),
            TokenKind::Sign('-') => {
                let Operand { number, percent } = self.parse_expression(MINUS)?;
                Ok(Operand { number: number.neg(), percent })
            }
            TokenKind::Sign('√') => {
                let number = self.parse_expression(ROOT)?.number;
                call_function("sqrt", &[number], token)
            }
            TokenKind::Sign('(') => {
                let number = self.parse_expression(0)?.number;
                self.expect_close(token)?;
                Ok(number.into())
            }
            _ => Err(error_at(
                token,
                format!("expected a number, `(` or a function, found {}", display_token(token)),
            )),
        }
    }

    fn eval_name(&mut self, name: &str, token: &Token) -> Result<Operand, CalculatorError> {
        if let Some(value) = functions::constant(name) {
            return value.map(Operand::from).map_err(|what| error_at(token, what));
        }
        if functions::find_function(name).is_none() {
            let known: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
            let what = format!("`{}` is not known; there are pi, e, {}", token.text, known.join(", "));
            return Err(error_at(token, what));
        }
        let open = self.next_token();
        if !matches!(open.kind, TokenKind::Sign('(')) {
            return Err(error_at(
                open,
                format!("expected `(` after `{name}`, found {}", display_token(open)),
            ));
        }
        let mut arguments = vec![];
        if !matches!(self.peek().kind, TokenKind::Sign(')')) {
            loop {
                arguments.push(self.parse_expression(0)?.number);
                if arguments.len() > ARGUMENTS_MAX {
                    return Err(error_at(self.peek(), "these are too many arguments"));
                }
                if !matches!(self.peek().kind, TokenKind::Sign(',')) {
                    break;
                }
                self.next += 1;
            }
        }
        self.expect_close(open)?;
        call_function(name, &arguments, token)
    }

    fn expect_close(&mut self, open: &Token) -> Result<(), CalculatorError> {
        let token = self.next_token();
        match token.kind {
            TokenKind::Sign(')') => Ok(()),
            _ => Err(error_at(
                token,
                format!(
                    "expected an operator or a `)` for the `(` at position {}, found {}",
                    open.at,
                    display_token(token)
                ),
            )),
        }
    }

    /// What follows a value and belongs to it: `5!`, `15%`, `30°`, `3万`.
    fn apply_postfix(&mut self, value: &Number, token: &Token) -> Option<Result<Operand, CalculatorError>> {
        let plain = |number: number::Result| number.map(Operand::from);
        let result = match &token.kind {
            TokenKind::Raised(power) => plain(value.pow(power)),
            TokenKind::Sign('!') => plain(functions::factorial(value)),
            TokenKind::Sign('°') => plain(functions::radians(value)),
            TokenKind::Sign('万') => plain(value.mul(&Number::from_integer(10_000))),
            TokenKind::Sign('亿') => plain(value.mul(&Number::from_integer(100_000_000))),
            TokenKind::Sign('%') if !self.begins_operand(self.peek_ahead(1)) => {
                value.div(&Number::from_integer(100)).map(|number| Operand { number, percent: true })
            }
            _ => return None,
        };
        self.next += 1;
        Some(result.map_err(|what| error_at(token, what)))
    }

    /// The operator that stands here, how strongly it binds, and whether it is written at all.
    fn read_infix(&self, token: &Token) -> Option<(Infix, u8, bool)> {
        Some(match &token.kind {
            TokenKind::Sign('+') => (Infix::Add, SUM, true),
            TokenKind::Sign('-') => (Infix::Subtract, SUM, true),
            TokenKind::Sign('*') => (Infix::Multiply, PRODUCT, true),
            TokenKind::Sign('/') => (Infix::Divide, PRODUCT, true),
            TokenKind::Sign('%') => (Infix::Modulo, PRODUCT, true),
            TokenKind::Sign('^') => (Infix::Power, POWER, true),
            TokenKind::Name(name) if name == "of" => (Infix::Multiply, PRODUCT, true),
            TokenKind::Name(name) if name == "mod" => (Infix::Modulo, PRODUCT, true),
            // `2(3 + 4)`, `2 pi`, but not `2 3`.
            TokenKind::Name(_) | TokenKind::Sign('(' | '√') => (Infix::Multiply, PRODUCT, false),
            _ => return None,
        })
    }

    /// A sign is not taken for the beginning of one: `10% - 3` is a percentage less three.
    fn begins_operand(&self, token: &Token) -> bool {
        match &token.kind {
            TokenKind::Number(_) | TokenKind::Sign('(' | '√') => true,
            TokenKind::Name(name) => name != "of" && name != "mod",
            TokenKind::Sign(_) | TokenKind::Raised(_) | TokenKind::End => false,
        }
    }
}

fn apply_infix(infix: Infix, left: Operand, right: Operand) -> Result<Operand, String> {
    let (a, b) = (&left.number, &right.number);
    let number = match infix {
        Infix::Add | Infix::Subtract => {
            let part = right.percent && !left.percent;
            let b = if part { &a.mul(b)? } else { b };
            let number = if matches!(infix, Infix::Add) { a.add(b)? } else { a.sub(b)? };
            return Ok(Operand { number, percent: left.percent && right.percent });
        }
        Infix::Multiply => a.mul(b)?,
        Infix::Divide => a.div(b)?,
        Infix::Modulo => a.modulo(b)?,
        Infix::Power => a.pow(b)?,
    };
    Ok(number.into())
}

fn call_function(name: &str, arguments: &[Number], token: &Token) -> Result<Operand, CalculatorError> {
    let Some(function) = functions::find_function(name) else {
        unreachable!("only known functions are applied")
    };
    let count = arguments.len();
    if count < function.least || count > function.most {
        let wanted = match (function.least, function.most) {
            (1, 1) => "one argument".to_owned(),
            (least, usize::MAX) => format!("at least {least} argument"),
            (least, most) if least == most => format!("{least} arguments"),
            (least, most) => format!("{least} to {most} arguments"),
        };
        return Err(error_at(token, format!("`{name}` takes {wanted} and got {count}")));
    }
    (function.apply)(arguments).map(Operand::from).map_err(|what| error_at(token, what))
}

fn display_token(token: &Token) -> String {
    match token.kind {
        TokenKind::End => token.text.clone(),
        _ => format!("`{}`", token.text),
    }
}

fn error_at(token: &Token, what: impl Into<String>) -> CalculatorError {
    CalculatorError { at: token.at, what: what.into() }
}
