//! What running tools report, in the pieces that a stream of an answer has not sent yet.

use helve_types::{CallState, Live, PartId, PartKind};
use serde_json::{Value, json};

use crate::protocols::call_words::word_in_stream;

#[derive(Default)]
pub(crate) struct ToolProgress(Vec<Report>);

struct Report {
    /// The call that reports.
    part: PartId,
    tool: String,
    /// How many bytes of it were taken in.
    taken: usize,
    unsent: String,
}

impl ToolProgress {
    /// Takes in a frame of a tool's report; other frames are passed over.
    pub(crate) fn apply_live(&mut self, live: &Live) {
        match live {
            Live::PartStarted { part, kind: PartKind::Progress, tool, text } => {
                let tool = tool.clone().unwrap_or_default();
                let report = match self.0.iter().position(|report| report.part == *part) {
                    Some(at) => &mut self.0[at],
                    None => {
                        self.0.push(Report { part: part.clone(), tool, taken: 0, unsent: String::new() });
                        let last = self.0.len() - 1;
                        &mut self.0[last]
                    }
                };
                // The frame has the whole report, which only grows.
                report.unsent.push_str(text.get(report.taken..).unwrap_or_default());
                report.taken = report.taken.max(text.len());
            }
            Live::PartDelta { part, text } => {
                if let Some(report) = self.0.iter_mut().find(|report| report.part == *part) {
                    report.unsent.push_str(text);
                    report.taken += text.len();
                }
            }
            _ => {}
        }
    }

    /// What is new since this was last asked, as the `tool` member of an event for each call.
    pub(crate) fn take_unsent(&mut self) -> Vec<Value> {
        let unsent = self.0.iter_mut().filter(|report| !report.unsent.is_empty());
        unsent
            .map(|report| {
                let piece = std::mem::take(&mut report.unsent);
                json!({"id": report.part, "name": report.tool, "state": word_in_stream(CallState::Running), "progress": piece})
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use helve_types::CallId;

    use super::*;

    #[test]
    fn a_frame_with_the_whole_report_adds_only_what_is_new() {
        let call = "01900000-0000-7000-8000-000000000000:1:0";
        let part = PartId::from(&call.parse::<CallId>().unwrap());
        let whole = |text: &str| Live::PartStarted {
            part: part.clone(),
            kind: PartKind::Progress,
            tool: Some("build".into()),
            text: text.into(),
        };
        let mut progress = ToolProgress::default();
        progress.apply_live(&whole("10 %"));
        progress.apply_live(&Live::PartDelta { part: part.clone(), text: " 20 %".into() });
        let sent = progress.take_unsent();
        assert_eq!(sent[0]["progress"], "10 % 20 %");
        assert_eq!((&sent[0]["id"], &sent[0]["name"]), (&json!(call), &json!("build")));
        assert!(progress.take_unsent().is_empty());
        progress.apply_live(&whole("10 % 20 % 30 %"));
        assert_eq!(progress.take_unsent()[0]["progress"], " 30 %");
        // Text of the answer is none of its.
        let other = PartId::new(1, 1, 0);
        progress.apply_live(&Live::PartDelta { part: other, text: "Hi".into() });
        assert!(progress.take_unsent().is_empty());
    }
}
