//! Views: what readers saw and what is kept beside the log are folds of the log.

use std::collections::BTreeSet;

use helve_runtime::Run as Machine;
use helve_types::{Fact, StopReason};

use super::Evidence;
use crate::CANARY;
use crate::mock::first_words;
use crate::snapshot::Run;
use crate::view::View;

pub(super) fn check_readers(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for client in &evidence.clients {
        wrong.extend(client.faults.iter().cloned());
        for reader in &client.readers {
            let of = format!("a reader of run {}", reader.run);
            wrong.extend(reader.view.faults.iter().map(|fault| format!("{of}: {fault}")));
            let Some(run) = evidence.disk.runs.get(&reader.run) else { continue };
            let seen = |event: &&crate::snapshot::Event| event.seq <= reader.view.last;
            let log = run.log.iter().filter(seen).map(|event| (event.seq, &event.body));
            let told = View::from_log(log);
            if !reader.view.agrees(&told) {
                wrong.push(format!("{of} has {:?}, the log has {told:?}", reader.view));
            }
            if reader.view.over && !reader.view.open.is_empty() {
                wrong.push(format!("{of} still shows {:?} of a run that is over", reader.view.open));
            }
        }
    }
    wrong
}

pub(super) fn check_secrets(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let told = run.log.iter().filter(|event| event.json.contains(CANARY));
        wrong.extend(told.map(|event| format!("event {} of run {id} tells a secret", event.seq)));
    }
    for (conversation, messages) in &evidence.disk.messages {
        let told = messages
            .iter()
            .filter(|message| serde_json::to_string(message).is_ok_and(|text| text.contains(CANARY)));
        wrong.extend(told.map(|_| format!("a message of conversation {conversation} tells a secret")));
    }
    for reader in evidence.clients.iter().flat_map(|client| &client.readers) {
        wrong.extend(reader.secrets.iter().map(|frame| format!("a reader of {} got `{frame}`", reader.run)));
    }
    if evidence.server_log.contains(CANARY) {
        wrong.push("the server's log tells a secret".into());
    }
    wrong
}

/// The mock's texts are the first words of one sequence, as many as its script says. Of a message that a person
/// stopped there is the beginning.
pub(super) fn check_texts(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let mut may_say: BTreeSet<String> = BTreeSet::new();
        for event in &run.log {
            match &event.body.fact {
                Fact::RunStarted(started) => may_say.extend(is_whole_text(&started.text)),
                Fact::MessageQueued { text, .. } => may_say.extend(is_whole_text(text)),
                Fact::TextFinished { step, text, .. } => {
                    let said = text.trim();
                    let stopped = was_stopped(run, *step);
                    if !may_say.iter().any(|whole| said == whole || (stopped && whole.starts_with(said))) {
                        wrong.push(format!("event {} of run {id} is `{text}`, not {may_say:?}", event.seq));
                    }
                }
                _ => {}
            }
        }
    }
    wrong
}

fn was_stopped(run: &Run, of: u32) -> bool {
    run.log.iter().any(|event| {
        matches!(event.body.fact, Fact::StepFinished { step, reason: StopReason::Cancelled, .. } if step == of)
    })
}

/// What a model says that is asked this.
fn is_whole_text(message: &str) -> Option<String> {
    let (_, script) = message.split_once("text=")?;
    let digits: String = script.chars().take_while(char::is_ascii_digit).collect();
    Some(first_words(digits.parse().ok()?).trim().to_owned())
}

/// The message that history shows of a run is the run's own log, folded.
pub(super) fn check_messages(evidence: &Evidence) -> Vec<String> {
    let mut wrong = vec![];
    for (id, run) in &evidence.disk.runs {
        let Some(conversation) = run.conversation.filter(|_| run.state.is_final()) else { continue };
        let log = run.log.iter().map(|event| (event.body.at, &event.body.fact));
        let Some(machine) = Machine::replay(*id, run.setup.clone(), log) else { continue };
        let kept = evidence.disk.messages.get(&conversation).and_then(|all| kept_message(run, all));
        match kept {
            None => wrong.push(format!("run {id} is over and left no message")),
            Some(kept) if kept.parts != machine.message().parts => {
                wrong.push(format!(
                    "run {id} left {:?}, its log says {:?}",
                    kept.parts,
                    machine.message().parts
                ));
            }
            Some(_) => {}
        }
    }
    wrong
}

