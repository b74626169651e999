//! Evidence made up for tests: one run with one call, told in words.

use std::collections::BTreeMap;

use helve_runtime::Run as Machine;
use helve_types::{
    About, Always, Answer, ApprovalId, AskedCall, CallId, CallState, Effect, EventBody, Fact, Failure,
    FailureKind, MessageId, ModelParams, OnUnknown, Question, RunId, RunInput, RunSetup, RunStarted,
    RunState, Timestamp, ToolChoice, ToolOutput, Trail, Within,
};
use serde_json::json;
use uuid::Uuid;

use super::{Evidence, check};
use crate::client::{ClientLog, Reader};
use crate::ledger::LedgerEntry;
use crate::snapshot::{Event, Run, Snapshot, StoredCall};
use crate::tools;

const USER: &str = "mei";
const ARGUMENTS: &str = "{\"note\":\"x\"}";

pub(super) struct Story {
    pub(super) evidence: Evidence,
    pub(super) run: RunId,
    pub(super) call: CallId,
    tool: &'static str,
    /// Of the tool when it is started; questions are about `v1`.
    pub(super) version: &'static str,
    step: u32,
}

/// What one rule finds wrong.
pub(super) fn violations_of(rule: &str, story: &Story) -> Vec<String> {
    let found = check(&story.evidence).into_iter();
    found.filter(|violation| violation.rule == rule).map(|violation| violation.what).collect()
}

impl Story {
    pub(super) fn with_log(words: &[&str]) -> Self {
        Self::for_tool("effect_send", words)
    }

    /// A run whose log is `run.started` and what the words say of its one call.
    pub(super) fn for_tool(tool: &'static str, words: &[&str]) -> Self {
        let run = RunId(Uuid::from_u128(7));
        let setup = RunSetup {
            agent: "default".into(),
            model: "mock".into(),
            agent_version: None,
            fallback_models: vec![],
            model_is_chosen: false,
            system: String::new(),
            max_steps: 10,
            tool_choice: ToolChoice::Auto,
            tools: vec![],
            skills: vec![],
            client_tools: vec![],
            params: ModelParams::default(),
            variant: None,
            agent_params: ModelParams::default(),
            mode: None,
            stream: true,
            pre_search: false,
            end_when_refused: false,
            language: None,
            request_id: None,
            parent: None,
            woken: 0,
            input: RunInput::Conversation,
        };
        let row = Run {
            user: USER.into(),
            state: RunState::Running,
            ended: false,
            conversation: None,
            history: 0,
            setup,
            log: vec![],
        };
        let disk =
            Snapshot { runs: BTreeMap::from([(run, row)]), integrity: "ok".into(), ..Snapshot::default() };
        let evidence = Evidence {
            disk,
            ledger: vec![],
            clients: vec![ClientLog::default()],
            server_log: String::new(),
            footprints: vec![],
            judged: BTreeMap::new(),
            at_end: false,
        };
        let mut story = Self { evidence, run, call: CallId::new(run, 1, 0), tool, version: "v1", step: 1 };
        story.add(Fact::RunStarted(RunStarted {
            agent: "default".into(),
            model: "mock".into(),
            conversation: None,
            message: None,
            reply: MessageId(Uuid::from_u128(2)),
            text: "n-1 go".into(),
        }));
        words.iter().for_each(|word| story.record_word(word));
        story
    }

    pub(super) fn record_word(&mut self, word: &str) {
        let call = self.call.clone();
        let effect = tools::find_kind(self.tool).map_or(Effect::Read, |kind| kind.class);
        let failure = |kind| Failure::new(kind, "no luck");
        let (fact, state) = match word {
            "approved" | "approved for the run" | "rejected" => (decision(call, word), CallState::Approved),
            "requested" => {
                let requested = self.requested_fact(call.clone());
                let row = StoredCall { tool: self.tool.into(), state: CallState::Requested, attempt: 0 };
                self.evidence.disk.calls.insert(call, row);
                (requested, CallState::Requested)
            }
            "started" => {
                let row = self.evidence.disk.calls.get_mut(&call).unwrap();
                row.attempt += 1;
                let attempt = u32::try_from(row.attempt).unwrap();
                let (tool, version) = (self.tool.into(), self.version.into());
                (
                    Fact::ToolStarted {
                        call,
                        tool,
                        version,
                        effect,
                        attempt,
                        arguments: None,
                        instead: None,
                    },
                    CallState::Running,
                )
            }
            "asked" => (Fact::ApprovalAsked(question(call, self.tool, effect)), CallState::Asked),
            "delegated" => {
                let (tool, arguments) = (self.tool.into(), Some(ARGUMENTS.into()));
                (Fact::ToolDelegated { call, tool, arguments, trail: Trail::default() }, CallState::Delegated)
            }
            "claimed" => {
                (Fact::ToolClaimed { call, client: "c1".into(), by: USER.into() }, CallState::Claimed)
            }
            "finished" => {
                let output = ToolOutput::text(answer(self.tool));
                (Fact::ToolFinished { call, output, trail: Trail::default() }, CallState::Finished)
            }
            "failed" => {
                let failure = failure(FailureKind::Failed);
                (Fact::ToolFailed { call, failure, trail: Trail::default() }, CallState::Failed)
            }
            "refused" => {
                let failure = failure(FailureKind::Denied);
                (Fact::ToolRefused { call, failure, trail: Trail::default() }, CallState::Refused)
            }
            "unknown" => (unknown_fact(call), CallState::Unknown),
            other => panic!("a story knows no `{other}`"),
        };
        self.add(fact);
        self.evidence.disk.calls.get_mut(&self.call).unwrap().state = state;
    }

