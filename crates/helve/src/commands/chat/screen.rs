//! What a run says, as lines on a terminal. Pure: facts and pieces in, text out.
//!
//! Pieces of text are shown as they come and remembered, so that a text that comes again, whole, after a lost connection
//! goes on where it stopped. What others wrote passes `text` and `line`, which leave nothing that a terminal obeys.

use std::collections::HashMap;

use helve_types::{CallId, Ending, Fact, Live, PartId, PartKind};

use super::markdown::Markdown;
use crate::client::{line, text};
use crate::commands::approvals::card;
use crate::commands::notice::{failure_words, run_failure_words, sentence};
use crate::commands::runs::story::ending_words;
use crate::i18n::{tr, words};

const ARGUMENTS_CHARS_MAX: usize = 200;
const RESULT_CHARS_MAX: usize = 120;

/// Where something is written: the answer itself, or all that is told beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Answer,
    Beside,
}

#[derive(Default)]
pub(super) struct Screen {
    colour: bool,
    /// The width of the terminal, where Markdown is shown with styles.
    columns: Option<usize>,
    markdown: HashMap<PartId, Markdown>,
    /// What was shown of each part that is being written.
    shown: HashMap<PartId, String>,
    labels: HashMap<PartId, (PartKind, String)>,
    /// The part whose line is not ended.
    open: Option<PartId>,
    /// A line of the person's is being waited for, behind a prompt.
    prompted: bool,
    tools: HashMap<CallId, String>,
    out: Vec<(Side, String)>,
}

impl Screen {
    pub(super) fn new(colour: bool) -> Self {
        Self { colour, ..Self::default() }
    }

    /// Shows Markdown with styles from now on, on a terminal of this width.
    pub(super) fn render_markdown(&mut self, columns: usize) {
        self.columns = Some(columns);
    }

    /// What is to be written now.
    pub(super) fn take(&mut self) -> Vec<(Side, String)> {
        std::mem::take(&mut self.out)
    }

    /// A line of ours.
    pub(super) fn note(&mut self, said: &str) {
        self.end_line();
        self.out.push((Side::Beside, self.dim(&format!("[{said}]")) + "\n"));
    }

    /// Lines of ours that were made visible before.
    pub(super) fn block(&mut self, lines: &str) {
        self.end_line();
        self.out.push((Side::Beside, lines.to_owned()));
    }

    /// What the person is asked for, in the line in which they write.
    pub(super) fn prompt(&mut self, asked: &str) {
        self.end_line();
        self.out.push((Side::Beside, asked.to_owned()));
        self.prompted = true;
    }

    /// Whether the last thing on the screen is what the person is asked for.
    pub(super) fn is_prompting(&self) -> bool {
        self.prompted
    }

    /// The person has ended the line.
    pub(super) fn heard(&mut self) {
        self.prompted = false;
    }

    pub(super) fn live(&mut self, live: &Live) {
        match live {
            Live::PartStarted { part, kind, tool, text } => {
                if *kind != PartKind::Input {
                    let label = match kind {
                        PartKind::Reasoning => tr!("thinking: "),
                        PartKind::Progress => format!("  {}: ", line(tool.as_deref().unwrap_or("tool"))),
                        PartKind::Text | PartKind::Input => String::new(),
                    };
                    self.labels.insert(part.clone(), (*kind, label));
                    self.whole(part, *kind, text);
                }
            }
            Live::PartDelta { part, text } => {
                if let Some((kind, _)) = self.labels.get(part) {
                    self.piece(part, *kind, text);
                }
            }
            Live::ServerDraining => {
                self.note(&tr!("the server is shutting down; the run continues when it is back"))
            }
            Live::StepStarted { .. } => {}
        }
    }

    fn show_subagent(&mut self, fact: &Fact) {
        if let Fact::SubagentStarted(started) = fact {
            self.note(&tr!("{agent} works on it", agent = line(&started.agent)));
        }
    }

