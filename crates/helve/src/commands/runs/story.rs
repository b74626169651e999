//! A run as a story: one fact, one line, and what others wrote behind a mark.

use helve_types::{
    Answer, ApprovalId, CallId, Ending, EventBody, Fact, Failure, RunState, Stage, StepEdge, StepSnapshot,
    StopReason, Trail,
};

use crate::client::{Run, in_gutter, line, prose_in_gutter, text, when};
use crate::commands::approvals::card;
use crate::commands::notice::{run_failure_words, sentence};
use crate::i18n::{language, tr, words as foreign_words};
use crate::output::padded;

/// Of an output so much is shown here; the model may have read more.
const OUTPUT_CHARS_MAX: usize = 2_000;

/// Stands for the agent where `helve tools call` made the call without a server.
const COMMAND_LINE: &str = "command line";

/// What is known of the run itself.
pub(crate) fn head(run: &Run, currency: &str) -> String {
    let usage = run.spent.usage;
    let mut fields = vec![
        (tr!("run"), run.run.clone()),
        (tr!("state"), state_word(run.state)),
        (
            tr!("agent"),
            direct_call(run).unwrap_or_else(|| {
                tr!("{agent}, model {model}", agent = line(&run.agent), model = line(&run.model))
            }),
        ),
        (tr!("began"), when(run.created_at)),
    ];
    fields.extend(run.conversation.clone().map(|id| (tr!("conversation"), id)));
    fields.extend(run.parent.as_ref().map(|parent| {
        (tr!("works for"), tr!("{agent}, run {run}", agent = line(&parent.agent), run = line(&parent.run)))
    }));
    fields.extend(run.children.iter().map(|child| {
        let state = state_word(child.state);
        (tr!("subagent"), format!("{}, {state}, {}", line(&child.agent), line(&child.run)))
    }));
    fields.extend(run.ended_at.map(|at| (tr!("ended"), when(at))));
    let cost = run.spent.cost_nanos.map(|nanos| format!(", {} {currency}", money(nanos)));
    let spent =
        tr!("{input} tokens in, {output} out", input = usage.input_tokens, output = usage.output_tokens);
    fields.push((tr!("spent"), spent + cost.as_deref().unwrap_or_default().trim_end()));
    let lines: String = fields.iter().map(|(name, value)| format!("{}{value}\n", padded(name, 14))).collect();
    lines + "\n"
}

/// Who called the tool of a run without an agent and a model.
pub(crate) fn direct_call(run: &Run) -> Option<String> {
    let is_direct = run.model.is_empty();
    is_direct.then(|| match run.agent.as_str() {
        COMMAND_LINE => tr!("called from the command line"),
        _ => tr!("called directly"),
    })
}

/// Billionths as a decimal number.
fn money(nanos: u64) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// One event. Nothing is said of what is only for programs.
pub(crate) fn told(event: &EventBody) -> String {
    let Some((what, rest)) = words(&event.fact) else { return String::new() };
    let clock = when(event.at);
    let clock = clock.split_once('T').map_or(clock.as_str(), |(_, time)| time.trim_end_matches('Z'));
    let head = format!("{clock}  {}", padded(&what, 11));
    match rest {
        Words::Line(text) => format!("{head}{text}\n"),
        Words::Text(text) => format!("{head}\n{}", prose_in_gutter(&text)),
        Words::Both(line, text) => format!("{head}{line}\n{}", in_gutter(&text)),
    }
}

enum Words {
    Line(String),
    /// Of several lines, by somebody else.
    Text(String),
    Both(String, String),
}

fn answer_words(approval: ApprovalId, answer: &Answer, by: &str) -> Words {
    let (who, answer) = (line(by), card::said(answer));
    Words::Line(tr!("{approval} by {who}: {answer}", approval = approval, who = who, answer = answer))
}