    fn requested_fact(&self, call: CallId) -> Fact {
        Fact::ToolRequested {
            step: self.step,
            call,
            provider_id: None,
            tool: self.tool.into(),
            arguments: ARGUMENTS.into(),
            part: None,
            replaces: None,
            repairs: vec![],
        }
    }

    /// From here on it is about another call, of the next step.
    pub(super) fn next_call(&mut self, tool: &'static str) {
        self.step += 1;
        (self.tool, self.call) = (tool, CallId::new(self.run, self.step, 0));
    }

    pub(super) fn add(&mut self, fact: Fact) {
        let log = self.log();
        let seq = log.len() as u64 + 1;
        let body = EventBody { at: Timestamp(0), fact };
        let json = serde_json::to_string(&body).unwrap();
        log.push(Event { seq, kind: body.fact.kind().into(), json, body });
    }

    /// The ledger carries out the call once more.
    pub(super) fn happens(&mut self, tool: &'static str) {
        let class = tools::find_kind(tool).unwrap().class;
        let n = self.evidence.ledger.len() as u64 + 1;
        let receipt = if class == Effect::Idempotent { 1 } else { n };
        self.evidence.ledger.push(LedgerEntry {
            n,
            receipt,
            call: self.call.to_string(),
            key: self.call.to_string(),
            tool: tool.into(),
            class,
            user: USER.into(),
            at_once: 1,
            at_ms: 0,
            payload: json!({"note": "x"}),
            answer: answer(tool),
        });
    }

    /// A reader gets everything there is.
    pub(super) fn reads_all(&mut self) {
        let mut reader = Reader::new(self.run);
        reader.connected();
        for event in &self.evidence.disk.runs[&self.run].log {
            reader.read_frame(Some(event.seq), &event.json);
        }
        self.client().readers.push(reader);
    }

    pub(super) fn machine(&self) -> Machine {
        let row = &self.evidence.disk.runs[&self.run];
        let log = row.log.iter().map(|event| (event.body.at, &event.body.fact));
        Machine::replay(self.run, row.setup.clone(), log).unwrap()
    }

    pub(super) fn row(&mut self) -> &mut Run {
        self.evidence.disk.runs.get_mut(&self.run).unwrap()
    }

    pub(super) fn log(&mut self) -> &mut Vec<Event> {
        &mut self.row().log
    }

    pub(super) fn client(&mut self) -> &mut ClientLog {
        &mut self.evidence.clients[0]
    }

    pub(super) fn reader(&mut self) -> &mut Reader {
        &mut self.client().readers[0]
    }
}

fn answer(tool: &str) -> String {
    format!("receipt 1 for {tool} (x)")
}

fn question(call: CallId, tool: &str, effect: Effect) -> Question {
    Question {
        approval: ApprovalId(Uuid::from_u128(5)),
        about: About::Permission {
            call: Box::new(AskedCall {
                id: call,
                tool: tool.into(),
                version: "v1".into(),
                arguments: ARGUMENTS.into(),
                request: None,
                effect,
                warnings: vec![],
                cautions: vec![],
            }),
            repeats: false,
        },
        because: "it changes something".into(),
        reasons: vec![],
        approvers: None,
        binding: "b".into(),
        expires_at: Timestamp(i64::MAX),
        asker: None,
    }
}

/// What a person says about the call of a story.
fn decision(call: CallId, word: &str) -> Fact {
    let within_run = Always { within: Within::Run, arguments: BTreeMap::new(), days: None };
    let answer = match word {
        "rejected" => Answer::Reject { reason: String::new() },
        "approved" => Answer::Approve { arguments: None, always: None },
        _ => Answer::Approve { arguments: None, always: Some(within_run) },
    };
    let approval = ApprovalId(Uuid::from_u128(5));
    Fact::ApprovalAnswered { approval, call: Some(call), answer, by: USER.into() }
}

fn unknown_fact(call: CallId) -> Fact {
    Fact::ToolUnknown {
        call,
        sent_at: Timestamp(0),
        because: "cut".into(),
        request: None,
        checked: None,
        then: OnUnknown::AskUser,
        trail: Trail::default(),
        labels: None,
    }
}
