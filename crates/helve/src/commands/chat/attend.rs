//! Staying with one run: what it says goes to the screen, what the person types goes to it.

use std::collections::VecDeque;

use anyhow::Context;
use helve_types::{Answer, ApprovalId, ApprovalKind, Fact, Question, RunState, SubagentAnswered};
use serde_json::json;

use super::asking::{Asking, Next};
use super::keyboard::{Input, Purpose};
use super::slash::{self, Slash, help};
use super::{Chat, editor};
use crate::client::{ClientError, Following, Seen, in_gutter, line};
use crate::commands::approvals::answer::object;
use crate::commands::approvals::card;
use crate::i18n::tr;
use crate::output::padded;

/// How a run was left.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Left {
    Over {
        well: bool,
    },
    /// It did not even begin.
    Refused,
    /// It was left alone and asks nothing.
    Parked,
    /// It waits for a person, and none is at the terminal.
    Waiting,
    Quit,
    Interrupted,
}

/// The questions of a run, the first of which is before the person.
#[derive(Default)]
struct Questions {
    open: VecDeque<Question>,
    asking: Asking,
    /// An answer to the first is on its way.
    sent: bool,
}

impl Questions {
    /// The question that the person can answer now.
    fn current(&self) -> Option<&Question> {
        self.open.front().filter(|_| !self.sent)
    }

    /// What a line that is typed now is for.
    fn purpose(&self) -> Purpose {
        self.current().map_or(Purpose::Remark, |question| Purpose::Answer(question.approval))
    }
}

/// In front of a line that is typed while a run is at work.
const REMARK_PROMPT: &str = "+ ";

impl Chat {
    /// Shows a run and serves it, to its end. What it said before event `from` is only told: it was settled then.
    pub(super) async fn attend(&mut self, run: &str, from: u64) -> anyhow::Result<Left> {
        let mut following = Following::new(&self.client, run, 0);
        let mut questions = Questions::default();
        let (mut well, mut stopping, mut waits) = (true, false, false);
        loop {
            if waits && !self.interactive && self.keyboard.is_at_end() {
                self.tell_kept();
                self.flush()?;
                return Ok(Left::Waiting);
            }
            self.flush()?;
            // Where nobody is asked, the input is read on only to learn whether somebody could still be there.
            let heard = if self.interactive { !self.keyboard.is_at_end() } else { waits };
            tokio::select! {
                seen = following.next() => match seen? {
                    Seen::Event(event) => {
                        well &= !matches!(event.fact, Fact::RunFailed { .. });
                        self.screen.event(&event.fact);
                        let now = following.last() >= from;
                        waits = now && matches!(event.fact, Fact::RunWaiting { .. });
                        if let Some(left) = self.learn(&event.fact, &mut questions, now) {
                            self.flush()?;
                            return Ok(left);
                        }
                    }
                    Seen::Live(live) => self.screen.live(&live),
                    Seen::Gone => self.screen.note(&tr!("the server is gone; waiting for it")),
                    Seen::Back => self.screen.note(&tr!("the server is back")),
                    Seen::End => {
                        self.screen.end_line();
                        self.flush()?;
                        return Ok(Left::Over { well });
                    }
                },
                input = self.keyboard.next(questions.purpose()), if heard => {
                    let left = match input {
                        Input::Interrupt => {
                            self.screen.heard();
                            self.interrupt(run, &mut stopping).await
                        }
                        Input::Line(_, said) if !self.interactive => {
                            self.unheard.extend(Some(said).filter(|said| !said.trim().is_empty()));
                            None
                        }
                        // The questions were shown when they were asked.
                        Input::End if !self.interactive => None,
                        input => self.handle_input(run, input, &mut questions).await?,
                    };
                    if left.is_some() {
                        self.flush()?;
                        return Ok(left.unwrap_or(Left::Quit));
                    }
                }
                _ = self.stops.recv() => {
                    if let Some(left) = self.interrupt(run, &mut stopping).await {
                        self.flush()?;
                        return Ok(left);
                    }
                }
            }
        }
    }

    /// Ctrl-C stops the run; the next one leaves it.
    async fn interrupt(&mut self, run: &str, stopping: &mut bool) -> Option<Left> {
        if std::mem::replace(stopping, true) {
            return Some(Left::Interrupted);
        }
        self.stop(run).await;
        None
    }

    async fn handle_input(
        &mut self,
        run: &str,
        input: Input,
        questions: &mut Questions,
    ) -> anyhow::Result<Option<Left>> {
        match input {
            Input::Key => self.open_editor(questions)?,
            Input::Line(purpose, said) => {
                self.screen.heard();
                return self.heard(run, purpose, &said, questions).await;
            }
            Input::Discarded | Input::Interrupt => {
                self.screen.heard();
                self.ask(questions);
            }
            Input::End if self.keyboard.is_terminal() => return Ok(Some(Left::Quit)),
            Input::End => return Ok(self.nobody_is_there(questions)),
        }
        Ok(None)
    }

