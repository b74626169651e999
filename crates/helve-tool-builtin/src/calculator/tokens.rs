//! From text to tokens: numbers as people write them, in English and in Chinese.
//!
//! Owns what a comma, a space and a full-width sign mean. Positions count characters of the text as it was
//! given, from 1.

use num_bigint::BigInt;
use num_rational::BigRational;

use super::number::{Number, power_of_ten};
use super::{fraction, functions};

/// Powers of ten that a number can be written with.
const EXPONENT_MAX: i32 = 1_300;

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
    /// What stands there, for an error message.
    pub(super) text: String,
}

#[derive(Debug, Clone)]
pub(super) enum TokenKind {
    Number(Number),
    /// In lower case.
    Name(String),
    /// `²` and its like: a power that belongs to what stands before it, as `!` does.
    Raised(Number),
    /// One of `+ - * / ^ % ! ( ) , √ ° 万 亿`; an argument ends with `,` however it was written.
    Sign(char),
    End,
}

/// Something that cannot be calculated, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CalculatorError {
    pub(super) at: usize,
    pub(super) what: String,
}

#[derive(Debug)]
pub(super) struct Tokens {
    pub(super) tokens: Vec<Token>,
    /// Commas between arguments that could have been meant to group thousands.
    pub(super) doubtful_commas: bool,
}

pub(super) fn read_tokens(text: &str) -> Result<Tokens, CalculatorError> {
    let mut chars: Vec<char> = text.chars().map(to_ascii_sign).collect();
    // People end a question with `=`, `?` or a full stop.
    while chars.last().is_some_and(|c| matches!(c, '=' | '?' | '.' | ' ')) {
        chars.pop();
    }
    let mut reader =
        TokenReader { chars, next: 0, tokens: vec![], parentheses: vec![], doubtful_commas: false };
    while reader.read_token()? {}
    let at = reader.chars.len() + 1;
    reader.tokens.push(Token { kind: TokenKind::End, at, text: "the end".into() });
    Ok(Tokens { tokens: reader.tokens, doubtful_commas: reader.doubtful_commas })
}

