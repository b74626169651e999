//! A client that wants something: starts a run, follows it, answers what it is asked, runs what it is given, and adds
//! what it forgot to say.

use std::time::Duration;

use helve_types::{EventBody, Fact, MessageId, RunId, RunState};
use reqwest::StatusCode;
use serde_json::Value;
use uuid::Uuid;

use super::errand::Errand;
use super::follow::{Following, Place, Seen};
use super::log::{Answered, Reader, Said, Start};
use super::talk::{Gone, Started, Talk};
use super::wish::{Leaning, Wish, answer, speech};
use super::{Means, lock};
use crate::dice::Dice;

/// The longest that a person thinks about a question.
const THINKING_MS: u64 = 250;

pub(super) struct Asker {
    number: usize,
    means: Means,
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
    Following(Box<Affair>),
}

/// A run that the client has to do with.
struct Affair {
    run: RunId,
    wish: Box<Wish>,
    reader: usize,
    questions: Vec<Question>,
    errands: Vec<Errand>,
    /// What was said and perhaps not heard.
    speech: Option<(MessageId, String)>,
    events: usize,
}

/// A question that is open as far as the client knows.
struct Question {
    approval: Uuid,
    answer: Option<Value>,
}

impl Asker {
    pub(super) fn new(number: usize, means: Means, dice: Dice) -> Self {
        Self { number, means, dice, wishes: 0, task: Task::Nothing, conversation: None }
    }

    pub(super) async fn run(mut self) {
        let mut gone = 0;
        loop {
            let done = matches!(self.task, Task::Nothing);
            let Some(open) = self.means.door.next(gone, done).await else { return };
            let (http, base) = (self.means.http.clone(), open.base);
            let talk = Talk { http: &http, base: &base, wire: self.means.wire };
            if self.go_on(&talk, open.towards).await.is_err() {
                gone = open.generation;
            }
        }
    }

