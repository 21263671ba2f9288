//! Numbers of the calculator and the operators on them: whole ones are exact as long as they fit into 128 bits, all
//! others are 64-bit floating point.

use std::fmt;

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Real(f64),
}

/// A number, and whether a whole number on the way to it was too large to be kept exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Value {
    pub(super) number: Number,
    pub(super) exact: bool,
}

use Number::{Real, Whole};

impl Number {
    pub(super) fn float(self) -> f64 {
        match self {
            Whole(whole) => whole as f64,
            Real(real) => real,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole(whole) => whole.fmt(f),
            Real(real) if *real != 0.0 && !(1e-5..1e16).contains(&real.abs()) => write!(f, "{real:e}"),
            Real(real) => real.fmt(f),
        }
    }
}

impl Value {
    pub(super) fn of(number: Number) -> Value {
        Value { number, exact: true }
    }

    /// The result of an operation on whole numbers if there is an exact one, else that of the same on floating point.
    fn either(self, other: Value, whole: Option<i128>, real: impl Fn(f64, f64) -> f64) -> Value {
        let both_whole = matches!((self.number, other.number), (Whole(_), Whole(_)));
        let exact = self.exact && other.exact;
        match whole {
            Some(whole) => Value { number: Whole(whole), exact },
            None => {
                Value { number: Real(real(self.number.float(), other.number.float())), exact: exact && !both_whole }
            }
        }
    }

    fn wholes(self, other: Value, on: impl Fn(i128, i128) -> Option<i128>) -> Option<i128> {
        match (self.number, other.number) {
            (Whole(a), Whole(b)) => on(a, b),
            _ => None,
        }
    }

    pub(super) fn plus(self, other: Value) -> Value {
        self.either(other, self.wholes(other, i128::checked_add), |a, b| a + b)
    }

    pub(super) fn minus(self, other: Value) -> Value {
        self.either(other, self.wholes(other, i128::checked_sub), |a, b| a - b)
    }

    pub(super) fn times(self, other: Value) -> Value {
        self.either(other, self.wholes(other, i128::checked_mul), |a, b| a * b)
    }

    pub(super) fn negated(self) -> Value {
        Value::of(Whole(0)).minus(self)
    }

    pub(super) fn is_zero(self) -> bool {
        self.number.float() == 0.0
    }

    /// A quotient of whole numbers is whole if nothing is left over. The divisor is not zero.
    pub(super) fn over(self, other: Value) -> Value {
        let even = self.wholes(other, |a, b| (a.checked_rem(b) == Some(0)).then(|| a.checked_div(b)).flatten());
        let quotient = self.either(other, even, |a, b| a / b);
        Value { exact: self.exact && other.exact, ..quotient }
    }

    /// Rounded down. The divisor is not zero.
    pub(super) fn floor_over(self, other: Value) -> Value {
        let down = |a: i128, b: i128| {
            let quotient = a.checked_div(b)?;
            let uneven = a.checked_rem(b)? != 0 && (a < 0) != (b < 0);
            Some(if uneven { quotient - 1 } else { quotient })
        };
        self.either(other, self.wholes(other, down), |a, b| (a / b).floor())
    }

    /// What is left by [`Value::floor_over`]: it has the sign of the divisor, which is not zero.
    pub(super) fn left_over(self, other: Value) -> Value {
        let left = |a: i128, b: i128| {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        };
        self.either(other, self.wholes(other, left), |a, b| a - b * (a / b).floor())
    }

    pub(super) fn power(self, other: Value) -> Value {
        let raised = |a: i128, b: i128| match u32::try_from(b) {
            Ok(times) => a.checked_pow(times),
            Err(_) if b > 0 && (a == 0 || a == 1) => Some(a),
            Err(_) => None,
        };
        let power = self.either(other, self.wholes(other, raised), f64::powf);
        // A negative power of a whole number is a fraction, not one that was too large.
        let is_fraction = matches!(other.number, Whole(times) if times < 0);
        if is_fraction { Value { exact: self.exact && other.exact, ..power } } else { power }
    }
}
