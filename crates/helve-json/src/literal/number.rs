//! Numbers as Python writes them, as JSON writes them.

/// Whether it is written as JSON would.
pub(super) fn is_json(token: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(token).is_ok()
}

/// The JSON text. `None` where it is not one number.
pub(super) fn to_json(token: &str) -> Option<String> {
    let (minus, digits) = match token.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    let digits = digits.replace('_', "");
    let plain = match split_radix(&digits) {
        Some((radix, rest)) => u128::from_str_radix(rest, radix).ok()?.to_string(),
        None => normalize_decimal(&digits)?,
    };
    Some(format!("{minus}{plain}"))
}

fn split_radix(digits: &str) -> Option<(u32, &str)> {
    let rest = digits.strip_prefix('0')?;
    let radix = match rest.chars().next()? {
        'x' | 'X' => 16,
        'o' | 'O' => 8,
        'b' | 'B' => 2,
        _ => return None,
    };
    Some((radix, &rest[1..]))
}

/// Keeps every digit: large integers and long fractions are not passed through a float.
fn normalize_decimal(digits: &str) -> Option<String> {
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let power = exponent.map(|e| e.strip_prefix(['+', '-']).unwrap_or(e));
    if !all_digits(whole)
        || !fraction.is_none_or(all_digits)
        || !power.is_none_or(|p| !p.is_empty() && all_digits(p))
        || whole.is_empty() && fraction.unwrap_or("").is_empty()
    {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let mut text = whole.to_owned();
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        text.push('e');
        text.push_str(exponent);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        let cases = [
            ("5", Some("5")),
            ("-0.50", Some("-0.50")),
            ("007", Some("7")),
            ("+3", Some("3")),
            ("1_000", Some("1000")),
            (".5", Some("0.5")),
            ("2.", Some("2.0")),
            ("1E5", Some("1e5")),
            ("0x1F", Some("31")),
            ("123456789012345678901234567890", Some("123456789012345678901234567890")),
            ("1e", None),
            ("1.2.3", None),
            ("12abc", None),
            (".", None),
            ("3j", None),
        ];
        for (written, read) in cases {
            assert_eq!(to_json(written).as_deref(), read, "{written}");
        }
    }
}
