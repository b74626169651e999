//! The table: what the server does, and what becomes of the run. The table is the test.
//!
//! Every trial is the same conversation. The model says three words and calls `look`; then it says six words. The
//! fault is in one of the two messages, the second unless a row says `round=0`, and happens once or always.

use super::trial::Verdict;

/// What the model does when nothing goes wrong.
pub(super) const BASE: &str = "tools=look,lead=3,text=6";
pub(super) const ARGUMENTS: &str = "args={\"q\":\"茶 and \\\"tea\\\"\"}";
pub(super) const WORDS: usize = 6;

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// As if nothing had been.
    Ok,
    /// Nothing was shown: asked again, three times in all, then given up with this code.
    Retry(&'static str),
    /// Something was shown: begun anew, once, then given up with this code.
    Restart(&'static str),
    /// Given up at once.
    Failed(&'static str),
    /// The message counts, but its call does not run: the model is told.
    Told,
}

pub(super) struct Row {
    /// The fault, as the mock's scripts have it.
    fault: &'static str,
    pub(super) on: &'static [&'static str],
    pub(super) class: Class,
    /// The client's patience is short.
    pub(super) hasty: bool,
}

const fn row(fault: &'static str, on: &'static [&'static str], class: Class) -> Row {
    Row { fault, on, class, hasty: false }
}

const fn hasty(fault: &'static str, on: &'static [&'static str], class: Class) -> Row {
    Row { fault, on, class, hasty: true }
}

const EVERY: &[&str] = &["openai_chat", "ollama", "anthropic", "gemini"];
/// Those with server-sent events.
const EVENTS: &[&str] = &["openai_chat", "anthropic", "gemini"];
/// Those that send arguments in pieces.
const PIECES: &[&str] = &["openai_chat", "anthropic"];

const AWAY: &str = "model_unavailable";
const BROKE: &str = "model_broke_off";

pub(super) const TABLE: &[Row] = &[
    row("", EVERY, Class::Ok),
    // Before the head.
    row("slam", EVERY, Class::Retry(AWAY)),
    row("cut=0", EVERY, Class::Retry(AWAY)),
    row("cut=20", EVERY, Class::Retry(AWAY)),
    hasty("mute", EVERY, Class::Retry(AWAY)),
    hasty("halfhead", EVERY, Class::Retry(AWAY)),
    row("endlesshead", EVERY, Class::Retry(AWAY)),
    row("status=408", EVERY, Class::Retry(AWAY)),
    row("status=425", EVERY, Class::Retry(AWAY)),
    row("status=429", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=0", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=1", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=date+1", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=-1", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=soon", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=1000000000", EVERY, Class::Failed(AWAY)),
    row("status=429,retry_after=date+86400", EVERY, Class::Failed(AWAY)),
    row("status=500", EVERY, Class::Retry(AWAY)),
    row("status=502", EVERY, Class::Retry(AWAY)),
    row("status=503", EVERY, Class::Retry(AWAY)),
    row("status=504", EVERY, Class::Retry(AWAY)),
    row("status=529", EVERY, Class::Retry(AWAY)),
    row("status=400", EVERY, Class::Failed("model_refused")),
    row("status=401", EVERY, Class::Failed("model_key")),
    row("status=403", EVERY, Class::Failed("model_key")),
    row("status=404", EVERY, Class::Failed("model_refused")),
    row("status=413", EVERY, Class::Failed("context_overflow")),
    row("status=422", EVERY, Class::Failed("model_refused")),
    row("redirect", EVERY, Class::Failed("model_refused")),
    // After the head, before a word.
    hasty("hush=0", EVERY, Class::Retry(BROKE)),
    hasty("stall=0", EVERY, Class::Retry(BROKE)),
    row("break=0", EVERY, Class::Retry(BROKE)),
    row("close=0", EVERY, Class::Retry(BROKE)),
    row("error=0", EVERY, Class::Retry(AWAY)),
    row("invalid=0", EVERY, Class::Retry(BROKE)),
    row("nested=0", EVERY, Class::Retry(BROKE)),
    row("gzip", EVERY, Class::Retry(BROKE)),
    // In the middle of a text.
    hasty("hush=3", EVERY, Class::Restart(BROKE)),
    hasty("stall=3", EVERY, Class::Restart(BROKE)),
    hasty("drip=100", EVERY, Class::Restart(BROKE)),
    row("break=3", EVERY, Class::Restart(BROKE)),
    row("close=3", EVERY, Class::Restart(BROKE)),
    row("error=3", EVERY, Class::Restart(AWAY)),
    row("invalid=3", EVERY, Class::Restart(BROKE)),
    row("truncated=3", EVERY, Class::Restart(BROKE)),
    row("nested=3", EVERY, Class::Restart(BROKE)),
    row("nan=3", EVERY, Class::Restart(BROKE)),
    row("surrogate=3", EVERY, Class::Ok),
    row("twice=3", EVERY, Class::Restart(BROKE)),
    row("short", EVERY, Class::Restart(BROKE)),
    row("endless", EVERY, Class::Restart(BROKE)),
    row("open", EVERY, Class::Restart(BROKE)),
    // In the middle of a call: its fragments never run.
    hasty("hush=5,round=0", PIECES, Class::Restart(BROKE)),
    hasty("stall=5,round=0", PIECES, Class::Restart(BROKE)),
    row("break=5,round=0", PIECES, Class::Restart(BROKE)),
    row("close=5,round=0", PIECES, Class::Restart(BROKE)),
    row("error=5,round=0", PIECES, Class::Restart(AWAY)),
    row("invalid=5,round=0", PIECES, Class::Restart(BROKE)),
    row("truncated=5,round=0", PIECES, Class::Restart(BROKE)),
    // Behind a call that is whole, and still no message.
    row("break=9,round=0", EVERY, Class::Restart(BROKE)),
    row("error=9,round=0", EVERY, Class::Restart(AWAY)),
    row("open,round=0", EVERY, Class::Restart(BROKE)),
    // The end before the end of the arguments: no call, and the model is told.
    row("early,round=0", PIECES, Class::Told),
    row("early,finish=length,round=0", PIECES, Class::Told),
    // The message is complete: what comes later does not matter.
    row("long", EVERY, Class::Ok),
    row("long,round=0", EVERY, Class::Ok),
    row("nodone", &["openai_chat", "ollama", "gemini"], Class::Ok),
    row("late", &["openai_chat", "ollama", "gemini"], Class::Ok),
    row("late,round=0", &["openai_chat", "ollama", "gemini"], Class::Ok),
    // Here the reason is not the end, and blocks could still follow.
    row("nodone", &["anthropic"], Class::Restart(BROKE)),
    row("late", &["anthropic"], Class::Restart(BROKE)),
    // Written in odd ways, and to be understood.
    row("bytes", EVERY, Class::Ok),
    row("bytes,round=0", EVERY, Class::Ok),
    row("crlf", EVERY, Class::Ok),
    row("cr", EVENTS, Class::Ok),
    row("mixed", EVENTS, Class::Ok),
    row("bom", EVERY, Class::Ok),
    row("tight", EVENTS, Class::Ok),
    row("unknown", EVENTS, Class::Ok),
    row("unknown,round=0", EVENTS, Class::Ok),
    row("comments=1000", EVENTS, Class::Ok),
    row("fat=786432", EVERY, Class::Ok),
    row("split=1", EVERY, Class::Ok),
    // Ids that are no help.
    row("ids=none", EVERY, Class::Ok),
    row("ids=same,tools=look*2", EVERY, Class::Ok),
    row("ids=none,tools=look*3", EVERY, Class::Ok),
    row("ids=reused,tools=look/look", EVERY, Class::Ok),
    row("ids=reused,tools=look*2/look*2", EVERY, Class::Ok),
];

/// Faults of an answer in one piece: nothing of it is shown before all of it is there.
pub(super) const WHOLE: &[Row] = &[
    row("", EVERY, Class::Ok),
    row("slam", EVERY, Class::Retry(AWAY)),
    row("cut=0", EVERY, Class::Retry(AWAY)),
    row("cut=200", EVERY, Class::Retry(BROKE)),
    hasty("mute", EVERY, Class::Retry(AWAY)),
    hasty("halfhead", EVERY, Class::Retry(AWAY)),
    hasty("hush=0", EVERY, Class::Retry(AWAY)),
    hasty("stall=0", EVERY, Class::Retry(AWAY)),
    row("endlesshead", EVERY, Class::Retry(AWAY)),
    row("status=429", EVERY, Class::Retry(AWAY)),
    row("status=429,retry_after=1000000000", EVERY, Class::Failed(AWAY)),
    row("status=500", EVERY, Class::Retry(AWAY)),
    row("status=529", EVERY, Class::Retry(AWAY)),
    row("status=400", EVERY, Class::Failed("model_refused")),
    row("status=401", EVERY, Class::Failed("model_key")),
    row("redirect", EVERY, Class::Failed("model_refused")),
    row("error=0", EVERY, Class::Retry(AWAY)),
    row("break=0", EVERY, Class::Retry(BROKE)),
    row("close=0", EVERY, Class::Retry(BROKE)),
    row("truncated=0", EVERY, Class::Retry(BROKE)),
    row("nested=0", EVERY, Class::Retry(BROKE)),
    row("nan=0", EVERY, Class::Retry(BROKE)),
    row("gzip", EVERY, Class::Retry(BROKE)),
    row("long", EVERY, Class::Retry(BROKE)),
    row("short", EVERY, Class::Retry(BROKE)),
    row("endless", EVERY, Class::Retry(BROKE)),
    row("bytes", EVERY, Class::Ok),
    row("crlf", EVERY, Class::Ok),
    row("ids=none,tools=look*2", EVERY, Class::Ok),
    row("ids=same,tools=look*2", EVERY, Class::Ok),
];

impl Row {
    fn round(&self) -> usize {
        if self.fault.contains("round=0") || self.class == Class::Told { 0 } else { 1 }
    }

    /// The calls of each message.
    fn rounds(&self) -> Vec<usize> {
        let tools = self.fault.split_once("tools=").map_or("look", |(_, tools)| tools);
        let calls = |round: &str| round.split_once('*').map_or(1, |(_, times)| times.parse().unwrap());
        tools.split('/').map(calls).collect()
    }

    pub(super) fn script(&self, always: bool) -> String {
        let round = if self.fault.contains("round=") { "" } else { "round=1," };
        let times = if always { "" } else { "times=1," };
        // Later members win.
        format!("{BASE},{},{round}{times}{ARGUMENTS}", self.fault)
    }

    pub(super) fn verdict(&self, always: bool) -> Verdict {
        // Nothing is asked over a connection that does not stand.
        match (self.fault, always) {
            ("slam", false) => return Verdict::answered(1),
            ("slam", true) => return Verdict { connections: Some(3), ..Verdict::failed(AWAY, 0, 0) },
            _ => {}
        }
        let rounds = self.rounds();
        if rounds != [1] {
            return Verdict { questions: rounds.len() + 1, ..Verdict::answered(rounds.iter().sum()) };
        }
        let fat = self.fault.split_once("fat=").map_or(0, |(_, bytes)| bytes.parse().unwrap());
        Verdict { fat, ..self.class.verdict(self.round(), always, 1) }
    }
}

impl Class {
    /// How the run ends if the fault is in this message, and the call of the first runs so often.
    pub(super) fn verdict(self, round: usize, always: bool, calls: usize) -> Verdict {
        let answered = Verdict::answered(calls);
        let failed = |code: &str, tries: usize, restarts: usize| Verdict {
            ran: round * calls,
            ..Verdict::failed(code, round + tries, restarts)
        };
        match (self, always) {
            (Self::Ok, _) => answered,
            (Self::Told, _) => Verdict { ran: 0, ..answered },
            (Self::Retry(_), false) => Verdict { questions: 3, ..answered },
            (Self::Retry(code), true) => failed(code, 3, 0),
            (Self::Restart(_), false) => Verdict { questions: 3, restarts: 1, ..answered },
            (Self::Restart(code), true) => failed(code, 2, 1),
            (Self::Failed(code), _) => failed(code, 1, 0),
        }
    }
}
