//! Results that the model writes itself: calls inside are quotations, if the result ends.

use super::{CallTrial, Parser};
use crate::calls::Out;
use crate::dialect::RESULTS;

impl Parser {
    /// A tool's result begins or ends. Its tags are text, as is what stands between them.
    pub(super) fn handle_result_tag(&mut self, begins: bool, tag: &str, out: &mut Out<'_>) {
        if !begins && self.trial == Some(CallTrial::Channel) {
            self.reject_trial(out);
        }
        self.in_result = begins;
        self.emit_text(tag, out);
        self.line.observe(tag.as_bytes());
    }

    /// Whether the tag is the end of the result around it.
    pub(super) fn ends_result(&self, tag: &str) -> bool {
        self.in_result && RESULTS.iter().any(|(_, close)| *close == tag)
    }
}
