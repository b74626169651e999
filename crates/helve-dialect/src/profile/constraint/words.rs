//! Words: text that is no call, up to where one begins.

use std::collections::BTreeMap;

use helve_types::ToolSpec;

use super::rules::{Rules, any_char_except, literal};
use super::shape::{Shape, Slot};

const ANYTHING: &str = "[^\\x00]*";

/// More tools than this are not told apart by name where a call begins like ordinary text.
const NAMES_MAX: usize = 16;

/// The root where the model may call or speak. Where calls begin with a mark of their own, words may come before
/// them; where a call begins like ordinary JSON or Python, it is the whole message.
pub(super) fn words_or_calls_rule(
    shape: &Shape,
    tools: &[&ToolSpec],
    calls: &str,
    rules: &mut Rules,
) -> String {
    if let Some(rest) = shape.head.strip_prefix(&shape.mark).filter(|_| !shape.mark.is_empty()) {
        return text_until_rule(&shape.mark, Some(&format!("{} {calls}", literal(rest))), rules);
    }
    let named = shape.head.len() < 3 && tools.len() <= NAMES_MAX;
    let beginnings: Vec<Vec<char>> = match shape.lead.first() {
        Some((Slot::Name, next)) if named => {
            tools.iter().map(|tool| format!("{}{}{next}", shape.head, tool.name).chars().collect()).collect()
        }
        _ => vec![shape.head.chars().collect()],
    };
    let words = text_beginning_unlike_rule(&beginnings, true, rules);
    format!("{} {calls} | {words}", literal(&shape.head))
}

/// Text without `mark` in it; with `then`, the mark and what follows it may come at any place. Written as the
/// machine that looks for the mark, a rule for each of its states: how much of the mark has just been read.
pub(super) fn text_until_rule(mark: &str, then: Option<&str>, rules: &mut Rules) -> String {
    let mark: Vec<char> = mark.chars().collect();
    let states: Vec<String> = mark.iter().map(|_| rules.reserve_name("text")).collect();
    let mut first = String::new();
    for (state, expected) in mark.iter().enumerate() {
        // Characters of the mark after which more than nothing of it has been read.
        let mut noted: BTreeMap<char, usize> = BTreeMap::new();
        for &c in &mark[..state] {
            if c != *expected
                && let Some(next) = next_mark_state(&mark, state, c)
            {
                noted.insert(c, next);
            }
        }
        let others = any_char_except(noted.keys().copied().chain([*expected]));
        let mut ways = vec![format!("{others} {}", states[0])];
        ways.extend(noted.iter().map(|(c, next)| format!("{} {}", literal(&c.to_string()), states[*next])));
        let expected = literal(&expected.to_string());
        match (states.get(state + 1), then) {
            (Some(next), _) => ways.push(format!("{expected} {next}")),
            (None, Some(then)) => ways.push(format!("{expected} {then}")),
            (None, None) => {}
        }
        let ways = ways.join(" | ");
        rules.define_rule(&states[state], &format!("( {ways} )?"));
        if state == 0 {
            first = ways;
        }
    }
    match then {
        // An answer is never nothing at all.
        Some(_) => first,
        None => states.into_iter().next().unwrap_or_default(),
    }
}

/// How much of the mark has been read after `c` came instead of what was expected; `None` for nothing.
fn next_mark_state(mark: &[char], state: usize, c: char) -> Option<usize> {
    let read = |length: usize| mark[..length - 1] == mark[state + 1 - length..state] && mark[length - 1] == c;
    (1..=state).rev().find(|length| read(*length))
}

/// Text that does not begin in any of these ways.
fn text_beginning_unlike_rule(beginnings: &[Vec<char>], at_start: bool, rules: &mut Rules) -> String {
    let mut further: BTreeMap<char, Vec<Vec<char>>> = BTreeMap::new();
    for beginning in beginnings {
        if let Some((first, rest)) = beginning.split_first() {
            further.entry(*first).or_default().push(rest.to_vec());
        }
    }
    // Space before a call would make words of it.
    let blank: &[char] = if at_start { &[' ', '\n', '\t', '\r'] } else { &[] };
    let mut ways =
        vec![format!("{} {ANYTHING}", any_char_except(further.keys().copied().chain(blank.iter().copied())))];
    for (c, rests) in &further {
        if !rests.iter().any(Vec::is_empty) {
            ways.push(format!(
                "{} {}",
                literal(&c.to_string()),
                text_beginning_unlike_rule(rests, false, rules)
            ));
        }
    }
    let ways = ways.join(" | ");
    rules.add_rule("words", &if at_start { ways } else { format!("( {ways} )?") })
}
