//! The calculator from outside: an expression goes in, a text comes out.

use std::time::Instant;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::testing::{call, context};

/// What the model reads; errors included.
fn text(expression: &str) -> String {
    match calculate(expression) {
        Ok(output) => output.text,
        Err(message) => format!("error {message}"),
    }
}

fn check_all(table: &[(&str, &str)]) {
    for (expression, expected) in table {
        assert_eq!(text(expression), *expected, "{expression}");
    }
}

fn check(expression: &str, expected: Expect) {
    expected.assert_eq(&text(expression));
}

#[tokio::test]
async fn a_person_is_told_what_cannot_be_calculated_and_of_a_division_by_zero() {
    for (expression, expected) in [
        ("1/0", Notice::divided_by_zero("1/0")),
        ("5 % (2 - 2)", Notice::divided_by_zero("5 % (2 - 2)")),
        ("1 +", Notice::not_calculable("1 +")),
    ] {
        let arguments = json!({"expression": expression});
        let error = call(&*tool().0, arguments, &context("mei")).await.unwrap_err();
        assert_eq!(error.split_notice().1, expected, "{expression}");
    }
}

#[test]
fn decimals_are_exact() {
    check_all(&[
        ("0.1 + 0.2", "0.3"),
        ("1.1 * 1.1", "1.21"),
        ("4.35 * 100", "435"),
        ("1 - 0.9", "0.1"),
        ("0.1 ^ 3", "0.001"),
        ("3/8", "0.375"),
        ("-7/4", "-1.75"),
        ("1/3 + 1/6", "0.5"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("2.5e+2", "250"),
        (".5 + 5.", "5.5"),
        ("1e-7", "0.0000001"),
        ("1/1024", "0.0009765625"),
    ]);
}

#[test]
fn operators_bind_as_in_school() {
    check_all(&[
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("2 - 3 - 4", "-5"),
        ("64 / 8 / 2", "4"),
        ("2 ^ 3 ^ 2", "512"),
        ("2 ** 10", "1024"),
        ("-2 ^ 2", "-4"),
        ("(-2) ^ 2", "4"),
        ("2 ^ -2", "0.25"),
        ("2 * -3", "-6"),
        ("--3", "3"),
        ("5 - -3", "8"),
        ("+4", "4"),
        ("3! ^ 2", "36"),
        ("2 ^ 3!", "64"),
        ("-5!", "-120"),
        ("2(3 + 4)", "14"),
        ("(1 + 2)(3 + 4)", "21"),
        ("1/2(10)", "5"),
        ("6/2(1+2)", "9"),
        ("0 ^ 0", "1"),
    ]);
}

#[test]
fn remainders_have_the_sign_of_the_divisor() {
    check_all(&[
        ("17 % 5", "2"),
        ("-17 % 5", "3"),
        ("mod(17, -5)", "-3"),
        ("10 mod 4", "2"),
        ("5.5 % 2", "1.5"),
        ("10 % (3 + 1)", "2"),
        ("2 + 17 % 5", "4"),
    ]);
}

#[test]
fn a_percentage_is_a_hundredth_and_after_plus_or_minus_a_part_of_what_stands_before() {
    check_all(&[
        ("15%", "0.15"),
        ("12.5% of 3,480", "435"),
        ("200 + 10%", "220"),
        ("200 - 10%", "180"),
        ("200 + -10%", "180"),
        ("200 * 10%", "20"),
        ("200 / 10%", "2000"),
        ("100 + 10% + 5%", "115.5"),
        ("100 + 10% of 50", "105"),
        ("100 + 10% * 50", "105"),
        ("100 + (10%)", "100.1"),
        ("10% + 5%", "0.15"),
        ("10% + 5% + 3%", "0.18"),
        ("50% of 20% of 80", "8"),
        ("(1 + 5%) ^ 2", "1.1025"),
        ("10% - 3", "-2.9"),
        ("1/2 of 10", "5"),
    ]);
}

#[test]
fn thousands_are_grouped_by_commas_spaces_or_underscores() {
    check_all(&[
        ("3,480", "3480"),
        ("3 480 + 1", "3481"),
        ("1,234,567.89", "1234567.89"),
        ("1 234 567.5", "1234567.5"),
        ("1\u{202f}000 * 2", "2000"),
        ("1_000_000", "1000000"),
        ("(1,000 + 2,000) * 3", "9000"),
        ("2 * (1,200)", "2400"),
    ]);
}

#[test]
fn a_comma_in_a_function_separates_arguments() {
    check_all(&[
        ("max(1,2)", "2"),
        ("max(1, 2, 3)", "3"),
        ("max(1 200, 3)", "1200"),
        ("sum(1,200; 3)", "1203"),
        ("max((1,200), 3)", "1200"),
        ("min(3, max(1,2)) * 1,000", "2000"),
        ("sum(1,234)", "235\nnote: the commas inside the function were read as separating its arguments"),
    ]);
}

#[test]
fn chinese_writing_is_read() {
    check_all(&[
        ("１２＋３４", "46"),
        ("（１＋２）×３", "9"),
        ("１０÷４", "2.5"),
        ("３．５－１", "2.5"),
        ("3。5 × 2", "7"),
        ("３，４８０ × １２．５％", "435"),
        ("3480的12.5%", "435"),
        ("200＋10％", "220"),
        ("max（１，２）", "2"),
        ("sum（1、2、3）", "6"),
        ("3.5万 + 2亿", "200035000"),
        ("1万亿 / 1亿", "10000"),
        ("5！", "120"),
        ("2 × 3 =", "6"),
        ("1+1等于", "error at position 4 of the expression: `等` has no meaning here"),
    ]);
}

#[test]
fn signs_from_paper_are_read() {
    check_all(&[
        ("3 × 4 ÷ 6 − 1", "1"),
        ("3 · 4", "12"),
        ("3 x 4", "12"),
        ("3x4", "12"),
        ("√16 + √(9)", "7"),
        ("2√9", "6"),
        ("5² + 2¹⁰", "1049"),
        ("-3²", "-9"),
        ("1 + 1 = ?", "2"),
    ]);
}

#[test]
fn functions_are_exact_where_they_can_be() {
    check_all(&[
        ("sqrt(144)", "12"),
        ("sqrt(2.25)", "1.5"),
        ("sqrt(1/9)", "≈ 0.33333333333333333333\nexactly 1/3"),
        ("cbrt(-27)", "-3"),
        ("root(0.00032, 5)", "0.2"),
        ("root(8, -3)", "0.5"),
        ("8 ^ (2/3)", "4"),
        ("(-8) ^ (1/3)", "-2"),
        ("4 ^ 1.5", "8"),
        ("0.25 ^ -0.5", "2"),
        ("pow(2, 10)", "1024"),
        ("abs(-3.5)", "3.5"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(3.14159, 2)", "3.14"),
        ("round(1234.5, -2)", "1200"),
        ("round(2.675, 2)", "2.68"),
        ("floor(-1.5)", "-2"),
        ("ceil(1.2)", "2"),
        ("ceil(-1.2)", "-1"),
        ("trunc(-1.9)", "-1"),
        ("min(3, -1, 2)", "-1"),
        ("avg(1, 2, 3, 4)", "2.5"),
        ("mean(2, 4)", "3"),
        ("gcd(84, 36, 60)", "12"),
        ("gcd(0, 0)", "0"),
        ("lcm(4, 6, 10)", "60"),
        ("lcm(4, 0)", "0"),
        ("factorial(5)", "120"),
        ("0!", "1"),
        ("20!", "2432902008176640000"),
        ("log(1000)", "3"),
        ("log10(0.001)", "-3"),
        ("log2(1/8)", "-3"),
        ("log(81, 3)", "4"),
        ("ln(1)", "0"),
        ("exp(0)", "1"),
        ("sin(0) + cos(0) + acos(1)", "1"),
        ("SQRT(4)", "2"),
        ("2 ^ 200", "1606938044258990275541962092341162602522202993782792835301376"),
    ]);
}

#[test]
fn what_is_not_exact_says_so() {
    check_all(&[
        ("1/3", "≈ 0.33333333333333333333\nexactly 1/3"),
        ("-2/3", "≈ -0.66666666666666666667\nexactly -2/3"),
        ("100/7", "≈ 14.285714285714285714\nexactly 100/7"),
        ("10^30/7", "≈ 1.4285714285714285714e29\nexactly 1000000000000000000000000000000/7"),
        ("2/3/10^9", "≈ 6.6666666666666666667e-10\nexactly 1/1500000000"),
        ("pi", "≈ 3.1415926535897932385"),
        ("2π", "≈ 6.2831853071795864769"),
        ("e", "≈ 2.7182818284590452354"),
        ("sqrt(2)", "≈ 1.4142135623730950488"),
        ("2 ^ 0.3", "≈ 1.2311444133449162845"),
        ("sqrt(2) ^ sqrt(2)", "≈ 1.6325269194381528448"),
        ("sin(30°)", "≈ 0.5"),
        ("sin(rad(30))", "≈ 0.5"),
        ("deg(pi)", "≈ 180"),
        ("tan(pi/4)", "≈ 1"),
        ("4 * atan(1)", "≈ 3.1415926535897932385"),
        ("log(2)", "≈ 0.30102999566398119521"),
        ("log(8, 4)", "≈ 1.5"),
        ("exp(100)", "≈ 2.6881171418161354484e43"),
        ("1.00354167 ^ 360", "≈ 3.5706537421982026857"),
        ("e ^ 0", "1"),
        ("0 * pi", "0"),
        ("1e-400", "≈ 1e-400"),
        ("0.5 ^ 61", "≈ 4.336808689942017736e-19\nexactly 1/2305843009213693952"),
    ]);
}

#[test]
fn rounded_numbers_come_back_to_where_they_must() {
    check_all(&[
        ("sqrt(2) ^ 2", "≈ 2"),
        ("floor(sqrt(2) ^ 2)", "≈ 2"),
        ("ceil(sqrt(2) ^ 2)", "≈ 2"),
        ("round(sqrt(2) ^ 2 + 0.5)", "≈ 3"),
        ("floor(pi)", "3"),
        ("round(pi, 4)", "3.1416"),
        ("round(-pi, 4)", "-3.1416"),
        ("asin(sin(1))", "≈ 1"),
        ("asin(1) * 2", "≈ 3.1415926535897932385"),
        ("acos(-1)", "≈ 3.1415926535897932385"),
        ("asin(sin(pi/2)) * 2", "≈ 3.1415926535897932385"),
        ("exp(ln(10))", "≈ 10"),
        ("(-e) ^ 3", "≈ -20.085536923187667741"),
        ("(-e) ^ 101", "≈ -7.3070599793680672726e43"),
        ("pi ^ -2", "≈ 0.10132118364233777144"),
        ("max(pi, 3)", "≈ 3.1415926535897932385"),
        ("5 mod pi", "≈ 1.8584073464102067615"),
    ]);
}

#[test]
fn cancellation_is_not_taken_for_a_number() {
    check(
        "sqrt(2)^2 - 2",
        expect![[r#"
            ≈ 0
            note: it cannot be told from 0; its size is less than 1e-152"#]],
    );
    check(
        "sin(pi)",
        expect![[r#"
            ≈ 0
            note: it cannot be told from 0; its size is less than 1e-152"#]],
    );
    check(
        "pi - (pi - 1e-140)",
        expect![[r#"
            ≈ 1e-140
            note: only 11 digits of it are certain"#]],
    );
    check(
        "1 / (sqrt(2)^2 - 2)",
        expect!["error at position 3 of the expression: division by a number that cannot be told from zero"],
    );
}

#[test]
fn series_give_at_least_thirty_correct_digits() {
    let digits = |expression: &str| {
        let number = solve::solve(&tokens::read_tokens(expression).unwrap()).unwrap();
        render::round_digits(&number.to_interval().middle(), 40)
    };
    // Computed elsewhere, with other methods.
    for (expression, expected) in [
        ("pi", "3.141592653589793238462643383279502884197"),
        ("e", "2.718281828459045235360287471352662497757"),
        ("sqrt(2)", "1.41421356237309504880168872420969807857"),
        ("ln(2)", "0.6931471805599453094172321214581765680755"),
        ("sin(1)", "0.8414709848078965066525023216302989996226"),
        ("cos(1)", "0.5403023058681397174009366074429766037323"),
        ("tan(1)", "1.557407724654902230506974807458360173087"),
        ("sin(10^22)", "-0.8522008497671888017727058937530293682618"),
        ("atan(2)", "1.10714871779409050301706546017853704007"),
        ("atan(-0.5)", "-0.4636476090008061162142562314612144020285"),
        ("asin(0.3)", "0.3046926540153975079720029612275291669546"),
        ("asin(0.9)", "1.119769514998634186686677055845399615895"),
        ("acos(-0.9)", "2.690565841793530805917998747485151057994"),
        ("exp(10.5)", "36315.50267424663773891202690131661796893"),
        ("exp(-3.25)", "0.03877420783172200988689983526759614326014"),
        ("ln(1.0000001)", "9.999999500000033333330833333533333316667e-8"),
        ("log2(10)", "3.321928094887362347870319429489390175865"),
        ("2^0.3", "1.231144413344916284499393069167743109876"),
        ("cbrt(10)", "2.154434690031883721759293566519350495259"),
    ] {
        assert_eq!(digits(expression), expected, "{expression}");
    }
}

#[test]
fn an_error_says_where_and_what_was_expected() {
    check_all(&[
        ("", "error at position 1 of the expression: expected a number, `(` or a function, found the end"),
        ("2 +", "error at position 4 of the expression: expected a number, `(` or a function, found the end"),
        ("2 * / 3", "error at position 5 of the expression: expected a number, `(` or a function, found `/`"),
        ("2 3", "error at position 3 of the expression: expected an operator, found `3`"),
        (
            "(1 + 2",
            "error at position 7 of the expression: expected an operator or a `)` for the `(` at position 1, found the end",
        ),
        ("1 + 2)", "error at position 6 of the expression: there is no `(` for this `)`"),
        ("sqrt 2", "error at position 6 of the expression: expected `(` after `sqrt`, found `2`"),
        ("sqrt()", "error at position 1 of the expression: `sqrt` takes one argument and got 0"),
        ("max()", "error at position 1 of the expression: `max` takes at least 1 argument and got 0"),
        ("root(2)", "error at position 1 of the expression: `root` takes 2 arguments and got 1"),
        ("round(1, 2, 3)", "error at position 1 of the expression: `round` takes 1 to 2 arguments and got 3"),
        ("1 / 0", "error at position 3 of the expression: division by zero"),
        ("5 % 0", "error at position 3 of the expression: division by zero"),
        ("0 ^ -1", "error at position 3 of the expression: division by zero: 0 has no negative powers"),
        ("sqrt(-4)", "error at position 1 of the expression: an even root of a negative number is not real"),
        ("ln(0)", "error at position 1 of the expression: the logarithm needs a number greater than 0"),
        (
            "asin(2)",
            "error at position 1 of the expression: the arcsine and arccosine need a number from -1 to 1",
        ),
        ("2.5!", "error at position 4 of the expression: a factorial needs a whole number from 0 on"),
        ("gcd(1.5, 2)", "error at position 1 of the expression: gcd and lcm need whole numbers"),
        (
            "root(4, 0)",
            "error at position 1 of the expression: a root needs a whole number other than 0 as its degree",
        ),
        (
            "3,5",
            "error at position 2 of the expression: a comma groups thousands, as in 3,480; write decimals with a point, as in 3.5",
        ),
        (
            "0,480",
            "error at position 2 of the expression: a comma groups thousands, as in 3,480; write decimals with a point, as in 3.5",
        ),
        ("1.2.3", "error at position 4 of the expression: a number has one decimal point"),
        ("$5 + 3", "error at position 1 of the expression: write amounts without a currency sign"),
        ("2 # 3", "error at position 3 of the expression: `#` has no meaning here"),
        (
            "1 + (2; 3)",
            "error at position 7 of the expression: expected an operator or a `)` for the `(` at position 5, found `;`",
        ),
        ("1e9999", "error at position 2 of the expression: the exponent must be between -1300 and 1300"),
    ]);
    check(
        "sinh(1)",
        expect![
            "error at position 1 of the expression: `sinh` is not known; there are pi, e, sqrt, cbrt, root, pow, abs, round, floor, ceil, trunc, min, max, sum, avg, mean, mod, gcd, lcm, factorial, exp, ln, log, log10, log2, sin, cos, tan, asin, acos, atan, deg, rad"
        ],
    );
}

#[test]
fn what_is_too_large_is_refused_with_advice() {
    check_all(&[
        ("2^4095 * 0 + 1", "1"),
        (
            "2^5000",
            "error at position 2 of the expression: the result has more than 4,096 bits (about 1,233 digits); work with its logarithm instead",
        ),
        (
            "10^1000 * 10^1000",
            "error at position 9 of the expression: the result has more than 4,096 bits (about 1,233 digits); work with its logarithm instead",
        ),
        (
            "9^9^9^9",
            "error at position 4 of the expression: the result has more than 4,096 bits (about 1,233 digits); work with its logarithm instead",
        ),
        (
            "exp(-5000)",
            "error at position 1 of the expression: the result is closer to 0 than 2^-4096; work with its logarithm instead",
        ),
        (
            "1e-1300 / 1e100",
            "error at position 1 of the expression: the result is closer to 0 than 2^-4096; work with its logarithm instead",
        ),
        (
            "1000!",
            "error at position 5 of the expression: the factorial is too large; the largest possible is 536!",
        ),
        ("536! / 535!", "536"),
        ("log10(7^1400)", "≈ 1183.137256019959563"),
        ("1 ^ 10^50", "1"),
        ("1 ^ 1e-50", "1"),
        ("(-1) ^ (10^50 + 1)", "-1"),
    ]);
    let long = "1+".repeat(600);
    check(&long, expect!["error the expression has 1200 bytes and may have 1024; calculate it in parts"]);
    let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
    check(
        &deep,
        expect![
            "error at position 65 of the expression: this is nested deeper than 64 levels; calculate it in parts"
        ],
    );
    assert!(text(&"-".repeat(1_000)).contains("nested deeper"));
    assert!(text(&"2^".repeat(500)).contains("nested deeper"));
    assert_eq!(text(&format!("1{}", "+1".repeat(511))), "512");
}

#[test]
fn the_output_has_a_title_and_a_value() {
    let output = calculate("12.5%  of 3,480 =").unwrap();
    assert_eq!(output.title.as_deref(), Some("12.5% of 3,480 = 435"));
    assert_eq!(output.data, Some(json!({"result": "435", "exact": true})));
    let output = calculate("1/3").unwrap();
    assert_eq!(output.title.as_deref(), Some("1/3 ≈ 0.33333333333333333333"));
    assert_eq!(
        output.data,
        Some(json!({"result": "0.33333333333333333333", "exact": false, "fraction": "1/3"}))
    );
}

#[test]
fn every_example_gives_what_it_says() {
    for example in examples() {
        assert_eq!(text(example.arguments["expression"].as_str().unwrap()), example.result);
    }
}

/// Expressions of nearly 1 KB, made to be slow.
fn hard() -> Vec<String> {
    let fill = |piece: &str| piece.repeat(1_000 / piece.len()).trim_end_matches(['+', '*', ',']).to_owned();
    vec![
        fill("9^999/7^999+"),
        fill("1/7^360+"),
        fill("1/3^640+1/7^360+"),
        fill("536!/535!+"),
        fill("sin(9^99)+"),
        fill("2^.3+"),
        fill("asin(.9)+"),
        fill("root(9^1290,99)+"),
        fill("root(2^4095+1,7)+"),
        fill("log(7^1400)+"),
        fill("pi*e+"),
        format!("gcd({})", fill("30^800,42^759,")),
        format!("9^1290/7^360{}", "+1".repeat(490)),
        format!("9^1290/7^360{}", "*3".repeat(60)),
        format!("{}2{}", "sqrt(".repeat(63), ")".repeat(63)),
        format!("1/3^600{}", "+1/997".repeat(160)),
    ]
}

#[test]
fn the_hardest_expressions_end_soon() {
    // An optimised build needs 20 ms at most; this bound only tells what ends from what does not.
    for expression in hard() {
        let began = Instant::now();
        _ = calculate(&expression);
        assert!(began.elapsed() < Duration::from_secs(10), "{expression}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(expression in any::<String>()) {
        _ = calculate(&expression);
    }

    #[test]
    fn no_text_of_known_pieces_makes_it_panic(pieces in proptest::collection::vec(piece(), 0..40)) {
        _ = calculate(&pieces.concat());
    }

    #[test]
    fn whole_numbers_are_calculated_like_machine_numbers(a in -9999i128..9999, b in -9999i128..9999, c in 1i128..99) {
        prop_assert_eq!(text(&format!("({a}) * ({b}) + ({a}) - {c}")), (a * b + a - c).to_string());
        prop_assert_eq!(text(&format!("({a}) % {c}")), a.rem_euclid(c).to_string());
        prop_assert_eq!(text(&format!("floor(({a}) / {c})")), a.div_euclid(c).to_string());
        prop_assert_eq!(text(&format!("sqrt(({a})^2)")), a.abs().to_string());
    }

    #[test]
    fn functions_agree_with_machine_numbers(x in 0.001f64..50.0, name in 0usize..8) {
        let (name, expected) = [
            ("sqrt", x.sqrt()), ("exp", x.exp()), ("ln", x.ln()), ("sin", x.sin()),
            ("cos", x.cos()), ("atan", x.atan()), ("log2", x.log2()), ("cbrt", x.cbrt()),
        ][name];
        let shown = calculate(&format!("{name}({x})")).unwrap().data.unwrap();
        let near: f64 = shown["result"].as_str().unwrap().parse().unwrap();
        prop_assert!((near - expected).abs() <= 1e-13 * (1.0 + expected.abs()), "{name}({x}) = {near}, {expected}");
    }

    #[test]
    fn a_shown_decimal_is_read_back_as_the_same(digits in 0u64.., places in 0u32..15) {
        let written = format!("{digits}e-{places}");
        let shown = text(&written);
        prop_assert_eq!(text(&format!("{shown} - {written}")), "0");
    }
}

fn piece() -> impl Strategy<Value = String> {
    let words = [
        "1", "2", "0", "3.5", "1,000", "3 480", "1e5", "1e-300", "9^99", "pi", "e", "+", "-", "*", "/", "%",
        "^", "!", "(", ")", ",", ";", " ", "of", "mod", "x", "√", "²", "°", "万", "sqrt(", "ln(", "sin(",
        "max(", "round(", "root(", "gcd(", "asin(", "log(", "exp(", "。", "，", "=", ".",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

#[test]
fn numbers_as_programs_write_them_are_read_whole_or_refused() {
    check_all(&[
        ("0x10", "16"),
        ("0XfF + 1", "256"),
        ("0x1e3", "483"),
        ("0xff_ff", "65535"),
        ("０ｘ１０", "16"),
        ("0b101 * 2", "10"),
        ("0o17", "15"),
        ("1e3", "1000"),
        ("1_000", "1000"),
        ("１２ + １", "13"),
        ("10 000", "10000"),
        ("3x4", "12"),
        ("10x10", "100"),
        ("0 x 10", "0"),
        ("0x1.8", "error at position 4 of the expression: `.` is no hexadecimal digit"),
        ("0xfg", "error at position 4 of the expression: `g` is no hexadecimal digit"),
        ("0b12", "error at position 4 of the expression: `2` is no binary digit"),
        ("0o8", "error at position 3 of the expression: `8` is no octal digit"),
        ("0x_1", "error at position 3 of the expression: `_` has no meaning here"),
        (
            "5x0x10",
            "error at position 3 of the expression: this could be a hexadecimal number or a product; write `*` for times",
        ),
        ("1__000", "error at position 2 of the expression: `_` has no meaning here"),
        ("١٢", "error at position 1 of the expression: `١` has no meaning here"),
    ]);
    assert_eq!(
        text(&format!("0x{}", "f".repeat(1_020))),
        text("16^1020 - 1"),
        "as long as an expression may be"
    );
}

#[test]
fn a_raised_digit_belongs_to_what_stands_before_it() {
    check_all(&[
        ("5²", "25"),
        ("-5²", "-25"),
        ("2²^3", "64"),
        ("2^3²", "512"),
        ("3²!", "362880"),
        ("5²%", "0.25"),
        ("(1 + 2)² x 2", "18"),
        ("²", "error at position 1 of the expression: expected a number, `(` or a function, found `²`"),
    ]);
}