/// The plain form of a character that is written in several ways; never more than one character.
fn to_ascii_sign(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        '。' => '.',
        '、' => ',',
        '×' | '✕' | '⋅' | '·' | '•' | '∙' => '*',
        '÷' | '∕' => '/',
        '−' | '–' | '—' => '-',
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

struct TokenReader {
    chars: Vec<char>,
    next: usize,
    tokens: Vec<Token>,
    /// For each open parenthesis whether a comma in it separates arguments.
    parentheses: Vec<bool>,
    doubtful_commas: bool,
}

impl TokenReader {
    /// Reads one token; false at the end.
    fn read_token(&mut self) -> Result<bool, CalculatorError> {
        while self.peek(0) == Some(' ') {
            self.next += 1;
        }
        let Some(c) = self.peek(0) else { return Ok(false) };
        let from = self.next;
        match c {
            '0'..='9' => self.read_number()?,
            '.' if self.is_digit(1) => self.read_number()?,
            'x' | 'X' if self.is_times() => self.push_sign('*', 1),
            'a'..='z' | 'A'..='Z' => self.read_name(),
            'π' => self.push(TokenKind::Name("pi".into()), from, 1),
            '的' => self.push(TokenKind::Name("of".into()), from, 1),
            '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' => self.read_superscript(),
            '*' if self.peek(1) == Some('*') => self.push_sign('^', 2),
            '(' => {
                let separates = self.opens_arguments() && !self.has_semicolon();
                self.parentheses.push(separates);
                self.push_sign('(', 1);
            }
            ')' => {
                self.parentheses.pop();
                self.push_sign(')', 1);
            }
            ',' if self.comma_separates() => {
                self.doubtful_commas |= self.could_group();
                self.push_sign(',', 1);
            }
            ';' => self.push_sign(',', 1),
            '+' | '-' | '*' | '/' | '^' | '%' | '!' | '√' | '°' | '万' | '亿' => self.push_sign(c, 1),
            ',' => {
                return Err(self.error_at(
                    from,
                    "a comma is not expected here; it groups thousands, as in 3,480, or separates the arguments \
                     of a function",
                ));
            }
            '$' | '€' | '£' | '¥' => {
                return Err(self.error_at(from, "write amounts without a currency sign"));
            }
            c => return Err(self.error_at(from, format!("`{c}` has no meaning here"))),
        }
        Ok(true)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.next + ahead).copied()
    }

    fn is_digit(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|c| c.is_ascii_digit())
    }

    fn push(&mut self, kind: TokenKind, from: usize, len: usize) {
        let text = self.chars[from..from + len].iter().collect();
        self.tokens.push(Token { kind, at: from + 1, text });
        self.next = from + len;
    }

    fn push_sign(&mut self, sign: char, len: usize) {
        self.push(TokenKind::Sign(sign), self.next, len);
    }

    fn error_at(&self, at: usize, what: impl Into<String>) -> CalculatorError {
        CalculatorError { at: at + 1, what: what.into() }
    }

    /// Whether what came last can stand before an operator.
    fn is_after_operand(&self) -> bool {
        self.tokens.last().is_some_and(|token| match &token.kind {
            TokenKind::Number(_) | TokenKind::Raised(_) => true,
            TokenKind::Name(name) => name != "of" && name != "mod",
            TokenKind::Sign(sign) => matches!(sign, ')' | '!' | '%' | '°' | '万' | '亿'),
            TokenKind::End => false,
        })
    }

    /// An `x` between two numbers, as in `3 x 4`.
    fn is_times(&self) -> bool {
        self.is_after_operand() && !self.peek(1).is_some_and(|c| c.is_ascii_alphabetic())
    }

    fn read_name(&mut self) {
        let from = self.next;
        let len = self.chars[from..].iter().take_while(|c| c.is_ascii_alphanumeric()).count();
        let name: String = self.chars[from..from + len].iter().collect();
        self.push(TokenKind::Name(name.to_ascii_lowercase()), from, len);
    }

    fn read_superscript(&mut self) {
        const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
        let from = self.next;
        let value = |c: &char| DIGITS.iter().position(|digit| digit == c);
        let digits: Vec<usize> = self.chars[from..].iter().map_while(value).collect();
        let exponent = digits.iter().fold(BigInt::ZERO, |n, digit| n * 10 + *digit);
        self.push(TokenKind::Raised(Number::Exact(fraction::from_integer(exponent))), from, digits.len());
    }

    fn opens_arguments(&self) -> bool {
        matches!(self.tokens.last().map(|token| &token.kind), Some(TokenKind::Name(name))
            if functions::find_function(name).is_some())
    }

    /// Whether the parenthesis that opens here holds a semicolon of its own.
    fn has_semicolon(&self) -> bool {
        let mut depth = 0usize;
        for c in &self.chars[self.next..] {
            match c {
                '(' => depth += 1,
                ')' if depth == 1 => return false,
                ')' => depth -= 1,
                ';' if depth == 1 => return true,
                _ => {}
            }
        }
        false
    }

    fn comma_separates(&self) -> bool {
        self.parentheses.last() == Some(&true)
    }

    /// Whether the comma here has a digit before it and exactly three after it.
    fn could_group(&self) -> bool {
        let before = self.next.checked_sub(1).and_then(|at| self.chars.get(at));
        before.is_some_and(char::is_ascii_digit) && self.three_digits_follow()
    }

    fn three_digits_follow(&self) -> bool {
        (1..=3).all(|ahead| self.is_digit(ahead)) && !self.is_digit(4)
    }

    /// `3480`, `3,480`, `3 480`, `3_480`, `3480.5`, `.5`, `3.48e3`, `0xd98`.
    fn read_number(&mut self) -> Result<(), CalculatorError> {
        let from = self.next;
        if let Some((radix, digits)) = self.read_radix() {
            return self.read_whole_number(radix, digits);
        }
        let mut digits = self.read_digits();
        self.read_digit_groups(from, &mut digits)?;
        let mut exponent = 0;
        if self.peek(0) == Some('.') {
            self.next += 1;
            let decimals = self.read_digits();
            exponent -= i32::try_from(decimals.len()).unwrap_or(i32::MAX);
            digits.push_str(&decimals);
            if self.peek(0) == Some('.') {
                return Err(self.error_at(self.next, "a number has one decimal point"));
            }
        }
        exponent += self.read_exponent()?;
        let digits: BigInt = digits.parse().unwrap_or_default();
        let value: BigRational = fraction::mul(&fraction::from_integer(digits), &power_of_ten(exponent));
        let number = Number::from_fraction(value).map_err(|what| self.error_at(from, what))?;
        self.push(TokenKind::Number(number), from, self.next - from);
        Ok(())
    }

    /// The base that `0x`, `0b` or `0o` before a letter or digit stands for, and what its digits are called.
    fn read_radix(&self) -> Option<(u32, &'static str)> {
        if self.peek(0) != Some('0') || !self.peek(2).is_some_and(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        match self.peek(1)? {
            'x' | 'X' => Some((16, "hexadecimal")),
            'o' | 'O' => Some((8, "octal")),
            'b' | 'B' => Some((2, "binary")),
            _ => None,
        }
    }

    /// `0xff`, `0o17`, `0b1010`, as programs write them, all of the word or none.
    fn read_whole_number(&mut self, radix: u32, digits: &str) -> Result<(), CalculatorError> {
        let from = self.next;
        let is_times = |token: &Token| token.at == from && matches!(&*token.text, "x" | "X");
        if self.tokens.last().is_some_and(is_times) {
            return Err(
                self.error_at(from, "this could be a hexadecimal number or a product; write `*` for times")
            );
        }
        let mut value = BigInt::ZERO;
        self.next += 2;
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
            match c.to_digit(radix) {
                Some(digit) => value = value * radix + digit,
                None if c == '_' && self.peek(1).is_some_and(|c| c.is_digit(radix)) => {}
                None => return Err(self.error_at(self.next, format!("`{c}` is no {digits} digit"))),
            }
            self.next += 1;
        }
        let number =
            Number::from_fraction(fraction::from_integer(value)).map_err(|what| self.error_at(from, what))?;
        self.push(TokenKind::Number(number), from, self.next - from);
        Ok(())
    }

    /// Digits up to the next other character; `_` may stand between two of them.
    fn read_digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some(c) = self.peek(0) {
            if c.is_ascii_digit() {
                digits.push(c);
            } else if c != '_' || !self.is_digit(1) || digits.is_empty() {
                break;
            }
            self.next += 1;
        }
        digits
    }

    /// Further groups of three digits, all behind the same separator.
    fn read_digit_groups(&mut self, from: usize, digits: &mut String) -> Result<(), CalculatorError> {
        let Some(separator) = self.peek(0).filter(|c| matches!(c, ',' | ' ')) else { return Ok(()) };
        if separator == ',' && self.comma_separates() {
            return Ok(());
        }
        let first_fits = digits.len() == self.next - from && digits.len() <= 3 && !digits.starts_with('0');
        let mut found = false;
        while first_fits && self.peek(0) == Some(separator) && self.three_digits_follow() {
            digits.extend(&self.chars[self.next + 1..self.next + 4]);
            self.next += 4;
            found = true;
        }
        if self.peek(0) == Some(',') && (!found || separator == ',') {
            let hint = "a comma groups thousands, as in 3,480; write decimals with a point, as in 3.5";
            return Err(self.error_at(self.next, hint));
        }
        Ok(())
    }

    /// `e3` and `E-3` behind a number; a lone `e` is left for the constant.
    fn read_exponent(&mut self) -> Result<i32, CalculatorError> {
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if !matches!(self.peek(0), Some('e' | 'E')) || !self.is_digit(1 + sign) {
            return Ok(0);
        }
        let from = self.next;
        let negative = self.peek(1) == Some('-');
        self.next += 1 + sign;
        let size =
            self.read_digits().parse::<i32>().ok().filter(|n| *n <= EXPONENT_MAX).ok_or_else(|| {
                self.error_at(
                    from,
                    format!("the exponent must be between -{EXPONENT_MAX} and {EXPONENT_MAX}"),
                )
            })?;
        Ok(if negative { -size } else { size })
    }
}
