//! Functions that order a list by keys.

use std::cmp::Ordering;

use crate::transform::jq::syntax::Function;
use crate::transform::jq::value::{Meter, Stop, Val};

/// `sort`, `group`, `unique`, `min` and `max` of items that come with the keys they are ordered by.
pub(in super::super) fn ordered(
    function: Function,
    mut keyed: Vec<(Val, Val)>,
    meter: &Meter,
) -> Result<Val, Stop> {
    match function {
        Function::Min | Function::MinBy => return extreme(keyed, Ordering::is_lt, meter),
        // Of several largest the last one, as in jq.
        Function::Max | Function::MaxBy => return extreme(keyed, Ordering::is_ge, meter),
        _ => {}
    }
    let mut failed = None;
    keyed.sort_by(|(a, _), (b, _)| {
        // Once the steps are used up every further comparison ends at once.
        a.compare(b, meter).unwrap_or_else(|stop| {
            failed = Some(stop);
            Ordering::Equal
        })
    });
    if let Some(stop) = failed {
        return Err(stop);
    }
    if matches!(function, Function::Sort | Function::SortBy) {
        return Val::list(keyed.into_iter().map(|(_, item)| item).collect(), meter);
    }
    let mut groups: Vec<(Val, Vec<Val>)> = vec![];
    for (key, item) in keyed {
        match groups.last_mut() {
            Some((last, group)) if last.equals(&key, meter)? => group.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    let grouped = groups.into_iter().map(|(_, mut group)| match function {
        Function::GroupBy => Val::list(group, meter),
        _ => Ok(group.swap_remove(0)),
    });
    Val::list(grouped.collect::<Result<_, _>>()?, meter)
}

/// The item whose key beats those before it.
fn extreme(keyed: Vec<(Val, Val)>, beats: fn(Ordering) -> bool, meter: &Meter) -> Result<Val, Stop> {
    let mut best: Option<(Val, Val)> = None;
    for (key, item) in keyed {
        let better = match &best {
            Some((held, _)) => beats(key.compare(held, meter)?),
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Val::Null, |(_, item)| item))
}