fn words(fact: &Fact) -> Option<(String, Words)> {
    let said = |text: &str| Words::Line(line(text));
    Some(match fact {
        Fact::RunStarted(started) => (tr!("person"), Words::Text(started.text.clone())),
        Fact::StepRestarted { because, .. } => {
            (tr!("again"), said(&tr!("the answer broke off: {why}", why = foreign_words(because))))
        }
        Fact::ReasoningFinished { text, .. } => (tr!("thought"), Words::Text(text.clone())),
        Fact::TextFinished { text, .. } => (tr!("model"), Words::Text(text.clone())),
        Fact::TextCutOff { text, .. } => (tr!("cut off"), Words::Text(text.clone())),
        Fact::ApprovalAsked(question) => {
            let what = match question.call() {
                Some(call) => format!("{} {}", number(&call.id), line(&call.tool)),
                None => tr!("about the run"),
            };
            (
                tr!("question"),
                Words::Line(format!(
                    "{} {what}: {}",
                    question.approval,
                    match question.asked_by_model() {
                        Some(asked) => line(&asked.question),
                        None => line(&card::because(question, language())),
                    }
                )),
            )
        }
        Fact::ApprovalAnswered { approval, answer, by, .. } => {
            (tr!("answered"), answer_words(*approval, answer, by))
        }
        Fact::ApprovalVoted { approval, answer, by } => (tr!("agreed"), answer_words(*approval, answer, by)),
        Fact::ApprovalReminded { approval } => (tr!("reminded"), Words::Line(approval.to_string())),
        Fact::ApprovalEscalated { approval } => (tr!("escalated"), Words::Line(approval.to_string())),
        Fact::MessageQueued { text, by, .. } => {
            (tr!("person"), Words::Both(tr!("{who}, during the run", who = line(by)), text.clone()))
        }
        Fact::BudgetSpent { because, notice } => {
            let told = notice.as_deref().and_then(sentence);
            (tr!("budget"), Words::Line(told.unwrap_or_else(|| line(because))))
        }
        Fact::HistoryCompacted(_) => {
            (tr!("shortened"), Words::Line(tr!("earlier messages are shortened for the model")))
        }
        Fact::StepFinished { step, reason, usage, model, .. } => {
            let model = model.as_ref().map(|name| tr!(" by {who}", who = line(name))).unwrap_or_default();
            let (input, output) = (usage.input_tokens, usage.output_tokens);
            let why = reason_words(*reason);
            (
                tr!("step"),
                Words::Line(tr!(
                    "{step}{model}{why}, {input} tokens in, {output} out",
                    step = step,
                    model = model,
                    why = why,
                    input = input,
                    output = output
                )),
            )
        }
        Fact::StepSnapshot(snapshot) => (tr!("snapshot"), Words::Line(snapshot_words(snapshot))),
        Fact::RunWaiting { state, .. } => (tr!("waits"), Words::Line(state_word(*state))),
        Fact::RunResumed { resume: 0 } => (tr!("resumed"), Words::Line(tr!("at the request of a person"))),
        Fact::RunResumed { resume } => (
            tr!("resumed"),
            Words::Line(tr!("after the server stopped, attempt {attempt}", attempt = resume)),
        ),
        Fact::RunFinished { ending } => (tr!("end"), Words::Line(ending_words(*ending))),
        Fact::RunFailed { code, message, notice } => (
            tr!("FAILED"),
            Words::Line(format!("{}: {}", line(code), run_failure_words(code, message, notice.as_deref()))),
        ),
        Fact::RunCancelled(cancelled) => {
            (tr!("stopped"), Words::Line(tr!("by {who}", who = line(&cancelled.by))))
        }
        _ => return call_words(fact),
    })
}

/// The words of a fact about a subagent; none for others.
fn subagent_words(fact: &Fact) -> Option<(String, Words)> {
    Some(match fact {
        Fact::SubagentStarted(started) => {
            let (call, agent, run) = (number(&started.call), line(&started.agent), started.run);
            let head = if started.joins_earlier_run() {
                tr!("{call} waits for {agent}, run {run}", call = call, agent = agent, run = run)
            } else if started.background {
                tr!(
                    "{call} gives a task to {agent} in the background, run {run}",
                    call = call,
                    agent = agent,
                    run = run
                )
            } else {
                tr!("{call} gives a task to {agent}, run {run}", call = call, agent = agent, run = run)
            };
            (tr!("subagent"), Words::Both(head, started.task.clone()))
        }
        Fact::SubagentAsked(asked) => {
            let question = &asked.question;
            let agent = question.asker.as_ref().map(|asker| line(&asker.agent)).unwrap_or_default();
            let tool = question.call().map(|call| line(&call.tool)).unwrap_or_default();
            let head = tr!(
                "{call} {agent} asks about {tool}: {approval}",
                call = number(&asked.call),
                agent = agent,
                tool = tool,
                approval = question.approval
            );
            (tr!("question"), Words::Line(head))
        }
        Fact::SubagentAnswered(answered) => {
            let said = card::said(&answered.answer);
            (tr!("answer"), Words::Line(tr!("{said} by {who}", said = said, who = line(&answered.by))))
        }
        Fact::SubagentEnded(ended) => {
            let state = state_word(ended.state);
            let head = tr!("run {run}: {state}", run = ended.run, state = state);
            (tr!("subagent"), Words::Line(head))
        }
        _ => return None,
    })
}

