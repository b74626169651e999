//! A client that wants something: starts a run, follows it, answers what it is asked, runs what it is given, and adds
//! what it forgot to say.

use std::time::Duration;

use helve_types::{EventBody, Fact, MessageId, RunId, RunState};
use reqwest::StatusCode;
use serde_json::Value;
use uuid::Uuid;

use super::client_call::ClientCall;
use super::connection::{ServerConnection, ServerGone, Started};
use super::follow::{FollowedRun, LogPosition, StreamItem};
use super::log::{AcceptedMessage, AnsweredQuestion, Reader, Start};
use super::requested_run::{Preference, RequestedRun, answer, random_message};
use super::{ClientParts, lock};
use crate::rng::Rng;

/// The longest that a person thinks about a question.
const THINKING_MS: u64 = 250;

pub(super) struct ClientTask {
    number: usize,
    means: ClientParts,
    rng: Rng,
    wishes: usize,
    task: Task,
    /// The conversation of the last run.
    conversation: Option<String>,
}

/// What a client is about; it survives the death of a server.
enum Task {
    Nothing,
    /// A request whose answer is not in: where it stands in the log, and the conversation it is about.
    Starting {
        wish: Box<RequestedRun>,
        at: usize,
        conversation: Option<String>,
    },
    Following(Box<ClientRun>),
}

/// A run that the client has to do with.
struct ClientRun {
    run: RunId,
    wish: Box<RequestedRun>,
    reader: usize,
    questions: Vec<OpenQuestion>,
    errands: Vec<ClientCall>,
    /// What was said and perhaps not heard.
    speech: Option<(MessageId, String)>,
    events: usize,
}

/// A question that is open as far as the client knows.
struct OpenQuestion {
    approval: Uuid,
    answer: Option<Value>,
}

impl ClientTask {
    pub(super) fn new(number: usize, means: ClientParts, rng: Rng) -> Self {
        Self { number, means, rng, wishes: 0, task: Task::Nothing, conversation: None }
    }

    pub(super) async fn run(mut self) {
        let mut gone = 0;
        loop {
            let done = matches!(self.task, Task::Nothing);
            let Some(open) = self.means.door.next_server(gone, done).await else { return };
            let (http, base) = (self.means.http.clone(), open.base);
            let talk = ServerConnection {
                http: &http,
                base: &base,
                wire: self.means.wire,
                patience: self.means.patience,
            };
            if self.continue_run(&talk, open.towards).await.is_err() {
                gone = open.generation;
            }
        }
    }

    /// Does the next thing, to its end or to the server's.
    async fn continue_run(
        &mut self,
        talk: &ServerConnection<'_>,
        towards: Option<&str>,
    ) -> Result<(), ServerGone> {
        match std::mem::replace(&mut self.task, Task::Nothing) {
            Task::Nothing => {
                self.choose_run(towards);
                Ok(())
            }
            Task::Starting { wish, at, conversation } => {
                // Without a key a request must not be repeated: nobody knows whether it was heard.
                if wish.key.is_some() {
                    let (wish, conversation) = (wish.clone(), conversation.clone());
                    self.task = Task::Starting { wish, at, conversation };
                }
                let started = talk.start(&wish, conversation.as_deref()).await?;
                if matches!(started, Started::Unavailable) {
                    // Asked again under the same key; without one it is given up.
                    return Ok(());
                }
                self.task = Task::Nothing;
                self.run_started(started, wish, at);
                Ok(())
            }
            Task::Following(mut affair) => {
                let ended = self.follow(talk, &mut affair).await;
                if !matches!(ended, Ok(true)) {
                    self.task = Task::Following(affair);
                }
                ended.map(drop)
            }
        }
    }

    fn choose_run(&mut self, towards: Option<&str>) {
        self.wishes += 1;
        let leaning = Preference::to(towards.filter(|_| self.rng.chance(60)));
        let wish = RequestedRun::random(&mut self.rng, self.number, self.wishes, leaning);
        let conversation = self.conversation.take().filter(|_| wish.goes_on);
        let mut log = lock(&self.means.log);
        log.starts.push(Start { nonce: wish.nonce.clone(), key: wish.key.clone(), runs: vec![] });
        self.task = Task::Starting { wish: Box::new(wish), at: log.starts.len() - 1, conversation };
    }

    fn run_started(&mut self, started: Started, wish: Box<RequestedRun>, at: usize) {
        let mut log = lock(&self.means.log);
        match started {
            Started::Run { run, conversation } => {
                log.starts[at].runs.push(run);
                log.readers.push(Reader::new(run));
                let reader = log.readers.len() - 1;
                lock(&self.means.runs).push(run);
                self.conversation = conversation;
                let (questions, errands) = (vec![], vec![]);
                let affair = ClientRun { run, wish, reader, questions, errands, speech: None, events: 0 };
                self.task = Task::Following(Box::new(affair));
            }
            // An unkeyed request that was heard by a dead server may hold it.
            Started::Busy | Started::Unavailable => {}
            Started::Refused(said) => log.faults.push(format!("{} was refused: {said}", wish.nonce)),
        }
    }

