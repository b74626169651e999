//! Where what comes in is from and how far it is to be trusted, and what a tool can do about that.
//!
//! A tool has a `Flow`, its results have `Labels`, and a run has a `Taint`: the sum of the labels of all that its model
//! has read. None of them is ever written by what a tool or a model says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChatMessage, ChatRole, Message, PartState, ToolPart};

/// What Helve writes on a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Labels {
    /// The tool that it is from; `a person` where one answered in its place.
    pub source: String,
    /// The host that it is from, or `client`; none where it was made inside Helve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// It may hold what is not for everybody.
    #[serde(default, skip_serializing_if = "is_false")]
    pub private: bool,
    /// Strangers may have written it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub untrusted: bool,
}

impl Labels {
    /// Of what a person said in the place of a tool.
    pub fn for_person() -> Self {
        Self { source: "a person".into(), ..Self::default() }
    }

    /// Of what is made of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        if self.source == other.source && self.place == other.place {
            return Self {
                private: self.private || other.private,
                untrusted: self.untrusted || other.untrusted,
                ..self
            };
        }
        Self {
            source: format!("{}, {}", self.source, other.source),
            // What is from two places is from neither.
            place: if self.place == other.place { self.place } else { None },
            private: self.private || other.private,
            untrusted: self.untrusted || other.untrusted,
        }
    }
}

/// What a tool brings into a run, and whether it can carry something out of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    #[serde(default, skip_serializing_if = "is_false")]
    pub private: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub untrusted: bool,
    /// What it is given leaves for a place that is not the operator's own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outward: bool,
    /// Where its calls go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The place of tools that the client runs.
pub const CLIENT: &str = "client";

impl Flow {
    /// Of every tool that a client declares, whatever it says about it: results come from outside, and the server
    /// sees what becomes of the arguments.
    pub fn for_client() -> Self {
        Self { private: false, untrusted: true, outward: true, place: Some(CLIENT.into()) }
    }

    pub fn is_neutral(&self) -> bool {
        *self == Self::default()
    }

    /// The same with what a definition says about it.
    #[must_use]
    pub fn with_terms(self, terms: &LabelTerms) -> Self {
        Self {
            private: terms.private.unwrap_or(self.private),
            untrusted: terms.untrusted.unwrap_or(self.untrusted),
            outward: terms.outward.unwrap_or(self.outward),
            place: self.place,
        }
    }

    /// What is written on a result of the tool of this name.
    pub fn labels(&self, tool: &str) -> Labels {
        Labels {
            source: tool.to_owned(),
            place: self.place.clone(),
            private: self.private,
            untrusted: self.untrusted,
        }
    }
}

/// What a definition or the operator says about a tool's labels; what is left out stays as the tool's kind has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelTerms {
    /// Its answers may hold what is not for everybody. Tools that send a secret are, unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,
    /// Strangers may have written what it answers. So it is with everything over HTTP, unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<bool>,
    /// Its calls carry what they are given to a place that is not the operator's own. So it is with everything over
    /// HTTP to a host that is not in `[labels] trusted_hosts`, unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outward: Option<bool>,
}

impl LabelTerms {
    pub fn says_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What is in a run, as far as it matters for what may leave it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Taint {
    /// Where private data came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<Origin>,
    /// Where text came from that strangers may have written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<Origin>,
}

/// A tool and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Taint {
    /// Of a history that the client keeps: nothing in it is known to be what it says it is. Once there is an answer in
    /// it, it may hold what tools of this server told, as results or in the model's words.
    pub fn from_client_history(messages: &[ChatMessage]) -> Self {
        let origin = Origin { source: "the client's history".into(), place: Some(CLIENT.into()) };
        let is_first_words = |message: &ChatMessage| {
            matches!(message.role, ChatRole::System | ChatRole::User) && message.calls.is_empty()
        };
        let private = if messages.iter().all(is_first_words) { vec![] } else { vec![origin.clone()] };
        Self { private, untrusted: vec![origin] }
    }