    pub(super) fn event(&mut self, fact: &Fact) {
        match fact {
            Fact::TextFinished { part, text, .. } => self.finished(part, PartKind::Text, text),
            Fact::ReasoningFinished { part, text, .. } => self.finished(part, PartKind::Reasoning, text),
            Fact::StepRestarted { because, .. } => {
                self.end_line();
                self.shown.clear();
                self.markdown.clear();
                self.note(&tr!("the answer broke off: {why}; it begins again", why = line(&words(because))));
            }
            Fact::ToolRequested { call, tool, arguments, .. } => {
                self.tools.insert(call.clone(), tool.clone());
                self.say(&format!("→ {} {}", line(tool), cut(&line(arguments), ARGUMENTS_CHARS_MAX)));
            }
            Fact::ToolStarted { call, tool, attempt, instead, .. } => {
                self.tools.insert(call.clone(), tool.clone());
                if let Some(other) = instead {
                    self.say(&tr!("  {other} runs instead of {tool}", other = line(other), tool = line(tool)));
                } else if *attempt > 1 {
                    self.say(&tr!("  {tool}: attempt {attempt}", tool = line(tool), attempt = attempt));
                }
            }
            Fact::SubagentStarted(_)
            | Fact::SubagentAsked(_)
            | Fact::SubagentAnswered(_)
            | Fact::SubagentEnded(_) => self.show_subagent(fact),
            Fact::ToolDelegated { tool, .. } => {
                self.note(&tr!("{tool} waits for the client that declared it", tool = line(tool)));
            }
            Fact::ToolFinished { call, output, .. } => {
                let headline = output.headline.as_deref().and_then(sentence);
                let told = headline.as_deref().or(output.title.as_deref()).unwrap_or(&output.text);
                let first = told.trim().lines().next().unwrap_or_default();
                self.outcome("✓", call, first);
            }
            Fact::ToolFailed { call, failure, .. } | Fact::ToolRefused { call, failure, .. } => {
                self.outcome("✗", call, &failure_words(failure));
            }
            Fact::ToolUnknown { call, because, checked, .. } => {
                self.outcome("?", call, &unknown_words(because, checked.as_deref()));
            }
            Fact::ApprovalAnswered { answer, by, .. } => {
                self.note(&tr!("answered by {who}: {answer}", who = line(by), answer = card::said(answer)));
            }
            Fact::ApprovalVoted { by, .. } => self.note(&tr!("{who} has agreed; others must, too", who = line(by))),
            Fact::MessageQueued { .. } => self.note(&tr!("the model receives it before its next step")),
            Fact::BudgetSpent { because, notice } => {
                let told = notice.as_deref().and_then(sentence);
                self.note(&told.unwrap_or_else(|| line(because)));
            }
            Fact::HistoryCompacted(_) => self.note(&tr!("earlier messages are shortened for the model from here on")),
            Fact::RunResumed { .. } => self.note(&tr!("the run continues")),
            Fact::RunFinished { ending } if *ending != Ending::Answered => self.note(&ending_words(*ending)),
            Fact::RunFailed { code, message, notice } => {
                self.say(&format!("✗ {}", run_failure_words(code, message, notice.as_deref())));
            }
            Fact::RunCancelled(cancelled) => self.note(&tr!("stopped by {who}", who = line(&cancelled.by))),
            Fact::RunStarted(_)
            | Fact::ToolClaimed { .. }
            | Fact::ToolLate { .. }
            | Fact::ApprovalAsked(_)
            | Fact::ApprovalReminded { .. } | Fact::ApprovalEscalated { .. }
            | Fact::MessageTaken { .. }
            // It stands on the screen already.
            | Fact::TextCutOff { .. }
            | Fact::StepFinished { .. }
            | Fact::StepSnapshot(_)
            | Fact::RunWaiting { .. }
            | Fact::ToolDiscarded { .. }
            | Fact::RunFinished { .. } => {}
        }
        if fact.is_last() {
            self.end_line();
            self.shown.clear();
            self.labels.clear();
            self.markdown.clear();
        }
    }