    /// Does the next thing, to its end or to the server's.
    async fn go_on(&mut self, talk: &Talk<'_>, towards: Option<&str>) -> Result<(), Gone> {
        match std::mem::replace(&mut self.task, Task::Nothing) {
            Task::Nothing => {
                self.wish(towards);
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
            Task::Following(mut affair) => {
                let ended = self.follow(talk, &mut affair).await;
                if !matches!(ended, Ok(true)) {
                    self.task = Task::Following(affair);
                }
                ended.map(drop)
            }
        }
    }

    fn wish(&mut self, towards: Option<&str>) {
        self.wishes += 1;
        let leaning = Leaning::to(towards.filter(|_| self.dice.percent(60)));
        let wish = Wish::throw(&mut self.dice, self.number, self.wishes, leaning);
        let conversation = self.conversation.take().filter(|_| wish.goes_on);
        let mut log = lock(&self.means.log);
        log.starts.push(Start { nonce: wish.nonce.clone(), key: wish.key.clone(), runs: vec![] });
        self.task = Task::Starting { wish: Box::new(wish), at: log.starts.len() - 1, conversation };
    }

    fn started(&mut self, started: Started, wish: Box<Wish>, at: usize) {
        let mut log = lock(&self.means.log);
        match started {
            Started::Run { run, conversation } => {
                log.starts[at].runs.push(run);
                log.readers.push(Reader::new(run));
                let reader = log.readers.len() - 1;
                lock(&self.means.runs).push(run);
                self.conversation = conversation;
                let (questions, errands) = (vec![], vec![]);
                let affair = Affair { run, wish, reader, questions, errands, speech: None, events: 0 };
                self.task = Task::Following(Box::new(affair));
            }
            // An unkeyed request that was heard by a dead server may hold it.
            Started::Busy => {}
            Started::Refused(said) => log.faults.push(format!("{} was refused: {said}", wish.nonce)),
        }
    }

    /// Follows the run; true when there is nothing left to do about it.
    async fn follow(&mut self, talk: &Talk<'_>, affair: &mut Affair) -> Result<bool, Gone> {
        let log = self.means.log.clone();
        // What may have died with the last server is done again.
        for question in &affair.questions {
            self.settle(talk, question).await?;
        }
        self.say(talk, affair).await?;
        self.run_errands(talk, affair).await?;
        let place = Place { log: &log, at: affair.reader };
        let Some(mut following) = Following::begin(talk, place).await? else { return Ok(true) };
        loop {
            let event = match following.next().await? {
                Seen::Event(event) => event,
                Seen::Live => {
                    if affair.wish.hang_up_after == Some(following.seen) {
                        return Ok(false);
                    }
                    continue;
                }
                Seen::End => return Ok(false),
                Seen::Silence => return Ok(true),
            };
            affair.events += 1;
            if self.heed(talk, affair, *event).await? {
                return Ok(true);
            }
            self.interfere(talk, affair).await?;
            if affair.wish.hang_up_after == Some(following.seen) {
                return Ok(false);
            }
        }
    }

    /// Does what an event asks for; true when the run is over, or waits for what will not come.
    async fn heed(&mut self, talk: &Talk<'_>, affair: &mut Affair, event: EventBody) -> Result<bool, Gone> {
        match event.fact {
            Fact::ApprovalAsked(asked) => {
                let answer = answer(&mut self.dice, &asked);
                affair.questions.push(Question { approval: asked.approval.0, answer });
                if self.dice.percent(30) {
                    // A person thinks about it, and the server may not live to hear the answer.
                    tokio::time::sleep(Duration::from_millis(self.dice.below(THINKING_MS))).await;
                }
                if let Some(question) = affair.questions.last() {
                    self.settle(talk, question).await?;
                }
            }
            Fact::ApprovalAnswered { approval, .. } => {
                affair.questions.retain(|question| question.approval != approval.0);
            }
            Fact::ToolDelegated { call, .. } if self.dice.percent(85) => {
                let (client, spoils_it) = (format!("c{}", self.number), self.dice.percent(10));
                affair.errands.push(Errand::new(affair.run, call, &client, &affair.wish.user, spoils_it));
                self.run_errands(talk, affair).await?;
            }
            Fact::RunWaiting { state } => {
                let questions = &affair.questions;
                let unanswered = questions.iter().any(|question| question.answer.is_none());
                if state == RunState::NeedsAttention && questions.is_empty() && self.dice.percent(70) {
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
    async fn interfere(&mut self, talk: &Talk<'_>, affair: &mut Affair) -> Result<(), Gone> {
        if affair.wish.cancel_after == Some(affair.events) {
            let status = talk.cancel(affair.run).await?;
            if status != StatusCode::ACCEPTED {
                let run = affair.run;
                lock(&self.means.log).faults.push(format!("stopping run {run} gave {status}"));
            }
        }
        if affair.wish.speak_after == Some(affair.events) {
            let message = MessageId(Uuid::from_u128(self.dice.wide()));
            affair.speech = Some((message, speech(&mut self.dice)));
            self.say(talk, affair).await?;
        }
        Ok(())
    }

    /// Says what is to be said, until it is known whether it was heard.
    async fn say(&self, talk: &Talk<'_>, affair: &mut Affair) -> Result<(), Gone> {
        let Some((message, text)) = &affair.speech else { return Ok(()) };
        let status = talk.say(affair.run, *message, text).await?;
        let mut log = lock(&self.means.log);
        match status {
            StatusCode::ACCEPTED => {
                log.said.push(Said { run: affair.run, message: *message, text: text.clone() });
            }
            // It was over before.
            StatusCode::CONFLICT => {}
            status => log.faults.push(format!("saying something to {} gave {status}", affair.run)),
        }
        affair.speech = None;
        Ok(())
    }

    async fn run_errands(&self, talk: &Talk<'_>, affair: &mut Affair) -> Result<(), Gone> {
        for errand in &mut affair.errands {
            errand.go_on(talk, &self.means.ledger, &self.means.log).await?;
        }
        affair.errands.retain(|errand| !errand.is_over());
        Ok(())
    }

    async fn settle(&self, talk: &Talk<'_>, question: &Question) -> Result<(), Gone> {
        let Some(answer) = &question.answer else { return Ok(()) };
        let status = talk.settle(question.approval, answer).await?;
        let mut log = lock(&self.means.log);
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
