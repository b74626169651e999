//! One type name stands for one thing: how often each may be declared.
//!
//! Both tables list names that were there before the rule. They may only shrink: when you rename a type, lower its
//! number or take its line out. Never raise one.

use std::collections::BTreeMap;
use std::path::Path;

use super::{none, with_ending};

/// A name may be declared this often, unless `REPEATED` still allows more.
const COPIES_MAX: usize = 3;

/// Names that are declared more often, with today's number.
const REPEATED: &[(&str, usize)] = &[
    ("Action", 6),
    ("Answer", 5),
    ("Arguments", 6),
    ("Body", 4),
    ("Call", 5),
    ("Change", 4),
    ("Content", 4),
    ("Context", 5),
    ("Echo", 4),
    ("End", 4),
    ("Found", 4),
    ("Function", 5),
    ("Kind", 4),
    ("Lab", 7),
    ("Message", 4),
    ("Part", 5),
    ("Reader", 4),
    ("Reply", 5),
    ("Request", 4),
    ("Shared", 5),
    ("Source", 4),
    ("State", 6),
    ("Step", 6),
    ("Tool", 5),
    ("Tools", 4),
    ("Verdict", 4),
    ("Words", 4),
    ("World", 5),
];

/// Names that say too little (REDESIGN, "Plain words"), with the number of types that still have them. The table names
/// what to call the type instead.
const OLD: &[(&str, usize, &str)] = &[
    ("Turnstile", 0, "Admission"),
    ("Pass", 0, "AdmissionPermit"),
    ("TurnedAway", 0, "Rejected"),
    ("Desk", 0, "UserStore"),
    ("Seat", 0, "DriverSlot"),
    ("Seats", 0, "DriverSlots"),
    ("Kit", 0, "RunTools"),
    ("Read", 0, "TaintState"),
    ("Order", 0, "CallOrigin"),
    ("Terms", 0, "CallPermissions"),
    ("Fate", 0, "FailPoints"),
    ("Bell", 0, "BreakerAlerts"),
    ("Over", 0, "GuardOverrides"),
    ("Made", 0, "BuiltTool"),
    ("Beside", 0, "SideRecords"),
    ("Whole", 0, "FullOutput"),
    ("Quest", 0, "ModelStep"),
    ("Errand", 0, "CallAction"),
    ("Purse", 0, "BudgetState"),
    ("Circles", 0, "LoopDetector"),
    ("Came", 0, "CallResult"),
    ("Course", 0, "LoopVerdict"),
    ("Lap", 0, "Repetition"),
    ("Heard", 0, "ModelMessage"),
    ("HeardPart", 0, "ModelMessagePart"),
    ("HeardCall", 0, "ModelMessageCall"),
    ("Listener", 0, "StreamCollector or Subscriber"),
    ("From", 0, "CallSource"),
    ("Reception", 0, "Enqueue"),
    ("Brought", 0, "ClientResult"),
    ("Delivered", 0, "ClientResult"),
    ("Handed", 0, "ClientAssignment"),
    ("Lost", 0, "UnrecordedCost"),
    ("Sketch", 0, "CompactionPlan"),
    ("Room", 0, "CompactionState"),
    ("UserPlan", 0, "PlanRecord"),
    ("Signpost", 0, "MarkScanner"),
    ("Then", 0, "Lookahead"),
    ("Behind", 0, "Trailing"),
    ("Standing", 0, "Evidence"),
    ("Unthink", 0, "CloseReasoning"),
    ("Bend", 0, "StoreFault"),
    ("Ghost", 0, "StaleWriter"),
    ("Said", 0, "a noun"),
    ("Told", 0, "a noun"),
    ("Asked", 0, "a noun"),
    ("House", 0, "TestServer"),
];

/// The name of the type that a line declares. Associated types, which are indented, are no declarations.
fn declared(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => code,
    };
    let (keyword, rest) = code.split_once(' ')?;
    let declares = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = rest.split(|char: char| !char.is_alphanumeric() && char != '_').next()?;
    (declares && name.starts_with(char::is_uppercase)).then_some(name)
}

/// Where a name is counted. Protocols have the same files with the same names, and each tool has its `Arguments`, so
/// that such a family counts as one.
fn family(path: &Path) -> Option<&'static str> {
    let path = path.to_str()?;
    let inside = |folder: &str| path.strip_prefix(folder).map(|rest| rest.split('/').count());
    let protocol = ["wire.rs", "decode.rs", "encode.rs"].iter().any(|file| path.ends_with(file));
    match (inside("crates/helve-model-http/src/"), inside("crates/helve-tool-builtin/src/")) {
        (Some(2), _) if protocol => Some("protocols"),
        (_, Some(1)) => Some("tools"),
        _ => None,
    }
}

/// The places of each type name, a family's being one.
fn declarations() -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in with_ending("rs") {
        // The benchmarks are a workspace of their own.
        if path.starts_with("bench") {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let Some(name) = declared(line) else { continue };
            let place = format!("{}:{}", path.display(), at + 1);
            let key = family(&path).map_or_else(|| place.clone(), str::to_owned);
            names.entry(name.to_owned()).or_default().entry(key).or_insert(place);
        }
    }
    names.into_iter().map(|(name, places)| (name, places.into_values().collect())).collect()
}

#[test]
fn a_declaration_is_found_whatever_stands_before_it() {
    for (line, name) in [
        ("struct Run {", Some("Run")),
        ("    pub(crate) enum State<T> {", Some("State")),
        ("pub(in crate::run) struct Call;", Some("Call")),
        ("pub type Made = (A, B);", Some("Made")),
        ("    type Error = Fault;", None),
        ("/// struct Run", None),
        ("pub fn enumerate() {", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
}

#[test]
fn a_type_name_is_declared_at_most_three_times() {
    let mut found = vec![];
    for (name, places) in declarations() {
        let ceiling =
            REPEATED.iter().find(|(held, _)| *held == name).map_or(COPIES_MAX, |(_, ceiling)| *ceiling);
        if places.len() > ceiling {
            found.push(format!("`{name}` is declared {} times: {}", places.len(), places.join(" ")));
        }
    }
    none(found);
}

#[test]
fn old_type_names_do_not_come_back() {
    let declared = declarations();
    let mut found = vec![];
    for (name, ceiling, instead) in OLD {
        let places = declared.get(*name).map_or(&[][..], Vec::as_slice);
        if places.len() > *ceiling {
            found.push(format!("`{name}`, better {instead}: {}", places.join(" ")));
        }
    }
    none(found);
}