    /// Ends the line that is being written, if one is.
    pub(super) fn end_line(&mut self) {
        if std::mem::take(&mut self.prompted) {
            self.out.push((Side::Beside, "\n".into()));
        }
        if let Some(part) = self.open.take() {
            let side = self.labels.get(&part).map_or(Side::Answer, |(kind, _)| side(*kind));
            let end = match self.markdown.get_mut(&part) {
                None => "\n".into(),
                Some(markdown) => {
                    let rest = markdown.flush();
                    if markdown.is_at_line_start() { rest } else { rest + "\n" }
                }
            };
            self.out.push((side, end));
        }
    }

    fn finished(&mut self, part: &PartId, kind: PartKind, whole: &str) {
        if !self.labels.contains_key(part) {
            let label = if kind == PartKind::Reasoning { tr!("thinking: ") } else { String::new() };
            self.labels.insert(part.clone(), (kind, label));
        }
        self.whole(part, kind, whole);
        self.end_line();
        self.shown.remove(part);
        self.markdown.remove(part);
    }

    /// All of a part that is known: what was shown of it is not shown again.
    fn whole(&mut self, part: &PartId, kind: PartKind, whole: &str) {
        let shown = self.shown.get(part).map_or("", String::as_str);
        match whole.strip_prefix(shown) {
            Some(rest) => {
                let rest = rest.to_owned();
                self.piece(part, kind, &rest);
            }
            None => {
                self.note(&tr!("it begins again"));
                self.shown.remove(part);
                self.markdown.remove(part);
                self.piece(part, kind, whole);
            }
        }
    }

    fn piece(&mut self, part: &PartId, kind: PartKind, piece: &str) {
        if piece.is_empty() {
            return;
        }
        if self.open.as_ref() != Some(part) {
            self.end_line();
            self.open = Some(part.clone());
            let label = self.labels.get(part).map(|(_, label)| label.clone()).unwrap_or_default();
            if !label.is_empty() {
                self.out.push((side(kind), self.dim(&label)));
            }
        }
        self.shown.entry(part.clone()).or_default().push_str(piece);
        let shown = text(piece);
        let shown = match (kind, self.columns) {
            (PartKind::Text, None) => shown.into_owned(),
            (PartKind::Text, Some(columns)) => {
                self.markdown.entry(part.clone()).or_insert_with(|| Markdown::new(columns)).push(&shown)
            }
            _ => self.dim(&shown),
        };
        self.out.push((side(kind), shown));
    }

    fn outcome(&mut self, mark: &str, call: &CallId, told: &str) {
        let tool = self.tools.get(call).map(|tool| line(tool)).unwrap_or_else(|| "tool".into());
        self.say(&format!("{mark} {tool}: {}", cut(&line(told), RESULT_CHARS_MAX)));
    }

    fn say(&mut self, said: &str) {
        self.end_line();
        self.out.push((Side::Beside, format!("{said}\n")));
    }

    fn dim(&self, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn side(kind: PartKind) -> Side {
    if kind == PartKind::Text { Side::Answer } else { Side::Beside }
}

fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max).chain(['…']).collect()
}

/// Why it is not known what became of a call.
fn unknown_words(because: &str, checked: Option<&str>) -> String {
    let checked = checked.map(|said| tr!("; its check says: {said}", said = said)).unwrap_or_default();
    tr!(
        "it may or may not have happened: {because}{checked}",
        because = line(&words(because)),
        checked = checked
    )
}

#[cfg(test)]
mod tests {
    use helve_types::{Failure, FailureKind, RunId, Trail};

    use super::*;

    fn part(n: u32) -> PartId {
        PartId::new(1, 1, n)
    }

    fn written(screen: &mut Screen) -> String {
        screen.take().into_iter().map(|(_, text)| text).collect()
    }

    fn started(n: u32, kind: PartKind, text: &str) -> Live {
        Live::PartStarted { part: part(n), kind, tool: None, text: text.into() }
    }