    /// Follows the run; true when there is nothing left to do about it.
    async fn follow(
        &mut self,
        talk: &ServerConnection<'_>,
        affair: &mut ClientRun,
    ) -> Result<bool, ServerGone> {
        let log = self.means.log.clone();
        // What may have died with the last server is done again.
        for question in &affair.questions {
            self.answer_question(talk, question).await?;
        }
        self.send_message(talk, affair).await?;
        self.run_errands(talk, affair).await?;
        let place = LogPosition { log: &log, at: affair.reader };
        let Some(mut following) = FollowedRun::begin(talk, place).await? else { return Ok(true) };
        loop {
            let event = match following.next().await? {
                StreamItem::Event(event) => event,
                StreamItem::Live => {
                    if affair.wish.hang_up_after == Some(following.seen) {
                        return Ok(false);
                    }
                    continue;
                }
                StreamItem::End => return Ok(false),
                StreamItem::Silence => return Ok(true),
            };
            affair.events += 1;
            if self.handle_event(talk, affair, *event).await? {
                return Ok(true);
            }
            self.act_unasked(talk, affair).await?;
            if affair.wish.hang_up_after == Some(following.seen) {
                return Ok(false);
            }
        }
    }

    /// Does what an event asks for; true when the run is over, or waits for what will not come.
    async fn handle_event(
        &mut self,
        talk: &ServerConnection<'_>,
        affair: &mut ClientRun,
        event: EventBody,
    ) -> Result<bool, ServerGone> {
        match event.fact {
            Fact::ApprovalAsked(asked) => {
                let answer = answer(&mut self.rng, &asked);
                affair.questions.push(OpenQuestion { approval: asked.approval.0, answer });
                if self.rng.chance(30) {
                    // A person thinks about it, and the server may not live to hear the answer.
                    tokio::time::sleep(Duration::from_millis(self.rng.below(THINKING_MS))).await;
                }
                if let Some(question) = affair.questions.last() {
                    self.answer_question(talk, question).await?;
                }
            }
            Fact::ApprovalAnswered { approval, .. } => {
                affair.questions.retain(|question| question.approval != approval.0);
            }
            Fact::ToolDelegated { call, .. } if self.rng.chance(85) => {
                let (client, spoils_it) = (format!("c{}", self.number), self.rng.chance(10));
                affair.errands.push(ClientCall::new(affair.run, call, &client, &affair.wish.user, spoils_it));
                self.run_errands(talk, affair).await?;
            }
            Fact::RunWaiting { state } => {
                let questions = &affair.questions;
                let unanswered = questions.iter().any(|question| question.answer.is_none());
                if state == RunState::NeedsAttention && questions.is_empty() && self.rng.chance(70) {
                    // It was taken up too often; nothing is asked, so it can only be stopped.
                    talk.cancel(affair.run).await?;
                } else if unanswered || questions.is_empty() {
                    return Ok(true);
                }
            }
            fact if fact.is_last() => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    /// What the client does of its own accord.
    async fn act_unasked(
        &mut self,
        talk: &ServerConnection<'_>,
        affair: &mut ClientRun,
    ) -> Result<(), ServerGone> {
        if affair.wish.cancel_after == Some(affair.events) {
            let status = talk.cancel(affair.run).await?;
            if status != StatusCode::ACCEPTED {
                let run = affair.run;
                lock(&self.means.log).faults.push(format!("stopping run {run} gave {status}"));
            }
        }
        if affair.wish.speak_after == Some(affair.events) {
            let message = MessageId(Uuid::from_u128(self.rng.next_u128()));
            affair.speech = Some((message, random_message(&mut self.rng)));
            self.send_message(talk, affair).await?;
        }
        Ok(())
    }

    /// Says what is to be said, until it is known whether it was heard.
    async fn send_message(
        &self,
        talk: &ServerConnection<'_>,
        affair: &mut ClientRun,
    ) -> Result<(), ServerGone> {
        let Some((message, text)) = &affair.speech else { return Ok(()) };
        let status = talk.send_message(affair.run, *message, text).await?;
        let mut log = lock(&self.means.log);
        match status {
            StatusCode::ACCEPTED => {
                log.said.push(AcceptedMessage { run: affair.run, message: *message, text: text.clone() });
            }
            // It was over before.
            StatusCode::CONFLICT => {}
            status => log.faults.push(format!("saying something to {} gave {status}", affair.run)),
        }
        affair.speech = None;
        Ok(())
    }

    async fn run_errands(
        &self,
        talk: &ServerConnection<'_>,
        affair: &mut ClientRun,
    ) -> Result<(), ServerGone> {
        for errand in &mut affair.errands {
            errand.continue_call(talk, &self.means.ledger, &self.means.log).await?;
        }
        affair.errands.retain(|errand| !errand.is_over());
        Ok(())
    }

    async fn answer_question(
        &self,
        talk: &ServerConnection<'_>,
        question: &OpenQuestion,
    ) -> Result<(), ServerGone> {
        let Some(answer) = &question.answer else { return Ok(()) };
        let status = talk.answer_approval(question.approval, answer).await?;
        let mut log = lock(&self.means.log);
        match status {
            StatusCode::OK => {
                log.answers.push(AnsweredQuestion { approval: question.approval, answer: answer.clone() });
            }
            // The run was stopped meanwhile, or the question was settled before.
            StatusCode::CONFLICT => {}
            status => log.faults.push(format!("answering {} gave {status}", question.approval)),
        }
        Ok(())
    }
}