/// The words of a fact about a call; none for facts that people are not shown.
fn call_words(fact: &Fact) -> Option<(String, Words)> {
    Some(match fact {
        Fact::ToolRequested { call, tool, arguments, .. } => {
            (tr!("call"), Words::Both(format!("{} {}", number(call), line(tool)), arguments.clone()))
        }
        Fact::ToolStarted { call, tool, attempt, instead, arguments, .. } => {
            let runs = instead.as_ref().map(|other| tr!(", {other} instead", other = line(other)));
            let what = tr!(
                "{call} {tool}, attempt {attempt}{instead}",
                call = number(call),
                tool = line(tool),
                attempt = attempt,
                instead = runs.unwrap_or_default()
            );
            match arguments {
                Some(arguments) => (tr!("sent"), Words::Both(what + &tr!(", changed to"), arguments.clone())),
                None => (tr!("sent"), Words::Line(what)),
            }
        }
        Fact::ToolDelegated { call, tool, .. } => (
            tr!("client"),
            Words::Line(tr!("{call} {tool} runs in the client", call = number(call), tool = line(tool))),
        ),
        Fact::ToolClaimed { call, by, .. } => (
            tr!("client"),
            Words::Line(tr!("{call} is claimed by {who}", call = number(call), who = line(by))),
        ),
        Fact::ToolFinished { call, output, trail } => {
            let cut = output.text.chars().count() > OUTPUT_CHARS_MAX;
            let mut shown: String = output.text.chars().take(OUTPUT_CHARS_MAX).collect();
            if cut {
                shown.push('…');
            }
            (
                tr!("result"),
                Words::Both(
                    tr!("{call} finished{stages}", call = number(call), stages = stages(trail)),
                    shown,
                ),
            )
        }
        Fact::ToolFailed { call, failure, trail } => {
            (tr!("failed"), Words::Both(failure_head(call, failure, trail), failure.message.clone()))
        }
        Fact::ToolRefused { call, failure, trail } => {
            (tr!("refused"), Words::Both(failure_head(call, failure, trail), failure.message.clone()))
        }
        Fact::ToolUnknown { call, because, checked, trail, .. } => {
            let checked =
                checked.as_ref().map(|said| tr!("; its check says: {said}", said = said)).unwrap_or_default();
            let head = tr!(
                "{call} may or may not have happened{stages}",
                call = number(call),
                stages = stages(trail)
            );
            (tr!("unknown"), Words::Both(head, format!("{}{checked}", foreign_words(because))))
        }
        Fact::ToolDiscarded { tool, arguments, .. } => {
            (tr!("discarded"), Words::Both(line(tool), arguments.clone()))
        }
        Fact::ToolLate { call, .. } => {
            (tr!("late"), Words::Line(tr!("{call} came after the end", call = number(call))))
        }
        _ => return subagent_words(fact),
    })
}

/// What people are told of a failure; what the model was told stands below it.
fn failure_head(call: &CallId, failure: &Failure, trail: &Trail) -> String {
    let told = sentence(&failure.user_notice()).map(|told| format!(": {told}")).unwrap_or_default();
    format!("{} {}{}{told}", number(call), failure.kind.as_str(), stages(trail))
}

fn snapshot_words(StepSnapshot { step, edge, hook, snapshot, .. }: &StepSnapshot) -> String {
    let hook = line(hook);
    match (edge, snapshot) {
        (StepEdge::Before, Some(id)) => {
            tr!("{id} before step {step}, by {hook}", id = id, step = step, hook = hook)
        }
        (StepEdge::After, Some(id)) => {
            tr!("{id} after step {step}, by {hook}", id = id, step = step, hook = hook)
        }
        (StepEdge::Before, None) => tr!("none before step {step}: {hook} failed", step = step, hook = hook),
        (StepEdge::After, None) => tr!("none after step {step}: {hook} failed", step = step, hook = hook),
    }
}

/// The call's place in its run.
fn number(call: &CallId) -> String {
    call.position()
}

/// What each stage decided, in a few words.
fn stages(trail: &Trail) -> String {
    let stages: Vec<String> = trail.0.iter().map(stage).collect();
    if stages.is_empty() { String::new() } else { format!(" [{}]", stages.join(" → ")) }
}