    fn delta(n: u32, text: &str) -> Live {
        Live::PartDelta { part: part(n), text: text.into() }
    }

    fn finished(n: u32, text: &str) -> Fact {
        Fact::TextFinished { step: 1, part: part(n), text: text.into() }
    }

    #[test]
    fn a_text_that_comes_again_after_a_lost_connection_is_not_doubled() {
        let mut screen = Screen::new(false);
        screen.live(&started(0, PartKind::Text, "Once "));
        screen.live(&delta(0, "upon"));
        // Back again: all of it so far, and then the rest.
        screen.live(&started(0, PartKind::Text, "Once upon a "));
        screen.live(&delta(0, "time"));
        screen.event(&finished(0, "Once upon a time."));
        assert_eq!(written(&mut screen), "Once upon a time.\n");
    }

    #[test]
    fn an_answer_that_broke_off_is_told_as_void() {
        let mut screen = Screen::new(false);
        screen.live(&started(0, PartKind::Text, "Half an"));
        screen.event(&Fact::StepRestarted {
            step: 1,
            attempt: 2,
            because: "reset\u{1b}[2J".into(),
            spent: None,
        });
        screen.event(&finished(1, "Whole."));
        let told = "Half an\n[the answer broke off: reset⟨U+001B⟩[2J; it begins again]\nWhole.\n";
        assert_eq!(written(&mut screen), told);
    }

    #[test]
    fn nothing_that_others_write_steers_the_terminal() {
        let call = CallId::new(RunId(Default::default()), 1, 0);
        let bad = "\u{1b}]0;gone\u{7}\u{202e}";
        let failure = Failure::new(FailureKind::Failed, bad);
        let mut screen = Screen::new(true);
        screen.live(&started(0, PartKind::Reasoning, bad));
        screen.live(&started(1, PartKind::Progress, bad));
        screen.event(&finished(2, bad));
        screen.event(&Fact::ToolRequested {
            step: 1,
            call: call.clone(),
            provider_id: None,
            tool: bad.into(),
            arguments: bad.into(),
            part: None,
            replaces: None,
            repairs: vec![],
        });
        screen.event(&Fact::ToolFailed { call, failure, trail: Trail::default() });
        screen.event(&Fact::RunFailed { code: bad.into(), message: bad.into(), notice: None });
        let all = written(&mut screen);
        let ours = all.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
        assert!(!ours.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{ours:?}");
        assert_eq!(ours.matches("⟨U+001B⟩]0;gone⟨U+0007⟩⟨U+202E⟩").count(), 8, "{ours}");
    }

    #[test]
    fn markdown_is_rendered_and_still_nothing_of_the_models_steers_the_terminal() {
        let mut screen = Screen::new(true);
        screen.render_markdown(60);
        screen.live(&started(0, PartKind::Text, "**bo"));
        screen.live(&delta(0, "ld\u{1b}[2J**\n| a |\n|---|\n"));
        // A line of ours in between does not lose what was held back.
        screen.note("a note");
        screen.event(&finished(0, "**bold\u{1b}[2J**\n| a |\n|---|\n| 1 |"));
        assert_eq!(
            written(&mut screen),
            "\u{1b}[1mbold⟨U+001B⟩[2J\u{1b}[0m\n\u{1b}[1ma\u{1b}[0m\n\u{1b}[2m─\u{1b}[0m\n\u{1b}[2m[a note]\u{1b}[0m\n| 1 |\n"
        );
    }

    #[test]
    fn the_answer_is_apart_from_what_is_told_beside_it() {
        let mut screen = Screen::new(false);
        screen.live(&started(0, PartKind::Reasoning, "hm"));
        screen.live(&started(1, PartKind::Text, "Yes"));
        screen.event(&finished(1, "Yes."));
        let answer = screen.take().into_iter().filter(|(side, _)| *side == Side::Answer);
        assert_eq!(answer.map(|(_, text)| text).collect::<String>(), "Yes.\n");
    }
}