    /// Shows the line editor; what the run says meanwhile is shown after the line.
    fn open_editor(&mut self, questions: &Questions) -> anyhow::Result<()> {
        let prompt = match questions.current() {
            Some(question) => questions.asking.prompt(question.into()),
            None => REMARK_PROMPT.to_owned(),
        };
        if !self.screen.is_prompting() {
            self.screen.end_line();
        }
        self.flush()?;
        self.keyboard.edit(questions.purpose(), &prompt);
        Ok(())
    }

    /// What a fact means for the person; how the run is left, if it is.
    fn learn(&mut self, fact: &Fact, questions: &mut Questions, now: bool) -> Option<Left> {
        if let Fact::SubagentEnded(ended) = fact {
            let is_of_run =
                |question: &Question| question.asker.as_ref().is_some_and(|asker| asker.run == ended.run);
            questions.open.retain(|question| !is_of_run(question));
        }
        match fact {
            Fact::ApprovalAsked(_) | Fact::SubagentAsked(_) => {
                let question = match fact {
                    Fact::ApprovalAsked(question) => question,
                    Fact::SubagentAsked(asked) => &asked.question,
                    _ => return None,
                };
                questions.open.push_back(question.clone());
                if !self.interactive && now {
                    self.tell_how(question);
                } else if now && questions.open.len() == 1 {
                    self.present(questions);
                }
            }
            Fact::SubagentAnswered(SubagentAnswered { approval, .. })
            | Fact::ApprovalAnswered { approval, .. } => {
                let first = questions.open.front().is_some_and(|question| question.approval == *approval);
                questions.open.retain(|question| question.approval != *approval);
                if first {
                    (questions.asking, questions.sent) = (Asking::Choice, false);
                    self.present(questions);
                }
            }
            Fact::RunWaiting { state: RunState::NeedsAttention, .. } if now && questions.open.is_empty() => {
                self.screen.note(&tr!(
                    "the run needs attention; see `helve runs show`, continue with `helve runs resume`"
                ));
                return Some(Left::Parked);
            }
            Fact::RunWaiting { .. } if now && !self.interactive && self.no_wait => {
                self.tell_kept();
                return Some(Left::Waiting);
            }
            // What was written meanwhile may stand behind the question.
            Fact::RunWaiting { .. } if now && self.interactive && !self.screen.is_prompting() => {
                self.ask(questions);
            }
            _ => {}
        }
        None
    }

    /// Puts the first question before the person.
    fn present(&mut self, questions: &Questions) {
        let Some(question) = questions.open.front().filter(|_| self.interactive) else { return };
        let more = questions.open.len() - 1;
        let more = if more > 0 { tr!(" ({more} more after it)", more = more) } else { String::new() };
        let head = format!("{}{}{more}\n", padded(&tr!("question"), 10), question.approval);
        self.screen.block(&(head + &card::what(question)));
        self.ask(questions);
    }

    fn ask(&mut self, questions: &Questions) {
        let Some(question) = questions.current() else { return };
        if let Asking::Edited(arguments) = &questions.asking {
            self.screen.block(&format!("{}\n{}", tr!("arguments"), in_gutter(arguments)));
        }
        self.screen.prompt(&questions.asking.prompt(question.into()));
    }

    /// Where no person can be asked: the question, and how it can be answered elsewhere.
    fn tell_how(&mut self, question: &Question) {
        let id = question.approval;
        let how = format!(
            "{}{id}\n{}{}\n",
            padded(&tr!("question"), 10),
            card::what(question),
            tr!(
                "answer with `helve approvals answer {id} {answer}`",
                id = id,
                answer = card::likely_answer(question.kind())
            )
        );
        self.screen.block(&how);
    }

    /// Before the chat leaves a run that waits.
    fn tell_kept(&mut self) {
        self.screen.note(&tr!(
            "this terminal takes no answers: the run is kept, and continues when the question is answered; \
             `helve approvals list` shows the open questions"
        ));
        if !self.unheard.is_empty() {
            self.screen.note(&tr!("{count} message(s) after it were not sent", count = self.unheard.len()));
        }
    }

    /// The input of somebody who was to be asked has ended.
    fn nobody_is_there(&mut self, questions: &Questions) -> Option<Left> {
        self.interactive = false;
        for question in &questions.open {
            self.tell_how(question);
        }
        if questions.open.is_empty() {
            return None;
        }
        self.tell_kept();
        Some(Left::Waiting)
    }

