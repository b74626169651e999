//! How much a model can read at once.

use helve_types::ModelParams;

/// What a model can read at once, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub tokens: u64,
    /// How long its answer may become, if that is said; it has to fit in beside the question.
    pub answer_max: Option<u64>,
}

impl Window {
    /// How long a question may be. Of a limit that leaves no room for questions only a part is taken for serious.
    pub fn question_tokens_max(self) -> u64 {
        let answer = self.answer_max.unwrap_or(self.tokens / 8).min(self.tokens / 4);
        self.tokens - answer
    }
}

/// What an Ollama is told to make room for: it cuts what is longer, and says nothing.
pub fn requested_num_ctx(params: &ModelParams) -> Option<u64> {
    let in_options = || params.extra.get("options")?.get("num_ctx");
    params.extra.get("num_ctx").or_else(in_options)?.as_u64().filter(|tokens| *tokens > 0)
}
