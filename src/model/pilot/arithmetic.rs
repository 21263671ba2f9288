//! A calculator: `+ - * / % ^`, parentheses, unary signs. Whole numbers stay exact while they fit 128 bits.
//! A Pratt parser; it knows no variables, no functions and no conversation.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// Most characters of an expression.
const MAX_LENGTH: usize = 1_000;

/// Deepest nesting of parentheses, signs and powers.
const MAX_DEPTH: u32 = 64;

/// Why an expression has no value, as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoValue {
    TooLong,
    TooDeep,
    TooLarge,
    DividesByZero,
    NotReal,
    Unfinished,
    Unexpected(String),
}

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoValue::TooLong => write!(f, "it has over {MAX_LENGTH} characters"),
            NoValue::TooDeep => write!(f, "it nests deeper than {MAX_DEPTH} levels"),
            NoValue::TooLarge => f.write_str("the result is too large"),
            NoValue::DividesByZero => f.write_str("it divides by zero"),
            NoValue::NotReal => f.write_str("the result is no real number"),
            NoValue::Unfinished => f.write_str("it ends too early"),
            NoValue::Unexpected(what) => write!(f, "`{what}` does not belong there"),
        }
    }
}

/// The text is an expression with something to calculate: only figures, signs and parentheses.
pub(super) fn is_expression(text: &str) -> bool {
    let body = text.trim().trim_start_matches(['-', '+']);
    text.chars().all(|c| c.is_ascii_digit() || " \t.()".contains(c) || is_operator(c))
        && body.contains(|c: char| c.is_ascii_digit())
        && body.contains(is_operator)
}

/// The value of an expression, as people write numbers.
pub(super) fn evaluate(text: &str) -> Result<String, NoValue> {
    if text.chars().nth(MAX_LENGTH).is_some() {
        return Err(NoValue::TooLong);
    }
    let mut parser = Parser { rest: text.chars().peekable() };
    let value = parser.expression(0, 0)?;
    match parser.peek() {
        None => Ok(value.to_string()),
        Some(c) => Err(NoValue::Unexpected(c.to_string())),
    }
}

fn is_operator(c: char) -> bool {
    "+-*/%^×÷−".contains(c)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Value {
    Whole(i128),
    Real(f64),
}

#[derive(Clone, Copy)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
    Power,
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Operator {
    fn of(c: char) -> Option<Operator> {
        Some(match c {
            '+' => Operator::Plus,
            '-' | '−' => Operator::Minus,
            '*' | '×' => Operator::Times,
            '/' | '÷' => Operator::Over,
            '%' => Operator::Modulo,
            '^' => Operator::Power,
            _ => return None,
        })
    }

    /// How strongly it binds to its left and to its right; a power groups from the right.
    fn binding(self) -> (u8, u8) {
        match self {
            Operator::Plus | Operator::Minus => (1, 2),
            Operator::Times | Operator::Over | Operator::Modulo => (3, 4),
            Operator::Power => (8, 7),
        }
    }
}

/// A sign binds stronger than a product and weaker than a power: `-2^2` is -4.
const SIGN: u8 = 5;

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }

    fn expression(&mut self, least: u8, depth: u32) -> Result<Value, NoValue> {
        if depth > MAX_DEPTH {
            return Err(NoValue::TooDeep);
        }
        let mut left = self.operand(depth)?;
        while let Some(operator) = self.peek().and_then(Operator::of) {
            let (binds_left, binds_right) = operator.binding();
            if binds_left < least {
                break;
            }
            self.rest.next();
            let right = self.expression(binds_right, depth + 1)?;
            left = apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn operand(&mut self, depth: u32) -> Result<Value, NoValue> {
        match self.peek().ok_or(NoValue::Unfinished)? {
            '(' => {
                self.rest.next();
                let inside = self.expression(0, depth + 1)?;
                match self.peek() {
                    Some(')') => self.rest.next(),
                    Some(c) => return Err(NoValue::Unexpected(c.to_string())),
                    None => return Err(NoValue::Unfinished),
                };
                Ok(inside)
            }
            '-' | '−' => {
                self.rest.next();
                self.expression(SIGN, depth + 1)?.negated()
            }
            '+' => {
                self.rest.next();
                self.expression(SIGN, depth + 1)
            }
            c if c.is_ascii_digit() || c == '.' => self.number(),
            c => Err(NoValue::Unexpected(c.to_string())),
        }
    }

    fn number(&mut self) -> Result<Value, NoValue> {
        let mut digits = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_digit() || *c == '.' || *c == '_') {
            digits.push(c);
        }
        let plain = digits.replace('_', "");
        let whole = plain.parse().ok().map(Value::Whole);
        let real = || plain.parse().ok().map(Value::Real);
        whole.or_else(real).ok_or(NoValue::Unexpected(digits))
    }
}

impl Value {
    fn real(self) -> f64 {
        match self {
            // Beyond 2^53 the nearest representable number; the exact path was tried first.
            Value::Whole(whole) => whole as f64,
            Value::Real(real) => real,
        }
    }

    fn negated(self) -> Result<Value, NoValue> {
        match self {
            Value::Whole(whole) => whole.checked_neg().map(Value::Whole).ok_or(NoValue::TooLarge),
            Value::Real(real) => Ok(Value::Real(-real)),
        }
    }
}

fn apply(operator: Operator, left: Value, right: Value) -> Result<Value, NoValue> {
    if right.real() == 0.0 && matches!(operator, Operator::Over | Operator::Modulo) {
        return Err(NoValue::DividesByZero);
    }
    if let (Value::Whole(left), Value::Whole(right)) = (left, right)
        && let Some(exact) = exactly(operator, left, right)
    {
        return Ok(Value::Whole(exact));
    }
    let (left, right) = (left.real(), right.real());
    if left == 0.0 && right < 0.0 && matches!(operator, Operator::Power) {
        return Err(NoValue::DividesByZero);
    }
    let real = match operator {
        Operator::Plus => left + right,
        Operator::Minus => left - right,
        Operator::Times => left * right,
        Operator::Over => left / right,
        Operator::Modulo => left % right,
        Operator::Power => left.powf(right),
    };
    match real {
        real if real.is_nan() => Err(NoValue::NotReal),
        real if real.is_infinite() => Err(NoValue::TooLarge),
        real => Ok(Value::Real(real)),
    }
}

/// The whole result, when there is one and it fits.
fn exactly(operator: Operator, left: i128, right: i128) -> Option<i128> {
    match operator {
        Operator::Plus => left.checked_add(right),
        Operator::Minus => left.checked_sub(right),
        Operator::Times => left.checked_mul(right),
        Operator::Over => (left.checked_rem(right)? == 0).then(|| left.checked_div(right))?,
        Operator::Modulo => left.checked_rem(right),
        Operator::Power => left.checked_pow(u32::try_from(right).ok()?),
    }
}

impl fmt::Display for Value {
    /// Whole numbers exactly; others with 12 significant digits, so that 0.1 + 0.2 reads 0.3.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(whole) => write!(f, "{whole}"),
            Value::Real(real) => {
                let rounded: f64 = format!("{real:.11e}").parse().unwrap_or(*real);
                if rounded != 0.0 && !(1e-6..1e15).contains(&rounded.abs()) {
                    return write!(f, "{rounded:e}");
                }
                write!(f, "{}", if rounded == 0.0 { 0.0 } else { rounded })
            }
        }
    }
}