    async fn heard(
        &mut self,
        run: &str,
        purpose: Purpose,
        said: &str,
        questions: &mut Questions,
    ) -> anyhow::Result<Option<Left>> {
        match slash::read(said) {
            Some(Slash::Quit) => return Ok(Some(Left::Quit)),
            Some(Slash::Stop) => self.stop(run).await,
            Some(Slash::Help) => self.screen.block(&help()),
            Some(Slash::Decline(reason)) => self.decline(purpose, reason, questions).await,
            Some(_) => self.screen.note(&tr!("not during a run; /stop stops it")),
            None => match (purpose, questions.current().cloned()) {
                (Purpose::Answer(approval), Some(question)) if question.approval == approval => {
                    self.decide(&question, said, questions).await;
                }
                // A line is no answer to a question that it was not written for.
                (Purpose::Answer(_), _) => {
                    self.screen.note(&tr!("that question is already answered; your line was not used"));
                }
                _ if said.trim().is_empty() => {}
                _ => self.steer(run, said).await,
            },
        }
        if !self.screen.is_prompting() {
            self.ask(questions);
        }
        Ok(None)
    }

    /// The person would rather not answer what the model asks.
    async fn decline(&mut self, purpose: Purpose, reason: Option<String>, questions: &mut Questions) {
        let asked = questions.current().filter(|question| question.kind() == ApprovalKind::User);
        match asked.map(|question| question.approval) {
            Some(approval) if purpose == Purpose::Answer(approval) => {
                let answer = Answer::Decline { reason: reason.unwrap_or_default() };
                questions.sent = self.answer(approval, &answer).await;
                questions.asking = Asking::Choice;
            }
            _ => self.screen.note(&tr!("the model asks nothing")),
        }
    }

    /// What a line means for the question that is before the person.
    async fn decide(&mut self, question: &Question, said: &str, questions: &mut Questions) {
        match questions.asking.hear(question.into(), said) {
            Next::Again(why) => self.screen.note(&line(&why)),
            Next::Ask(asking) => questions.asking = asking,
            Next::Edit => questions.asking = self.edit(question, &questions.asking).await,
            Next::Send(answer) => {
                questions.sent = self.answer(question.approval, &answer).await;
                // What was typed is not lost with an answer that was refused.
                if questions.sent || !matches!(questions.asking, Asking::Edited(_)) {
                    questions.asking = Asking::Choice;
                }
            }
        }
    }

    /// Other arguments, from the person's editor if they have one.
    async fn edit(&mut self, question: &Question, asking: &Asking) -> Asking {
        let Some(editor) = editor::chosen() else { return Asking::Arguments };
        let arguments = match asking {
            Asking::Edited(arguments) => arguments.clone(),
            _ => question.call().map(|call| call.arguments.clone()).unwrap_or_default(),
        };
        self.keyboard.restore();
        let edited = tokio::task::spawn_blocking(move || editor::edit(&editor, &arguments)).await;
        let edited = edited.with_context(|| tr!("the editor cannot be waited for")).flatten();
        match edited.and_then(|text| object(&text)) {
            Ok(arguments) => Asking::Edited(arguments),
            Err(error) => {
                self.screen.note(&line(&crate::i18n::error_words(&error)));
                Asking::Choice
            }
        }
    }

    /// Whether the answer is given, or another one was before.
    async fn answer(&mut self, approval: ApprovalId, answer: &Answer) -> bool {
        let body = json!(answer);
        match self.client.post(&format!("/api/approvals/{approval}"), Some(&body), None).await {
            Ok(_) => true,
            Err(error) => {
                self.screen.note(&error.to_string());
                error.is_refused_with(409)
            }
        }
    }

    /// A word to a run at work; one that cannot hear it gets it afterwards.
    async fn steer(&mut self, run: &str, said: &str) {
        match self.client.post(&format!("/api/runs/{run}/messages"), Some(&json!({"text": said})), None).await
        {
            Ok(_) => {}
            Err(ClientError::Refused { status: 404 | 405 | 409, .. } | ClientError::Odd { .. }) => {
                self.screen.note(&tr!("the run cannot take it now; it is sent as your next message"));
                self.unheard.push_back(said.to_owned());
            }
            Err(error) => self.screen.note(&tr!("it was not sent: {error}", error = error)),
        }
    }

    async fn stop(&mut self, run: &str) {
        match self.client.post(&format!("/api/runs/{run}/cancel"), None, None).await {
            Ok(_) => self.screen.note(&tr!("stopping the run; Ctrl-C leaves")),
            Err(error) => self.screen.note(&tr!("the run cannot be stopped: {error}", error = error)),
        }
    }
}
