//! Reads an expression and calculates as it reads: operators by their binding power, never deeper than a cap.

use super::function;
use super::number::Number::{Real, Whole};
use super::number::Value;

/// Longest expression, in bytes.
const LONGEST: usize = 16 * 1024;
/// Deepest nesting of parentheses, signs and powers.
const DEEPEST: u32 = 128;
/// How strongly a sign holds what is behind it: more than `*`, less than a power, so that -2^2 is -4.
const SIGN: u8 = 30;

/// The value of an expression, or a sentence with the place of what is wrong.
pub(super) fn evaluate(text: &str) -> Result<Value, String> {
    if text.len() > LONGEST {
        return Err(format!("the expression has {} bytes; at most {LONGEST} are read", text.len()));
    }
    let mut parser = Parser { text, at: 0, depth: 0 };
    let value = parser.expression(0)?;
    match parser.peek() {
        None => Ok(value),
        Some(')') => Err(parser.wrong("there is no ( for this )")),
        Some(',') => Err(parser.wrong("a comma stands between the values of a function; write 1000, not 1,000")),
        Some(other) => Err(parser.wrong(&format!("an operator is missing before {other:?}"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    FloorOver,
    LeftOver,
    Power,
}

impl Operator {
    const ALL: [(&'static str, Operator); 12] = [
        ("**", Operator::Power),
        ("//", Operator::FloorOver),
        ("^", Operator::Power),
        ("+", Operator::Plus),
        ("-", Operator::Minus),
        ("\u{2212}", Operator::Minus),
        ("*", Operator::Times),
        ("\u{d7}", Operator::Times),
        ("\u{b7}", Operator::Times),
        ("/", Operator::Over),
        ("\u{f7}", Operator::Over),
        ("%", Operator::LeftOver),
    ];

    /// How strongly it holds what is before it and what is behind it; a power holds the right first.
    fn powers(self) -> (u8, u8) {
        match self {
            Operator::Plus | Operator::Minus => (10, 11),
            Operator::Times | Operator::Over | Operator::FloorOver | Operator::LeftOver => (20, 21),
            Operator::Power => (41, 40),
        }
    }
}

impl Parser<'_> {
    fn expression(&mut self, least: u8) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(&format!("it is nested deeper than {DEEPEST} levels")));
        }
        let mut value = self.operand()?;
        while let Some((sign, operator)) = self.operator() {
            let (left, right) = operator.powers();
            if left < least {
                break;
            }
            let at = self.at;
            self.at += sign.len();
            let other = self.expression(right)?;
            value = self.calculated(value, operator, other, at)?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn calculated(&self, value: Value, operator: Operator, other: Value, at: usize) -> Result<Value, String> {
        let divides = matches!(operator, Operator::Over | Operator::FloorOver | Operator::LeftOver);
        if divides && other.is_zero() {
            return Err(self.wrong_at(at, "division by zero"));
        }
        if operator == Operator::Power && value.is_zero() && other.number.float() < 0.0 {
            return Err(self.wrong_at(at, "zero has no negative power"));
        }
        let result = match operator {
            Operator::Plus => value.plus(other),
            Operator::Minus => value.minus(other),
            Operator::Times => value.times(other),
            Operator::Over => value.over(other),
            Operator::FloorOver => value.floor_over(other),
            Operator::LeftOver => value.left_over(other),
            Operator::Power => value.power(other),
        };
        self.finite(result, at)
    }

    fn finite(&self, value: Value, at: usize) -> Result<Value, String> {
        match value.number.float() {
            float if float.is_nan() => Err(self.wrong_at(at, "the result is no real number")),
            float if float.is_infinite() => Err(self.wrong_at(at, "the result is too large, over 1.7e308")),
            _ => Ok(value),
        }
    }

    fn operand(&mut self) -> Result<Value, String> {
        let operator = self.operator();
        let Some(next) = self.peek() else { return Err(self.wrong("a value is missing")) };
        match (next, operator) {
            (_, Some((sign, Operator::Minus))) => {
                self.at += sign.len();
                Ok(self.expression(SIGN)?.negated())
            }
            (_, Some((sign, Operator::Plus))) => {
                self.at += sign.len();
                self.expression(SIGN)
            }
            ('(', _) => {
                self.at += 1;
                let value = self.expression(0)?;
                self.closed()?;
                Ok(value)
            }
            ('0'..='9' | '.', _) => self.number(),
            (letter, _) if letter.is_alphabetic() => self.named(),
            (other, _) => Err(self.wrong(&format!("a value is missing before {other:?}"))),
        }
    }

    fn closed(&mut self) -> Result<(), String> {
        match self.peek() {
            Some(')') => {
                self.at += 1;
                Ok(())
            }
            Some(other) => Err(self.wrong(&format!("an operator or ) is missing before {other:?}"))),
            None => Err(self.wrong("a ) is missing")),
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let begin = self.at;
        let digits = |text: &str| text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'_').count();
        self.at += digits(&self.text[self.at..]);
        if self.text[self.at..].starts_with('.') {
            self.at += 1;
            self.at += digits(&self.text[self.at..]);
        }
        // `2e` is no number; `2e3` and `2e-3` are.
        let rest = &self.text[self.at..];
        if let Some(power) = rest.strip_prefix(['e', 'E']) {
            let sign = usize::from(power.starts_with(['+', '-']));
            if power[sign..].starts_with(|c: char| c.is_ascii_digit()) {
                self.at += 1 + sign + digits(&power[sign..]);
            }
        }
        let written: String = self.text[begin..self.at].chars().filter(|c| *c != '_').collect();
        if written.bytes().all(|byte| byte.is_ascii_digit()) {
            if let Ok(whole) = written.parse() {
                return Ok(Value::of(Whole(whole)));
            }
            return self.real(&written, begin).map(|value| Value { exact: false, ..value });
        }
        self.real(&written, begin)
    }

    fn real(&self, written: &str, begin: usize) -> Result<Value, String> {
        let real = written.parse().map_err(|_| self.wrong_at(begin, &format!("{written:?} is no number")))?;
        self.finite(Value::of(Real(real)), begin)
    }

    /// A constant, or a function with its values.
    fn named(&mut self) -> Result<Value, String> {
        let begin = self.at;
        let rest = &self.text[begin..];
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest[..length].to_lowercase();
        self.at += length;
        if self.peek() != Some('(') {
            return function::constant(&name).ok_or_else(|| self.unknown(begin, &name));
        }
        self.at += 1;
        let mut args = Vec::new();
        while self.peek() != Some(')') {
            if !args.is_empty() {
                match self.peek() {
                    Some(',') => self.at += 1,
                    _ => self.closed()?,
                }
            }
            args.push(self.expression(0)?);
        }
        self.closed()?;
        let value = function::apply(&name, &args).ok_or_else(|| self.unknown(begin, &name))?;
        self.finite(value.map_err(|why| self.wrong_at(begin, &why))?, begin)
    }

    fn unknown(&self, at: usize, name: &str) -> String {
        let name: String = name.chars().take(40).collect();
        self.wrong_at(at, &format!("{name} is unknown; there are {}", function::NAMES))
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn operator(&mut self) -> Option<(&'static str, Operator)> {
        self.peek()?;
        Operator::ALL.into_iter().find(|(sign, _)| self.text[self.at..].starts_with(sign))
    }

    fn wrong(&self, what: &str) -> String {
        self.wrong_at(self.at, what)
    }

    fn wrong_at(&self, at: usize, what: &str) -> String {
        let place = self.text[..at].chars().count() + 1;
        if at < self.text.len() { format!("{what}, at character {place}") } else { format!("{what}, at the end") }
    }
}