/// After the history and the user's message comes the run's.
fn kept_message<'a>(run: &Run, all: &'a [helve_types::Message]) -> Option<&'a helve_types::Message> {
    all.get(run.history + 1)
}

#[cfg(test)]
mod tests {
    use helve_types::{Ending, Fact, Message, MessageId, PartId, RunState, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::check::story::{Story, violations_of};
    use crate::view::Item;

    #[test]
    fn a_reader_that_saw_something_else_breaks_i11() {
        let mut story = Story::with_log(&["requested", "started", "finished"]);
        story.reads_all();
        assert!(violations_of("I11", &story).is_empty());
        if let Some(Item::Call(call)) = story.reader().view.items.first_mut() {
            call.told = "something else".into();
        }
        assert_eq!(violations_of("I11", &story).len(), 1);
        story.reader().view.faults.push("event 3 came after event 3".into());
        assert_eq!(violations_of("I11", &story).len(), 2);
        story.client().faults.push("a 409 for an event that was sent".into());
        assert_eq!(violations_of("I11", &story).len(), 3);
    }

    #[test]
    fn a_secret_in_an_event_a_frame_or_the_log_breaks_i17() {
        let mut story = Story::with_log(&["requested", "started", "finished"]);
        story.reads_all();
        assert!(violations_of("I17", &story).is_empty());
        story.evidence.server_log = format!("cannot ask with {CANARY}");
        assert_eq!(violations_of("I17", &story).len(), 1);
        story.log()[3].json.push_str(CANARY);
        assert_eq!(violations_of("I17", &story).len(), 2);
        story.reader().read_frame(None, CANARY);
        assert_eq!(violations_of("I17", &story).len(), 3);
        let message = Message::user(MessageId(Uuid::from_u128(1)), Timestamp(0), CANARY);
        story.evidence.disk.messages.insert(Uuid::from_u128(3), vec![message]);
        assert_eq!(violations_of("I17", &story).len(), 4);
    }

    #[test]
    fn a_text_that_the_model_did_not_say_like_this_breaks_m1() {
        for (text, wrong) in
            [(first_words(3), 0), (first_words(2), 1), (format!("{}{}", first_words(1), first_words(3)), 1)]
        {
            let mut story = Story::with_log(&[]);
            let queued = "and also [[text=3,gap=2]]".to_owned();
            let message = MessageId(Uuid::from_u128(8));
            story.add(Fact::MessageQueued { message, text: queued, by: "mei".into() });
            story.add(Fact::TextFinished { step: 1, part: PartId::new(1, 1, 0), text: text.clone() });
            assert_eq!(violations_of("M1", &story).len(), wrong, "{text}");
        }
    }

    #[test]
    fn a_message_that_is_not_the_fold_of_its_log_breaks_r3() {
        let mut story = Story::with_log(&["requested", "started", "finished"]);
        let conversation = Uuid::from_u128(3);
        story.row().conversation = Some(conversation);
        assert!(violations_of("R3", &story).is_empty());
        story.add(Fact::RunFinished { ending: Ending::Answered });
        story.row().state = RunState::Completed;
        assert_eq!(violations_of("R3", &story).len(), 1);
        let message = |n| Message::user(MessageId(Uuid::from_u128(n)), Timestamp(0), "go");
        let mut reply = story.machine().message().clone();
        story.evidence.disk.messages.insert(conversation, vec![message(1), reply.clone()]);
        assert!(violations_of("R3", &story).is_empty());
        reply.parts.clear();
        story.evidence.disk.messages.insert(conversation, vec![message(1), reply]);
        assert_eq!(violations_of("R3", &story).len(), 1);
    }
}
