//! What a client asks for: a script for the model, and how the client behaves meanwhile. All of it from dice.

use serde_json::{Value, json};

use crate::dice::Dice;

/// One run as a client wants it.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) nonce: String,
    pub(super) message: String,
    pub(super) key: Option<String>,
    /// In the conversation of the run before, if that is free.
    pub(super) goes_on: bool,
    /// Stops the run once so many events were seen.
    pub(super) cancel_after: Option<usize>,
    /// Hangs up and comes back once so many frames were seen on a connection.
    pub(super) hang_up_after: Option<usize>,
}

impl Wish {
    pub(super) fn throw(dice: &mut Dice, client: usize, n: usize) -> Self {
        let nonce = format!("c{client}-{n}");
        Self {
            message: format!("{nonce} please [[{}]]", script(dice)),
            key: dice.percent(60).then(|| format!("key-{nonce}")),
            goes_on: dice.percent(40),
            cancel_after: dice.percent(12).then(|| dice.below(9) as usize),
            hang_up_after: dice.percent(25).then(|| 1 + dice.below(12) as usize),
            nonce,
        }
    }
}

const ROUNDS: &[&str] = &[
    "effect_read",
    "effect_put",
    "effect_send",
    "effect_tell",
    "effect_ask",
    "effect_ask_put",
    "effect_send*2",
    "effect_put*2",
    "effect_read+effect_put+effect_send",
    "effect_tell+effect_put",
    "effect_put/effect_send",
    "effect_read/effect_tell/effect_put",
    "effect_ask+effect_tell",
    "effect_ask_put+effect_send",
];

/// Faults of the ledger, mostly none.
const MANNERS: &[&str] = &[
    "",
    "",
    "",
    "",
    "slow 5",
    "slow 30",
    "wait 10",
    "slow 60",
    "drop",
    "drop once",
    "drop once slow 20",
    "error once",
    "error",
    "decline",
    "busy once",
    "slow 220",
];

/// Faults of the model, mostly none. All but the last are gone when the same question comes again.
const FAULTS: &[&str] = &[
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "break=2,times=1",
    "error=1,times=1",
    "status=503,times=1",
    "open,times=1",
    "nodone",
];

fn script(dice: &mut Dice) -> String {
    let mut members = vec![format!("text={}", 1 + dice.below(8))];
    if dice.percent(85) {
        members.push(format!("tools={}", dice.pick(ROUNDS)));
    }
    if dice.percent(20) {
        members.push(format!("think={}", 1 + dice.below(4)));
    }
    if dice.percent(50) {
        members.push(format!("gap={}", 1 + dice.below(6)));
    }
    if dice.percent(20) {
        members.push(format!("delay={}", dice.below(40)));
    }
    let fault = *dice.pick(FAULTS);
    if !fault.is_empty() {
        members.push(fault.to_owned());
    }
    let arguments = json!({"note": format!("n{}", dice.below(1_000)), "then": dice.pick(MANNERS)});
    members.push(format!("args={arguments}"));
    members.join(",")
}

/// What a person says to a question; none leaves it open.
pub(super) fn answer(dice: &mut Dice, kind: &str) -> Option<Value> {
    if kind == "outcome" {
        let words = ["happened", "did_not_happen", "run_again"];
        return dice.percent(85).then(|| json!({"decision": "outcome", "answer": dice.pick(&words)}));
    }
    match dice.below(10) {
        0..5 => Some(json!({"decision": "approve"})),
        5 => {
            let edited = json!({"note": format!("edited {}", dice.below(1_000)), "then": dice.pick(MANNERS)});
            Some(json!({"decision": "approve", "arguments": edited.to_string()}))
        }
        6 | 7 => Some(json!({"decision": "reject", "reason": "rather not"})),
        8 => Some(json!({"decision": "respond", "text": "a person did it by hand"})),
        _ => None,
    }
}