    /// Of what earlier messages of a conversation hold.
    pub fn from_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut taint = Self::default();
        messages.into_iter().flat_map(Message::tools).for_each(|part| taint.add_part(part));
        taint
    }

    /// What is in one or the other.
    #[must_use]
    pub fn union(mut self, other: Self) -> Self {
        self.private.extend(other.private);
        self.untrusted.extend(other.untrusted);
        for origins in [&mut self.private, &mut self.untrusted] {
            let mut seen: Vec<Origin> = vec![];
            origins.retain(|origin| {
                let is_new = !seen.contains(origin);
                seen.extend(is_new.then(|| origin.clone()));
                is_new
            });
        }
        self
    }

    pub fn has_both_kinds(&self) -> bool {
        !self.private.is_empty() && !self.untrusted.is_empty()
    }

    pub fn add_labels(&mut self, labels: &Labels) {
        let origin = Origin { source: labels.source.clone(), place: labels.place.clone() };
        if labels.private && !self.private.contains(&origin) {
            self.private.push(origin.clone());
        }
        if labels.untrusted && !self.untrusted.contains(&origin) {
            self.untrusted.push(origin);
        }
    }

    /// Takes in what became of one call. An output without labels is from before there were any, so that nobody can
    /// say what is in it.
    pub fn add_part(&mut self, part: &ToolPart) {
        let output = part.output.as_ref().filter(|_| part.state == PartState::Completed);
        match output.map(|output| output.labels.as_ref()) {
            Some(Some(labels)) => self.add_labels(labels),
            Some(None) => {
                self.add_labels(&Labels {
                    source: part.tool.clone(),
                    place: None,
                    private: true,
                    untrusted: true,
                });
            }
            None => {}
        }
        if let Some(labels) = part.failure.as_ref().and_then(|failure| failure.labels.as_deref()) {
            self.add_labels(labels);
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(source: &str, place: Option<&str>) -> Origin {
        Origin { source: source.into(), place: place.map(Into::into) }
    }

    #[test]
    fn a_run_holds_what_its_results_brought_and_each_source_once() {
        let page = Flow { untrusted: true, place: Some("blog.test".into()), ..Flow::default() };
        let orders = Flow { private: true, ..Flow::default() };
        let mut taint = Taint::default();
        taint.add_labels(&Flow::default().labels("calculator"));
        assert_eq!(taint, Taint::default());
        taint.add_labels(&page.labels("read_page"));
        taint.add_labels(&page.labels("read_page"));
        assert!(!taint.has_both_kinds());
        taint.add_labels(&orders.labels("query_database"));
        assert!(taint.has_both_kinds());
        assert_eq!(taint.private, [from("query_database", None)]);
        assert_eq!(taint.untrusted, [from("read_page", Some("blog.test"))]);
    }

    #[test]
    fn what_is_made_of_two_results_has_the_flags_of_both_and_the_place_of_neither() {
        let one = Flow { private: true, place: Some("a.test".into()), ..Flow::default() }.labels("one");
        let two = Flow { untrusted: true, place: Some("b.test".into()), ..Flow::default() }.labels("two");
        let both = one.clone().merge(two);
        assert_eq!((both.source.as_str(), both.place.as_ref()), ("one, two", None));
        assert!(both.private && both.untrusted);
        assert_eq!(one.clone().merge(one.clone()), one);
    }

    #[test]
    fn an_output_from_before_there_were_labels_counts_as_anything() {
        let part = serde_json::json!({
            "step": 1, "call": "00000000-0000-0000-0000-000000000001:1:0", "tool": "fetch", "input": "{}", "state": "completed",
            "output": {"text": "old"}, "requested_at": 1
        });
        let part: ToolPart = serde_json::from_value(part).unwrap();
        let mut taint = Taint::default();
        taint.add_part(&part);
        assert!(taint.has_both_kinds());
        let mut taint = Taint::default();
        taint.add_part(&ToolPart { state: PartState::Error, ..part });
        assert_eq!(taint, Taint::default());
    }
}
