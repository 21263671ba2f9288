//! The functions and constants of the calculator.

use super::number::Number::{self, Real, Whole};
use super::number::Value;

/// The largest number whose factorial is no infinity.
const FACTORIAL: i128 = 170;

/// Everything that has a name, for whoever names something else.
pub(super) const NAMES: &str = "pi, e, tau, sqrt, abs, round, floor, ceil, min, max, sin, cos, tan, asin, acos, atan, ln, \
                                log, log2, log10, exp, pow, factorial";

pub(super) fn constant(name: &str) -> Option<Value> {
    let number = match name {
        "pi" => std::f64::consts::PI,
        "e" => std::f64::consts::E,
        "tau" => std::f64::consts::TAU,
        _ => return None,
    };
    Some(Value::of(Real(number)))
}

/// The value of a function; why there is none; or `None` when there is no such function.
pub(super) fn apply(name: &str, args: &[Value]) -> Option<Result<Value, String>> {
    let (least, most) = match name {
        "sqrt" | "abs" | "floor" | "ceil" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "ln" | "log2"
        | "log10" | "exp" | "factorial" => (1, 1),
        "round" | "log" => (1, 2),
        "pow" => (2, 2),
        "min" | "max" => (1, usize::MAX),
        _ => return None,
    };
    let (Some(first), true) = (args.first(), (least..=most).contains(&args.len())) else {
        let wanted = match (least, most) {
            (1, 1) => "one value".to_owned(),
            (_, usize::MAX) => "at least one value".to_owned(),
            (least, most) if least == most => format!("{least} values"),
            _ => format!("{least} or {most} values"),
        };
        return Some(Err(format!("{name} takes {wanted}, not {}", args.len())));
    };
    Some(value(name, *first, args))
}

fn value(name: &str, first: Value, args: &[Value]) -> Result<Value, String> {
    let real = |function: fn(f64) -> f64| Ok(Value { number: Real(function(first.number.float())), ..first });
    let whole = |function: fn(f64) -> f64| Ok(Value { number: rounded(first.number, function), ..first });
    match name {
        "sqrt" => Ok(Value { number: root(first.number), ..first }),
        "abs" if first.number.float() < 0.0 => Ok(first.negated()),
        "abs" => Ok(first),
        "floor" => whole(f64::floor),
        "ceil" => whole(f64::ceil),
        "round" => match args.get(1) {
            None => whole(f64::round),
            Some(digits) => to_digits(first, digits.number),
        },
        "sin" => real(f64::sin),
        "cos" => real(f64::cos),
        "tan" => real(f64::tan),
        "asin" => real(f64::asin),
        "acos" => real(f64::acos),
        "atan" => real(f64::atan),
        "exp" => real(f64::exp),
        "log2" => positive(name, first).and_then(|()| real(f64::log2)),
        "log10" => positive(name, first).and_then(|()| real(f64::log10)),
        "ln" | "log" => {
            positive(name, first)?;
            let Some(base) = args.get(1) else { return real(f64::ln) };
            positive("a base", *base)?;
            let number = Real(first.number.float().log(base.number.float()));
            Ok(Value { number, exact: first.exact && base.exact })
        }
        "pow" => Ok(args.get(1).map_or(first, |power| first.power(*power))),
        "factorial" => factorial(first),
        _ => Ok(args.iter().copied().fold(first, |best, next| {
            let less = next.number.float() < best.number.float();
            if less == (name == "min") { next } else { best }
        })),
    }
}

fn positive(name: &str, value: Value) -> Result<(), String> {
    if value.number.float() > 0.0 { Ok(()) } else { Err(format!("{name} of {} is no real number", value.number)) }
}

/// Exact for the square of a whole number.
fn root(number: Number) -> Number {
    let Whole(whole) = number else { return Real(number.float().sqrt()) };
    let root = (whole as f64).sqrt() as i128;
    let near = (-1..=1).map(|off| root + off);
    near.into_iter()
        .find(|root| root.checked_mul(*root) == Some(whole) && *root >= 0)
        .map_or(Real(number.float().sqrt()), Whole)
}

fn rounded(number: Number, function: fn(f64) -> f64) -> Number {
    match number {
        Whole(_) => number,
        Real(real) => {
            let real = function(real);
            if real.abs() < 1e18 { Whole(real as i128) } else { Real(real) }
        }
    }
}

fn to_digits(value: Value, digits: Number) -> Result<Value, String> {
    let Whole(digits @ -15..=15) = digits else {
        return Err(format!("round takes a whole number of digits from -15 to 15, not {digits}"));
    };
    let scale = 10_f64.powi(i32::try_from(digits).unwrap_or_default());
    let real = (value.number.float() * scale).round() / scale;
    let number = if digits > 0 { Real(real) } else { rounded(Real(real), f64::round) };
    Ok(Value { number, ..value })
}

fn factorial(value: Value) -> Result<Value, String> {
    let Whole(number @ 0..=FACTORIAL) = value.number else {
        return Err(format!("factorial takes a whole number from 0 to {FACTORIAL}, not {}", value.number));
    };
    let product = (2..=number).fold(Value::of(Whole(1)), |product, next| product.times(Value::of(Whole(next))));
    Ok(Value { exact: product.exact && value.exact, ..product })
}
