//! Functions that order a list by keys.

use std::cmp::Ordering;

use crate::transform::jq::syntax::Function;
use crate::transform::jq::value::{FilterStop, JqValue, StepBudget};

/// `sort`, `group`, `unique`, `min` and `max` of items that come with the keys they are ordered by.
pub(in super::super) fn order_items(
    function: Function,
    mut keyed: Vec<(JqValue, JqValue)>,
    meter: &StepBudget,
) -> Result<JqValue, FilterStop> {
    match function {
        Function::Min | Function::MinBy => return find_extreme(keyed, Ordering::is_lt, meter),
        // Of several largest the last one, as in jq.
        Function::Max | Function::MaxBy => return find_extreme(keyed, Ordering::is_ge, meter),
        _ => {}
    }
    keyed = sort_stable(keyed, |(a, _), (b, _)| a.compare(b, meter))?;
    if matches!(function, Function::Sort | Function::SortBy) {
        return JqValue::list(keyed.into_iter().map(|(_, item)| item).collect(), meter);
    }
    let mut groups: Vec<(JqValue, Vec<JqValue>)> = vec![];
    for (key, item) in keyed {
        match groups.last_mut() {
            Some((last, group)) if last.equals(&key, meter)? => group.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let grouped = groups.into_iter().map(|(_, mut group)| match function {
        Function::GroupBy => JqValue::list(group, meter),
        _ => Ok(group.swap_remove(0)),
    });
    JqValue::list(grouped.collect::<Result<_, _>>()?, meter)
}

/// The item whose key beats those before it.
fn find_extreme(
    keyed: Vec<(JqValue, JqValue)>,
    beats: fn(Ordering) -> bool,
    meter: &StepBudget,
) -> Result<JqValue, FilterStop> {
    let mut best: Option<(JqValue, JqValue)> = None;
    for (key, item) in keyed {
        let better = match &best {
            Some((held, _)) => beats(key.compare(held, meter)?),
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(JqValue::Null, |(_, item)| item))
}

/// The items in their order, equal ones as they were. The library's sort may panic where a comparison gives up in the middle;
/// this one ends.
pub(in super::super) fn sort_stable<T>(
    items: Vec<T>,
    compare: impl Fn(&T, &T) -> Result<Ordering, FilterStop>,
) -> Result<Vec<T>, FilterStop> {
    let mut runs: Vec<Vec<T>> = items.into_iter().map(|item| vec![item]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            merged.push(match pairs.next() {
                Some(second) => merge(first, second, &compare)?,
                None => first,
            });
        }
        runs = merged;
    }
    Ok(runs.pop().unwrap_or_default())
}

fn merge<T>(
    first: Vec<T>,
    second: Vec<T>,
    compare: impl Fn(&T, &T) -> Result<Ordering, FilterStop>,
) -> Result<Vec<T>, FilterStop> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        merged.extend(if compare(b, a)?.is_lt() { second.next() } else { first.next() });
    }
    merged.extend(first);
    merged.extend(second);
    Ok(merged)
}