fn stage(stage: &Stage) -> String {
    match stage {
        Stage::Judge { verdict, rule } => {
            let rule = rule.as_ref().map(|rule| format!(" by {}", line(rule))).unwrap_or_default();
            format!("judge: {}{rule}", line(verdict))
        }
        Stage::Cache { found } => format!("cache: {}", line(found)),
        Stage::Limit { refused: Some(refused), .. } => format!("limit: {}", line(refused)),
        Stage::Limit { waited_ms, .. } => tr!("limit: waited {ms} ms", ms = waited_ms),
        Stage::Breaker { state } => format!("breaker: {}", line(state)),
        Stage::Run { attempt, ms } => format!("run {attempt}: {ms} ms"),
        Stage::Hook { name, did } => format!("hook {}: {}", line(name), line(did)),
        Stage::Fallback { by, .. } => format!("fallback: {}", line(by)),
        Stage::Skipped { guard } => tr!("{guard} left out", guard = line(guard)),
        Stage::Check { problem: Some(problem), .. } => format!("check: {}", line(problem)),
        Stage::Check { repairs, .. } if !repairs.is_empty() => {
            tr!("check: repaired {what}", what = line(&repairs.join(", ")))
        }
        Stage::Bound { whole_bytes, kept_bytes } => {
            tr!("cut: {kept} of {whole} bytes", kept = kept_bytes, whole = whole_bytes)
        }
        // What passed without a word is named and no more.
        other => {
            let name = serde_json::to_value(other).unwrap_or_default();
            name["stage"].as_str().map(|name| text(name).into_owned()).unwrap_or_else(|| "…".into())
        }
    }
}

fn reason_words(reason: StopReason) -> String {
    match reason {
        StopReason::Stop | StopReason::ToolCalls => String::new(),
        StopReason::Length => tr!(", cut off at the length limit"),
        StopReason::ContentFilter => tr!(", blocked by the vendor's filter"),
        StopReason::Cancelled => tr!(", stopped"),
        StopReason::Failed => tr!(", not finished"),
        StopReason::Other => tr!(", ended for an unknown reason"),
    }
}

/// A state as people read it.
pub(crate) fn state_word(state: RunState) -> String {
    match state {
        RunState::Running => tr!("running"),
        RunState::WaitingApproval => tr!("waiting_approval"),
        RunState::WaitingClient => tr!("waiting_client"),
        RunState::WaitingSubagent => tr!("waiting_subagent"),
        RunState::NeedsAttention => tr!("needs_attention"),
        RunState::Completed => tr!("completed"),
        RunState::Failed => tr!("failed"),
        RunState::Cancelled => tr!("cancelled"),
    }
}

pub(crate) fn ending_words(ending: Ending) -> String {
    match ending {
        Ending::Answered => tr!("answered"),
        Ending::StepLimit => tr!("the step limit is reached"),
        Ending::ClientTools => tr!("the client has to continue"),
        Ending::WithoutCall => tr!("a tool call was required, and none was made"),
        Ending::Repeating => tr!("it repeated the same calls"),
        Ending::BudgetSpent => tr!("its budget is used up"),
        Ending::Refused => tr!("a call was refused"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use helve_types::{Failure, FailureKind, RunId, Timestamp};

    use super::*;

    fn check(fact: Fact, expected: expect_test::Expect) {
        expected.assert_eq(&told(&EventBody { at: Timestamp(3_723_000), fact }));
    }

    #[test]
    fn what_others_wrote_stands_behind_a_mark_and_steers_nothing() {
        let call = CallId::new(RunId(Default::default()), 2, 1);
        check(
            Fact::TextFinished {
                step: 1,
                part: helve_types::PartId::new(1, 1, 0),
                text: "\u{1b}[31mred\n12:00:00  person".into(),
            },
            expect![[r#"
                01:02:03  model      
                  | ⟨U+001B⟩[31mred
                  | 12:00:00  person
            "#]],
        );
        let trail = Trail(vec![
            Stage::Judge { verdict: "ask".into(), rule: Some("all\u{7}".into()) },
            Stage::Run { attempt: 1, ms: 12 },
        ]);
        let failure = Failure::new(FailureKind::TimedOut, "too slow");
        check(
            Fact::ToolFailed { call, failure, trail },
            expect![[r#"
                01:02:03  failed     2:1 timed_out [judge: ask by all⟨U+0007⟩ → run 1: 12 ms]: There was no answer in time.
                  | too slow
            "#]],
        );
    }

    #[test]
    fn money_is_written_out() {
        assert_eq!(money(1_500_000_000), "1.5");
        assert_eq!(money(120), "0.00000012");
        assert_eq!(money(0), "0");
    }
}
