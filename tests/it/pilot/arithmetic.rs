//! The calculator.

use super::says;

#[tokio::test]
async fn sums_are_right() {
    let table = [
        ("2+2", "2+2 = 4"),
        ("2 * (3 + 4)", "2 * (3 + 4) = 14"),
        ("-2^2", "-2^2 = -4"),
        ("(-2)^2", "(-2)^2 = 4"),
        ("2^3^2", "2^3^2 = 512"),
        ("2^-1", "2^-1 = 0.5"),
        ("7 % 4 * 2", "7 % 4 * 2 = 6"),
        ("8 - 3 - 2", "8 - 3 - 2 = 3"),
        ("10/4", "10/4 = 2.5"),
        ("1/3", "1/3 = 0.333333333333"),
        ("0.1 + 0.2", "0.1 + 0.2 = 0.3"),
        ("6 × 7 ÷ 2", "6 × 7 ÷ 2 = 21"),
        ("2^100", "2^100 = 1267650600228229401496703205376"),
        ("9007199254740993 + 2", "9007199254740993 + 2 = 9007199254740995"),
        ("2^1000", "2^1000 = 1.07150860719e301"),
        ("--3 + +2", "--3 + +2 = 5"),
        ("what is 12*12?", "12*12 = 144"),
        ("= 5", "5 = 5"),
        ("calc 1_000 * 3", "1_000 * 3 = 3000"),
    ];
    for (line, answer) in table {
        assert_eq!(says(line).await, answer);
    }
}

#[tokio::test]
async fn what_has_no_value_says_why() {
    let deep = format!("{}1+1{}", "(".repeat(100), ")".repeat(100));
    let powers = format!("2{}", "^1".repeat(100));
    let long = "1+".repeat(600) + "1";
    let table = [
        ("1/0", "`1/0` has no value: it divides by zero."),
        ("5 % (2-2)", "`5 % (2-2)` has no value: it divides by zero."),
        ("0^-1", "`0^-1` has no value: it divides by zero."),
        ("(-8)^0.5", "`(-8)^0.5` has no value: the result is no real number."),
        ("10^400", "`10^400` has no value: the result is too large."),
        ("(1+2", "`(1+2` has no value: it ends too early."),
        ("1+", "`1+` has no value: it ends too early."),
        ("1+2)", "`1+2)` has no value: `)` does not belong there."),
        ("1.2.3+1", "`1.2.3+1` has no value: `1.2.3` does not belong there."),
        ("calc two plus two", "`two plus two` has no value: `t` does not belong there."),
    ];
    for (line, answer) in table {
        assert_eq!(says(line).await, answer);
    }
    assert!(says(&deep).await.ends_with("it nests deeper than 64 levels."));
    assert!(says(&powers).await.ends_with("it nests deeper than 64 levels."));
    assert!(says(&long).await.ends_with("it has over 1000 characters."));
}
