//! Arithmetic: values, places of errors, and what must not end the program.

use serde_json::json;

use super::Bench;

async fn check(table: &[(&str, &str)]) {
    let bench = Bench::new();
    for (expression, expected) in table {
        let value = bench.call("calculator", json!({ "expression": expression })).await;
        let value = value.map_or_else(|error| error.to_string(), |output| output.text);
        assert_eq!((*expression, value.as_str()), (*expression, *expected));
    }
}

#[tokio::test]
async fn s4_21_expressions_have_values() {
    let table = [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-2^2", "-4"),
        ("2 ** 3 ** 2", "512"),
        ("2 ** -1", "0.5"),
        ("-2 ** -2", "-0.25"),
        ("10 - 4 - 3", "3"),
        ("7 / 2", "3.5"),
        ("6 / 3", "2"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("--3 - -+2", "5"),
        ("1_000 * 1.5e3", "1500000"),
        (".5 + 1.", "1.5"),
        ("6 × 7 − 2 ÷ 1", "40"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("sqrt(16) + abs(-2)", "6"),
        ("sqrt(2)", "1.4142135623730951"),
        ("round(2.5) + floor(-1.5) + ceil(1.2)", "3"),
        ("round(3.14159, 2)", "3.14"),
        ("min(3, 1, 2) + MAX(4, 5)", "6"),
        ("sin(pi / 2) + cos(0) + log10(1000) + log2(8) + ln(e)", "9"),
        ("log(8, 2)", "3"),
        ("pow(2, 10) + factorial(5)", "1144"),
        ("2e3 + tau - 2 * pi", "2000"),
        ("factorial(33)", "8683317618811886495518194401280000000"),
        ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
    ];
    check(&table).await;
}

#[tokio::test]
async fn what_is_not_exact_any_more_says_so() {
    let bench = Bench::new();
    let large = bench.call("calculator", json!({ "expression": "2 ** 200" })).await.unwrap();
    assert_eq!(large.text, "1.6069380442589903e60 (rounded: beyond 38 digits)");
    assert_eq!(large.details, json!({ "value": "1.6069380442589903e60", "exact": false }));
    let small = bench.call("calculator", json!({ "expression": "1 / 3" })).await.unwrap();
    assert_eq!(small.details["exact"], true);
}

#[tokio::test]
async fn errors_name_the_place() {
    let unknown = "pi, e, tau, sqrt, abs, round, floor, ceil, min, max, sin, cos, tan, asin, acos, atan, ln, log, log2, \
                   log10, exp, pow, factorial";
    let table = [
        ("", "a value is missing, at the end"),
        ("1 +", "a value is missing, at the end"),
        ("1 / (2 - 2)", "division by zero, at character 3"),
        ("5 % 0", "division by zero, at character 3"),
        ("0 ** -1", "zero has no negative power, at character 3"),
        ("2 (3)", "an operator is missing before '(', at character 3"),
        ("(1 + 2", "a ) is missing, at the end"),
        ("1 + 2)", "there is no ( for this ), at character 6"),
        ("1,000", "a comma stands between the values of a function; write 1000, not 1,000, at character 2"),
        ("2e", "an operator is missing before 'e', at character 2"),
        (".", "\".\" is no number, at character 1"),
        ("1 + x", &format!("x is unknown; there are {unknown}, at character 5")),
        ("__import__('os')", "a value is missing before '_', at character 1"),
        ("sqrt(-1)", "the result is no real number, at character 1"),
        ("(-8) ^ (1/3)", "the result is no real number, at character 6"),
        ("ln(0)", "ln of 0 is no real number, at character 1"),
        ("exp(1000)", "the result is too large, over 1.7e308, at character 1"),
        ("10 ** 400", "the result is too large, over 1.7e308, at character 4"),
        ("factorial(171)", "factorial takes a whole number from 0 to 170, not 171, at character 1"),
        ("max()", "max takes at least one value, not 0, at character 1"),
        ("max(1,)", "a value is missing before ')', at character 7"),
        ("sqrt(1, 2)", "sqrt takes one value, not 2, at character 1"),
        ("1 \0", "an operator is missing before '\\0', at character 3"),
    ];
    check(&table).await;
}

#[tokio::test]
async fn ten_thousand_parentheses_are_an_error() {
    let bench = Bench::new();
    let error = |expression: String| {
        let bench = &bench;
        async move { bench.error("calculator", json!({ "expression": expression })).await }
    };
    let deep = format!("{}1{}", "(".repeat(7_000), ")".repeat(7_000));
    assert_eq!(error(deep).await, "it is nested deeper than 128 levels, at character 129");
    assert_eq!(error("-".repeat(10_000)).await, "it is nested deeper than 128 levels, at character 129");
    assert_eq!(error("2**".repeat(5_000)).await, "it is nested deeper than 128 levels, at character 385");
    let long = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(error(long).await, "the expression has 20001 bytes; at most 16384 are read");
    let wide = bench.text("calculator", json!({ "expression": format!("1{}", "+1".repeat(8_000)) })).await;
    assert_eq!(wide, "8001");
}
