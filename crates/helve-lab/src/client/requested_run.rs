//! What a client asks for: a script for the model, and how the client behaves meanwhile. All of it from rng.

use helve_types::{ApprovalKind, Question};
use serde_json::{Value, json};

use crate::rng::Rng;
use crate::test_server::{TERSE, THRIFTY};
use crate::tools::CLIENT_TOOL;

/// One run as a client wants it.
#[derive(Debug, Clone)]
pub(super) struct RequestedRun {
    pub(super) nonce: String,
    pub(super) message: String,
    pub(super) user: String,
    /// The default one if none is named.
    pub(super) agent: Option<&'static str>,
    pub(super) key: Option<String>,
    /// In the conversation of the run before, if that is free.
    pub(super) goes_on: bool,
    /// Stops the run once so many events were seen.
    pub(super) cancel_after: Option<usize>,
    /// Hangs up and comes back once so many frames were seen on a connection.
    pub(super) hang_up_after: Option<usize>,
    /// Says something to the run once so many events were seen.
    pub(super) speak_after: Option<usize>,
}

/// The client whose conversations become long, and how many words it adds to each message.
const TALKER: usize = 0;
const PADDING: usize = 500;
/// Users share what `effect_look` has found, if something is wrong.
const USERS: usize = 3;

/// What a client would rather do than anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preference {
    None,
    /// Begin something new, and ask for it again if nobody answers.
    Begin,
    /// Run calls itself.
    Run,
    Answer,
    Spend,
    Speak,
    Talk,
}

impl Preference {
    /// What leads to a label.
    pub(super) fn to(label: Option<&str>) -> Self {
        match label.and_then(|label| label.split('.').next()) {
            Some("run") => Self::Begin,
            Some("client") => Self::Run,
            Some("approval") => Self::Answer,
            Some("budget") => Self::Spend,
            Some("message") => Self::Speak,
            Some("history") => Self::Talk,
            _ => Self::None,
        }
    }
}

impl RequestedRun {
    pub(super) fn random(rng: &mut Rng, client: usize, n: usize, leaning: Preference) -> Self {
        let nonce = format!("c{client}-{n}");
        let agent = match (leaning, rng.below(10)) {
            (Preference::Talk, _) => Some(TERSE),
            (Preference::Spend, _) => Some(THRIFTY),
            _ if client == TALKER => Some(TERSE),
            (_, 0 | 1) => Some(THRIFTY),
            _ => None,
        };
        let script = if agent == Some(THRIFTY) { random_costly_script(rng) } else { script(rng, leaning) };
        // As much as the terse agent's model can read in a few turns.
        let padding = if agent == Some(TERSE) { "some more words ".repeat(PADDING) } else { String::new() };
        Self {
            message: format!("{nonce} please {padding}[[{script}]]"),
            user: format!("u{}", client % USERS),
            agent,
            key: rng
                .chance(if leaning == Preference::Begin { 100 } else { 60 })
                .then(|| format!("key-{nonce}")),
            goes_on: rng.chance(match leaning {
                Preference::Begin => 0,
                _ if agent == Some(TERSE) => 95,
                _ => 40,
            }),
            cancel_after: rng.chance(12).then(|| rng.below(9) as usize),
            hang_up_after: rng.chance(25).then(|| 1 + rng.below(12) as usize),
            speak_after: rng
                .chance(if leaning == Preference::Speak { 90 } else { 25 })
                .then(|| 1 + rng.below(6) as usize),
            nonce,
        }
    }
}

/// What is said to a run at work.
pub(super) fn random_message(rng: &mut Rng) -> String {
    format!("and also [[{}]]", script(rng, Preference::None))
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
    "effect_look",
    "effect_look",
    "effect_look+effect_read",
    "effect_put*3",
    "effect_inbox/effect_mail",
    // More at once than its limit allows.
    "effect_put*4",
    "effect_client",
    "effect_client",
    "effect_client/effect_send",
    "effect_inbox/effect_client+effect_mail",
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

/// Faults of the model, mostly none. All but the last two are gone when the same question comes again.
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
    "status=401",
];

fn script(rng: &mut Rng, leaning: Preference) -> String {
    let mut members = vec![format!("text={}", 1 + rng.below(8))];
    if rng.chance(85) {
        let rounds = match leaning {
            Preference::Run => CLIENT_TOOL,
            Preference::Answer => "effect_ask",
            _ => rng.pick(ROUNDS),
        };
        members.push(format!("tools={rounds}"));
    }
    if rng.chance(20) {
        members.push(format!("think={}", 1 + rng.below(4)));
    }
    if rng.chance(50) {
        members.push(format!("gap={}", 1 + rng.below(6)));
    }
    if rng.chance(20) {
        members.push(format!("delay={}", rng.below(40)));
    }
    let fault = *rng.pick(FAULTS);
    if !fault.is_empty() {
        members.push(fault.to_owned());
    }
    // What is looked for is what others look for, too.
    let arguments = if members.iter().any(|member| member.contains("effect_look")) {
        json!({"note": "shared", "then": ""})
    } else {
        json!({"note": format!("n{}", rng.below(1_000)), "then": rng.pick(MANNERS)})
    };
    members.push(format!("args={arguments}"));
    members.join(",")
}

/// More steps and calls than a thrifty run may have.
fn random_costly_script(rng: &mut Rng) -> String {
    let arguments = json!({"note": format!("n{}", rng.below(1_000)), "then": rng.pick(MANNERS)});
    let usage = 100 + rng.below(300);
    let rounds = ["effect_read", "effect_tell", "effect_read*2"];
    let rounds: Vec<&str> = (0..6).map(|_| *rng.pick(&rounds)).collect();
    format!("text=3,usage={usage}/20,tools={},args={arguments}", rounds.join("/"))
}

/// What a person says to a question; none leaves it open.
pub(super) fn answer(rng: &mut Rng, question: &Question) -> Option<Value> {
    if question.kind() == ApprovalKind::Outcome {
        let words = ["happened", "did_not_happen", "run_again"];
        return rng.chance(85).then(|| json!({"decision": "outcome", "answer": rng.pick(&words)}));
    }
    if question.kind() == ApprovalKind::Budget {
        let decision = if rng.chance(70) { "approve" } else { "reject" };
        return rng.chance(90).then(|| json!({"decision": decision}));
    }
    match rng.below(12) {
        10 | 11 => {
            let within = *rng.pick(&["run", "conversation", "agent"]);
            // Of a run that goes round in circles nobody may say more.
            let within = if question.repeats() { "run" } else { within };
            Some(json!({"decision": "approve", "always": {"within": within}}))
        }
        0..5 => Some(json!({"decision": "approve"})),
        5 => {
            let edited = json!({"note": format!("edited {}", rng.below(1_000)), "then": rng.pick(MANNERS)});
            Some(json!({"decision": "approve", "arguments": edited.to_string()}))
        }
        6 | 7 => Some(json!({"decision": "reject", "reason": "rather not"})),
        8 => Some(json!({"decision": "respond", "text": "a person did it by hand"})),
        _ => None,
    }
}
