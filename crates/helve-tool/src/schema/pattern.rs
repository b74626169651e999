//! What a pattern costs, told from its text before anything is made of it.
//!
//! Counted repetitions are copies and a class of Unicode letters is hundreds of states, so few characters can be
//! megabytes. The estimate reads the text as the engine would, and where two readings are possible it takes the dearer.

use super::budget::PATTERN_BYTES_MAX;

/// A class such as `\p{L}`: hundreds of ranges.
const UNICODE_CLASS: u64 = 600;
/// One more of them in the same brackets: the ranges are merged.
const UNICODE_CLASS_MORE: u64 = 100;
/// `\w`, `.` or a class that is the rest of all characters.
const WIDE_CLASS: u64 = 40;
/// Where upper and lower case are the same, everything has twins.
const FOLDED: u64 = 4;

/// The units that it takes to make the pattern ready, or why it is not tried.
pub(super) fn pattern_units(pattern: &str) -> Result<u64, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "a pattern has {} bytes; {PATTERN_BYTES_MAX} are the most that one may have",
            pattern.len()
        ));
    }
    let flags = flags(pattern);
    if flags.contains('x') {
        return Err(
            "a pattern has the flag `x`, which is not taken; write it without blanks and comments".into()
        );
    }
    // `[` in a class is a character to some and opens another class to others.
    let units =
        PatternReader::new(pattern, true).read_all().max(PatternReader::new(pattern, false).read_all());
    Ok(if flags.contains('i') { units.saturating_mul(FOLDED) } else { units })
}

/// The letters that are switched on anywhere, as in `(?i)` and `(?i:a)`.
fn flags(pattern: &str) -> String {
    let mut found = String::new();
    for part in pattern.split("(?").skip(1) {
        found.extend(part.chars().take_while(char::is_ascii_alphabetic));
    }
    found
}

/// The cost of what stands in one pair of brackets so far.
#[derive(Default)]
struct PatternGroup {
    sum: u64,
    /// What a repetition that comes next would repeat; part of the sum.
    last: u64,
}

impl PatternGroup {
    fn add(&mut self, cost: u64) {
        self.sum = self.sum.saturating_add(cost);
        self.last = cost;
    }

    fn repeat(&mut self, times: u64) {
        let more = self.last.saturating_mul(times.max(1));
        self.sum = self.sum.saturating_add(more);
        self.last = self.last.saturating_add(more);
    }
}

struct PatternReader<'p> {
    rest: &'p str,
    classes_nest: bool,
}

impl<'p> PatternReader<'p> {
    fn new(pattern: &'p str, classes_nest: bool) -> Self {
        Self { rest: pattern, classes_nest }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    fn read_all(mut self) -> u64 {
        let mut open = vec![];
        let mut group = PatternGroup::default();
        while let Some(c) = self.next() {
            match c {
                '(' => open.push(std::mem::take(&mut group)),
                ')' => {
                    let inside = std::mem::replace(&mut group, open.pop().unwrap_or_default());
                    group.add(inside.sum.saturating_add(2));
                }
                '[' => {
                    let cost = self.read_class();
                    group.add(cost);
                }
                '\\' => {
                    let cost = self.read_escape();
                    group.add(cost);
                }
                '.' => group.add(WIDE_CLASS),
                '|' => group.add(1),
                '*' | '?' => {}
                '+' => group.repeat(1),
                '{' => match self.read_count() {
                    Some(times) => group.repeat(times),
                    None => group.add(1),
                },
                c => group.add(c.len_utf8() as u64),
            }
        }
        // What was never closed is no pattern; it costs what it would.
        open.into_iter().fold(group.sum, |sum, outer| sum.saturating_add(outer.sum))
    }

    fn read_escape(&mut self) -> u64 {
        match self.next() {
            Some('p' | 'P') => {
                if self.next() == Some('{') {
                    let end = self.rest.find('}').map_or(self.rest.len(), |at| at + 1);
                    self.rest = &self.rest[end..];
                }
                UNICODE_CLASS
            }
            Some('d' | 'D' | 'w' | 'W' | 's' | 'S') => WIDE_CLASS,
            _ => 1,
        }
    }

    fn read_class(&mut self) -> u64 {
        let mut cost = 2_u64;
        let mut classes = 0_u64;
        if self.rest.starts_with('^') {
            cost += WIDE_CLASS;
            self.next();
        }
        // As the first one it is a character.
        if self.rest.starts_with(']') {
            self.next();
        }
        let mut depth = 1;
        while let Some(c) = self.next() {
            match c {
                '[' if self.classes_nest => depth += 1,
                ']' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                '\\' => match self.read_escape() {
                    UNICODE_CLASS => classes += 1,
                    other => cost = cost.saturating_add(other),
                },
                c => cost = cost.saturating_add(c.len_utf8() as u64),
            }
        }
        match classes {
            0 => cost,
            more => cost + UNICODE_CLASS + (more - 1) * UNICODE_CLASS_MORE,
        }
    }

    /// How often `{3,7}` repeats at most; without an end it repeats as often as it must.
    fn read_count(&mut self) -> Option<u64> {
        let (inside, after) = self.rest.split_once('}')?;
        let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let times = number(least).unwrap_or(0).max(number(most).unwrap_or(0));
        number(least)?;
        self.rest = after;
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_costs_what_it_repeats() {
        assert!(pattern_units("^[a-z0-9_-]+$").unwrap() < 100);
        assert!(pattern_units(r"^\d{4}-\d{2}-\d{2}$").unwrap() < 1000);
        assert!((600..1000).contains(&pattern_units(r"\p{L}").unwrap()));
        assert!(pattern_units(r"\p{L}{150}N").unwrap() > 90_000);
        assert!(pattern_units(r"(\pL{10}){15}").unwrap() > 90_000);
        assert!(pattern_units(r"\p{L}{10}{15}").unwrap() > 90_000);
        assert!(pattern_units(r"(((a{100}){100}){100}){100}").unwrap() > 100_000_000);
        assert!(pattern_units(r"[\p{L}]{ 150 }").unwrap() > 90_000);
        assert!(pattern_units(r"(?i)\p{L}{50}").unwrap() > 100_000);
    }

    #[test]
    fn of_two_readings_of_a_class_the_dearer_counts() {
        assert!(pattern_units(r"[\p{L}[a]]{150}").unwrap() > 90_000);
        assert!(pattern_units(r"[[]\p{L}{150}").unwrap() > 90_000);
    }

    #[test]
    fn names_of_people_and_places_may_have_a_pattern() {
        for pattern in [r"^[\p{L}\p{M}0-9 .,'-]{1,64}$", r"^\p{Lu}\p{Ll}+$", r"^[^\s@]+@[^\s@]+\.[^\s@]+$"] {
            let units = pattern_units(pattern).unwrap();
            assert!(units < 60_000, "{pattern}: {units}");
        }
    }

    #[test]
    fn what_is_long_or_has_blanks_that_mean_nothing_is_not_tried() {
        assert!(pattern_units(&"a".repeat(1001)).unwrap_err().contains("1001 bytes"));
        assert!(pattern_units(r"(?x)\p{L} {1000}").unwrap_err().contains("flag `x`"));
        assert!(
            pattern_units("((((").is_ok() && pattern_units(")))){3}").is_ok() && pattern_units("[\\").is_ok()
        );
    }
}
