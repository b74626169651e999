//! What a person is asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalId, Approvers, Asker, CallId, Effect, Notice, Timestamp, UserQuestion};

/// What a person is asked, rendered by the server from the bytes that will be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub approval: ApprovalId,
    #[serde(flatten)]
    pub about: About,
    /// Why a person is asked at all.
    pub because: String,
    /// The same as notices: all of them hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Notice>,
    /// A hash over what is asked about: for a call over its tool, version, effect and arguments. Checked again before
    /// the call starts.
    pub binding: String,
    /// Who answers; without them it is the user whose run it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Box<Approvers>>,
    pub expires_at: Timestamp,
    /// The subagent that asks, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<Box<Asker>>,
}

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum About {
    /// May this call run?
    Permission {
        #[serde(flatten)]
        call: Box<AskedCall>,
        /// The run repeats this call: a no ends that, and an always is for the run alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        repeats: bool,
    },
    /// Did this call happen?
    Outcome {
        #[serde(flatten)]
        call: Box<AskedCall>,
        /// When the call was sent; none in logs of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_at: Option<Timestamp>,
        /// What the tool's check tool said about it, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<String>,
    },
    /// May the run spend more?
    Budget,
    /// What does the model want to know? The reply is the result of its call.
    User {
        #[serde(flatten)]
        call: Box<AskedCall>,
        #[serde(flatten)]
        asked: Box<UserQuestion>,
    },
}

/// The call that a question is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskedCall {
    #[serde(rename = "call")]
    pub id: CallId,
    pub tool: String,
    /// The hash of the tool's definition, where its calls go included: consent ends when it changes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Canonical JSON: what is approved is what is sent.
    pub arguments: String,
    /// What would go over the wire, or went, with the names of secrets in place of them; none where that is not more
    /// than the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    pub effect: Effect,
    /// What a person should know before they agree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The warnings as notices, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<Notice>,
}

/// The kinds of questions, without what they are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// May this call run?
    Permission,
    /// Did this call happen?
    Outcome,
    /// May the run spend more?
    Budget,
    /// What does the model want to know?
    User,
}

impl ApprovalKind {
    /// Whether the call waits for the answer before it goes on.
    pub fn holds_call(self) -> bool {
        matches!(self, Self::Permission | Self::User)
    }
}

impl Question {
    /// How long it stays open.
    pub const OPEN_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

    pub fn kind(&self) -> ApprovalKind {
        match self.about {
            About::Permission { .. } => ApprovalKind::Permission,
            About::Outcome { .. } => ApprovalKind::Outcome,
            About::Budget => ApprovalKind::Budget,
            About::User { .. } => ApprovalKind::User,
        }
    }

    /// The call that it is about; none where it is about the run.
    pub fn call(&self) -> Option<&AskedCall> {
        match &self.about {
            About::Permission { call, .. } | About::Outcome { call, .. } | About::User { call, .. } => {
                Some(call)
            }
            About::Budget => None,
        }
    }

    pub fn call_id(&self) -> Option<&CallId> {
        self.call().map(|call| &call.id)
    }

    /// What the model asks; none where it is Helve that asks.
    pub fn asked_by_model(&self) -> Option<&UserQuestion> {
        match &self.about {
            About::User { asked, .. } => Some(asked),
            About::Permission { .. } | About::Outcome { .. } | About::Budget => None,
        }
    }

    /// Whether it is asked because the run repeats itself.
    pub fn repeats(&self) -> bool {
        matches!(self.about, About::Permission { repeats: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{EventBody, Fact};

    const CALL: &str = "0190163d-8694-739b-aea5-966c26f8ad91:1:0";

    /// An event as version 0.1.0 wrote it.
    fn recorded(kind: &str, more: Value) -> Value {
        let mut event = json!({
            "at": 1795064675721_i64,
            "type": "approval.asked",
            "approval": "0190163d-8694-739b-aea5-966c26f8ad92",
            "kind": kind,
            "tool": "send",
            "version": "v1",
            "arguments": "{\"to\":\"mei\"}",
            "effect": "non_idempotent",
            "because": "it cannot be taken back",
            "reasons": [{"code": "allowed_before"}],
            "binding": "b",
            "expires_at": 1795669475721_i64,
        });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    }

    fn read(event: &Value) -> Question {
        let body: EventBody = serde_json::from_str(&event.to_string()).unwrap();
        let Fact::ApprovalAsked(question) = body.fact else { panic!("{event}") };
        question
    }

    #[test]
    fn questions_in_old_logs_are_read_and_written_as_they_were() {
        let call =
            json!({"call": CALL, "request": "POST https://mail", "warnings": ["private"], "repeats": true});
        let event = recorded("permission", call);
        let question = read(&event);
        assert!(question.repeats());
        assert_eq!(question.call().map(|call| (&*call.tool, &*call.warnings[0])), Some(("send", "private")));
        let body = EventBody { at: Timestamp(1795064675721), fact: Fact::ApprovalAsked(question) };
        assert_eq!(serde_json::to_value(body).unwrap(), event);

        let event = recorded("outcome", json!({"call": CALL, "sent_at": 7, "checked": "one mail"}));
        let About::Outcome { call, sent_at, checked } = read(&event).about else { panic!("{event}") };
        assert_eq!(
            (call.id.to_string().as_str(), sent_at, checked.as_deref()),
            (CALL, Some(Timestamp(7)), Some("one mail"))
        );

        let asked = json!({"call": CALL, "question": "Which?", "form": {"type": "text", "max_chars": 9}});
        let event = recorded("user", asked);
        let question = read(&event);
        assert_eq!(question.asked_by_model().map(|asked| &*asked.question), Some("Which?"));
        let body = EventBody { at: Timestamp(1795064675721), fact: Fact::ApprovalAsked(question) };
        assert_eq!(serde_json::to_value(body).unwrap(), event);

        // One about the run had the members of a call, with nothing in them.
        let run = recorded("budget", json!({"tool": "", "arguments": "{}", "effect": "read"}));
        assert_eq!((read(&run).about, read(&run).call_id()), (About::Budget, None));
    }
}
