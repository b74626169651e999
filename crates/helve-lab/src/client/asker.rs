//! A client that wants something: starts a run, follows it, answers what it is asked.

use helve_types::{Fact, RunId, RunState};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use super::follow::{Following, Place, Seen};
use super::log::{Answered, Reader, Start};
use super::talk::{Gone, Started, Talk};
use super::wish::{Wish, answer};
use super::{Door, Runs, SharedLog, lock};
use crate::dice::Dice;

pub(super) struct Asker {
    number: usize,
    door: Door,
    http: Client,
    log: SharedLog,
    runs: Runs,
    dice: Dice,
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
        wish: Box<Wish>,
        at: usize,
        conversation: Option<String>,
    },
    Following {
        run: RunId,
        wish: Box<Wish>,
        reader: usize,
        questions: Vec<Question>,
        events: usize,
    },
}

/// A question that is open as far as the client knows.
struct Question {
    approval: Uuid,
    answer: Option<Value>,
}

impl Asker {
    pub(super) fn new(
        number: usize,
        door: Door,
        http: Client,
        log: SharedLog,
        runs: Runs,
        dice: Dice,
    ) -> Self {
        Self { number, door, http, log, runs, dice, wishes: 0, task: Task::Nothing, conversation: None }
    }

    pub(super) async fn run(mut self) {
        let mut gone = 0;
        loop {
            let done = matches!(self.task, Task::Nothing);
            let Some(open) = self.door.next(gone, done).await else { return };
            let (http, base) = (self.http.clone(), open.base);
            let talk = Talk { http: &http, base: &base };
            if self.go_on(&talk).await.is_err() {
                gone = open.generation;
            }
        }
    }

    /// Does the next thing, to its end or to the server's.
    async fn go_on(&mut self, talk: &Talk<'_>) -> Result<(), Gone> {
        match std::mem::replace(&mut self.task, Task::Nothing) {
            Task::Nothing => {
                self.wish();
                Ok(())
            }
            Task::Starting { wish, at, conversation } => {
                // Without a key a request must not be repeated: nobody knows whether it was heard.
                if wish.key.is_some() {
                    let (wish, conversation) = (wish.clone(), conversation.clone());
                    self.task = Task::Starting { wish, at, conversation };
                }
                let started = talk.start(&wish, conversation.as_deref()).await?;
                self.task = Task::Nothing;
                self.started(started, wish, at);
                Ok(())
            }
            Task::Following { run, wish, reader, mut questions, mut events } => {
                let place = Place { log: &self.log.clone(), at: reader };
                let ended = self.follow(talk, run, &wish, place, &mut questions, &mut events).await;
                if !matches!(ended, Ok(true)) {
                    self.task = Task::Following { run, wish, reader, questions, events };
                }
                ended.map(drop)
            }
        }
    }

    fn wish(&mut self) {
        self.wishes += 1;
        let wish = Wish::throw(&mut self.dice, self.number, self.wishes);
        let conversation = self.conversation.take().filter(|_| wish.goes_on);
        let mut log = lock(&self.log);
        log.starts.push(Start { nonce: wish.nonce.clone(), key: wish.key.clone(), runs: vec![] });
        self.task = Task::Starting { wish: Box::new(wish), at: log.starts.len() - 1, conversation };
    }

    fn started(&mut self, started: Started, wish: Box<Wish>, at: usize) {
        let mut log = lock(&self.log);
        match started {
            Started::Run { run, conversation } => {
                log.starts[at].runs.push(run);
                log.readers.push(Reader::new(run));
                let reader = log.readers.len() - 1;
                lock(&self.runs).push(run);
                self.conversation = conversation;
                self.task = Task::Following { run, wish, reader, questions: vec![], events: 0 };
            }
            // An unkeyed request that was heard by a dead server may hold it.
            Started::Busy => {}
            Started::Refused(said) => log.faults.push(format!("{} was refused: {said}", wish.nonce)),
        }
    }

    /// Follows the run; true when there is nothing left to do about it.
    async fn follow(
        &mut self,
        talk: &Talk<'_>,
        run: RunId,
        wish: &Wish,
        place: Place<'_>,
        questions: &mut Vec<Question>,
        events: &mut usize,
    ) -> Result<bool, Gone> {
        // Answers that may have died with the last server are given again.
        for question in &*questions {
            self.settle(talk, question).await?;
        }
        let Some(mut following) = Following::begin(talk, place).await? else { return Ok(true) };
        loop {
            let event = match following.next().await? {
                Seen::Event(event) => event,
                Seen::Live => {
                    if wish.hang_up_after == Some(following.seen) {
                        return Ok(false);
                    }
                    continue;
                }
                Seen::End => return Ok(false),
                Seen::Silence => return Ok(true),
            };
            *events += 1;
            match event.fact {
                Fact::ApprovalAsked(asked) => {
                    let kind = serde_json::to_value(asked.kind).unwrap_or_default();
                    let answer = answer(&mut self.dice, kind.as_str().unwrap_or_default());
                    let question = Question { approval: asked.approval.0, answer };
                    self.settle(talk, &question).await?;
                    questions.push(question);
                }
                Fact::ApprovalAnswered { approval, .. } => {
                    questions.retain(|question| question.approval != approval.0);
                }
                Fact::RunWaiting { state } => {
                    let unanswered = questions.iter().any(|question| question.answer.is_none());
                    if state == RunState::NeedsAttention && questions.is_empty() && self.dice.percent(70) {
                        // It was taken up too often; nothing is asked, so it can only be stopped.
                        talk.cancel(run).await?;
                    } else if unanswered || questions.is_empty() {
                        return Ok(true);
                    }
                }
                fact if fact.is_last() => return Ok(true),
                _ => {}
            }
            if wish.cancel_after == Some(*events) {
                let status = talk.cancel(run).await?;
                if status != StatusCode::ACCEPTED {
                    lock(&self.log).faults.push(format!("stopping run {run} gave {status}"));
                }
            }
            if wish.hang_up_after == Some(following.seen) {
                return Ok(false);
            }
        }
    }

    async fn settle(&self, talk: &Talk<'_>, question: &Question) -> Result<(), Gone> {
        let Some(answer) = &question.answer else { return Ok(()) };
        let status = talk.settle(question.approval, answer).await?;
        let mut log = lock(&self.log);
        match status {
            StatusCode::OK => {
                log.answers.push(Answered { approval: question.approval, answer: answer.clone() });
            }
            // The run was stopped meanwhile, or the question was settled before.
            StatusCode::CONFLICT => {}
            status => log.faults.push(format!("answering {} gave {status}", question.approval)),
        }
        Ok(())
    }
}
