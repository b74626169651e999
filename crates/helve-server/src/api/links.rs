//! Signed links: one question, shown and answered without signing in.
//!
//! The holder of a link may answer its one question, until it expires or the question is settled; it shows and opens
//! nothing else. The mark in it is made with the installation's key over the question, the end and the user, so none can
//! be made up and none fits another question. Looking at a link changes nothing, since mail scanners do; only the form on
//! the page acts, and what it says is on record as said by `link:<user>`, never as the user.

mod page;
mod reply_form;
mod words;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use helve_runtime::CommandError;
use helve_store::{Approval, ApprovalState, Scope};
use helve_tool::{DECLINE_CHARS_MAX, FieldProblem, TypedValue, read_typed};
use helve_types::{Answer, ApprovalId, ApprovalKind, Notice, OutcomeAnswer, Question, Seal, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::page::{Frame, message_page, question_page, settled_page};
use self::reply_form::{Draft, typed_field};
use self::words::Words;
use crate::access::{Right, Visitor};
use crate::api::approvals::{ApprovalView, settle_approval};
use crate::app::App;
use crate::input::{Id, Query, read_form};
use crate::problem::Problem;
use crate::routes::{Operation, Routes};

const PURPOSE: &str = "helve 2026 link that answers one approval";
const HOUR_MS: i64 = 60 * 60 * 1_000;

pub(crate) fn routes(routes: Routes) -> Routes {
    let path = "/approvals/{approval}";
    routes
        .add_route(
            Operation::get(
                path,
                Right::Public,
                "The page of a signed link: one question; looking changes nothing",
            )
            .gives_bytes("text/html"),
            show_question_page,
        )
        .add_route(
            Operation::post(
                path,
                Right::Public,
                "Answer the question of a signed link with the form of its page",
            )
            .with_status(303)
            .gives_bytes("text/html"),
            answer_by_link,
        )
}

/// Makes links and knows them again.
#[derive(Debug, Clone)]
pub struct ApprovalLinks {
    seal: Seal,
    /// Where people reach the server, without a slash at the end.
    base: String,
    hours: u32,
}

impl ApprovalLinks {
    pub fn new(seal: Seal, base: &str, hours: u32) -> Self {
        Self { seal, base: base.trim_end_matches('/').to_owned(), hours }
    }

    /// A link to a question, good from now on for as long as links are, and no longer than the question.
    pub fn signed_link(&self, held: &Approval, now: Timestamp) -> String {
        let until = now.plus_ms(i64::from(self.hours) * HOUR_MS).min(held.question.expires_at);
        let mark = self.sign(held, until);
        format!("{}/approvals/{}?until={}&mark={mark}", self.base, held.id(), until.0)
    }

    /// What a webhook is told about a question: all that the card shows, and the link.
    pub fn approval_notice(&self, held: Approval, again: bool, now: Timestamp) -> Value {
        // A link says who reads it of nobody: where approvers are named, they sign in.
        let link = held.question.approvers.is_none().then(|| self.signed_link(&held, now));
        let is_past = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        let reminder = held.question.approvers.as_ref().and_then(|named| named.remind_at(held.asked_at));
        let event = match held.escalated {
            true => "approval.escalated",
            false if is_past(reminder) => "approval.reminded",
            false => "approval.asked",
        };
        let page = format!("{}/approvals", self.base);
        let mut notice = json!(ApprovalView::from(held));
        notice["event"] = json!(event);
        notice["again"] = json!(again);
        match link {
            Some(link) => notice["link"] = json!(link),
            None => notice["page"] = json!(page),
        }
        notice
    }

    fn sign(&self, held: &Approval, until: Timestamp) -> String {
        self.seal.sign(PURPOSE, &[&held.id().to_string(), &until.0.to_string(), &held.user.0])
    }

    fn is_valid(&self, held: &Approval, asked: &LinkQuery) -> bool {
        let words = [&held.id().to_string(), &asked.until.to_string(), &held.user.0];
        self.seal.verify(&asked.mark, PURPOSE, &words.map(String::as_str))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LinkQuery {
    /// When the link ends.
    #[serde(default)]
    until: i64,
    /// What shows that this server made it.
    #[serde(default)]
    mark: String,
    /// The language of the page, `en` or `zh`; without it the browser's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
}

/// What the form of the page says.
#[derive(Debug)]
struct AnswerForm {
    decision: String,
    reason: String,
    /// What was filled in, where the model wants to know something.
    typed: Vec<TypedValue>,
}

impl AnswerForm {
    /// None if it does not say just one decision.
    fn read(fields: Vec<(String, String)>) -> Option<Self> {
        let (mut decisions, mut reason, mut typed) = (vec![], String::new(), vec![]);
        for (name, text) in fields {
            match (name.as_str(), typed_field(&name)) {
                ("decision", _) => decisions.push(text),
                ("reason", _) => reason = text,
                (_, Some(field)) => typed.push(TypedValue { field, text }),
                (_, None) => {}
            }
        }
        let [decision] = decisions.try_into().ok()?;
        Some(Self { decision, reason, typed })
    }

    /// None if the question has no such answer.
    fn to_answer(&self, question: &Question) -> Option<Answer> {
        let outcome = |answer| Answer::Outcome { answer };
        let reason = self.reason.trim().to_owned();
        let answer = match self.decision.as_str() {
            "approve" => Answer::approve(),
            "reject" => Answer::Reject { reason },
            "happened" => outcome(OutcomeAnswer::Happened),
            "did_not_happen" => outcome(OutcomeAnswer::DidNotHappen),
            "run_again" => outcome(OutcomeAnswer::RunAgain),
            "reply" => Answer::Reply { value: read_typed(&question.asked_by_model()?.form, &self.typed) },
            "decline" => Answer::Decline { reason },
            _ => return None,
        };
        answer.fits(question.kind()).then_some(answer)
    }
}

/// The question of a link that is good, or the page that says that it is not. A link that was not made here and one to a
/// question that does not exist are told the same.
async fn find_question(
    app: &App,
    visitor: Visitor,
    id: ApprovalId,
    asked: &LinkQuery,
    frame: &Frame,
) -> Result<Approval, Response> {
    let words = frame.words;
    // A wrong mark is not counted: it cannot be guessed, and any page can send its readers to a wrong link.
    if app.access.check_attempt_allowed(visitor).is_err() {
        return Err(message_page(frame, StatusCode::TOO_MANY_REQUESTS, words.too_many_guesses));
    }
    let unknown = || message_page(frame, StatusCode::NOT_FOUND, words.bad_link);
    let links = app.links.as_ref().ok_or_else(unknown)?;
    let held = match app.runtime.store().approval(Scope::Everyone, id).await {
        Ok(held) => held,
        Err(helve_store::StoreError::NotFound(_)) => return Err(unknown()),
        Err(error) => {
            tracing::error!(%error, "approval link: question not read");
            return Err(message_page(frame, StatusCode::SERVICE_UNAVAILABLE, words.unavailable));
        }
    };
    // What approvers decide is answered by them in person, and no link was made for it.
    if held.question.approvers.is_some() || !links.is_valid(&held, asked) {
        return Err(unknown());
    }
    if app.runtime.world().now().0 >= asked.until {
        return Err(message_page(frame, StatusCode::GONE, words.expired_link));
    }
    Ok(held)
}

fn page_frame(app: &App, headers: &HeaderMap, asked: Option<&LinkQuery>) -> Frame {
    let words = Words::for_request(headers, asked.and_then(|asked| asked.lang.as_deref()));
    // A mark is hexadecimal; anything else is no link of ours and not worth repeating.
    let query = asked
        .filter(|asked| asked.mark.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(|asked| format!("until={}&mark={}", asked.until, asked.mark));
    Frame::new(words, query.as_deref(), &app.runtime.world().random_secret())
}

/// Says what is asked, and does nothing.
async fn show_question_page(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Id<ApprovalId>, Problem>,
    asked: Result<Query<LinkQuery>, Problem>,
    headers: HeaderMap,
) -> Response {
    let frame = page_frame(&app, &headers, asked.as_ref().ok().map(|Query(asked)| asked));
    let (Ok(Id(id)), Ok(Query(asked))) = (id, asked) else {
        return message_page(&frame, StatusCode::NOT_FOUND, frame.words.bad_link);
    };
    match find_question(&app, visitor, id, &asked, &frame).await {
        Ok(held) if held.state == ApprovalState::Pending => {
            question_page(&frame, StatusCode::OK, &held, &Draft::default())
        }
        Ok(held) => settled_page(&frame, StatusCode::OK, &held),
        Err(page) => page,
    }
}

/// Takes an answer from the form of the page.
async fn answer_by_link(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Id<ApprovalId>, Problem>,
    asked: Result<Query<LinkQuery>, Problem>,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    let uri = request.uri().clone();
    let frame = page_frame(&app, &headers, asked.as_ref().ok().map(|Query(asked)| asked));
    let (Ok(Id(id)), Ok(Query(asked))) = (id, asked) else {
        return message_page(&frame, StatusCode::NOT_FOUND, frame.words.bad_link);
    };
    let held = match find_question(&app, visitor, id, &asked, &frame).await {
        Ok(held) => held,
        Err(page) => return page,
    };
    if !is_from_our_page(&headers) {
        return message_page(&frame, StatusCode::FORBIDDEN, frame.words.not_from_here);
    }
    let has_reply = held.question.kind() == ApprovalKind::User;
    let said = match read_form(&app, request, has_reply).await {
        Ok(fields) => AnswerForm::read(fields),
        Err(status) => return message_page(&frame, status, frame.words.not_understood),
    };
    let answer = said.as_ref().and_then(|said| said.to_answer(&held.question));
    match said.zip(answer) {
        Some((said, answer)) => record_answer(&app, &frame, &held, said, answer, &uri).await,
        None => message_page(&frame, StatusCode::BAD_REQUEST, frame.words.not_understood),
    }
}

async fn record_answer(
    app: &App,
    frame: &Frame,
    held: &Approval,
    said: AnswerForm,
    answer: Answer,
    uri: &Uri,
) -> Response {
    let scope = Scope::User(held.user.clone());
    let by = format!("link:{}", held.user);
    match settle_approval(app, scope.clone(), held.id(), answer, by).await {
        // Looked at again it says what was answered; sent again it would say it twice.
        Ok(_) => frame.redirect_to(uri),
        Err(CommandError::NotOpen | CommandError::Expired | CommandError::Over) => {
            match app.runtime.store().approval(scope, held.id()).await {
                Ok(now) => settled_page(frame, StatusCode::CONFLICT, &now),
                Err(_) => message_page(frame, StatusCode::SERVICE_UNAVAILABLE, frame.words.unavailable),
            }
        }
        Err(CommandError::DoesNotFit) => {
            message_page(frame, StatusCode::BAD_REQUEST, frame.words.not_understood)
        }
        Err(CommandError::BadReply(problems)) => {
            let draft = Draft { typed: said.typed, reason: said.reason, problems, is_declined: false };
            question_page(frame, StatusCode::UNPROCESSABLE_ENTITY, held, &draft)
        }
        Err(CommandError::DeclineTooLong) => {
            let problem = FieldProblem {
                field: String::new(),
                notice: Notice::decline_too_long(DECLINE_CHARS_MAX as u64),
            };
            let (typed, reason) = (said.typed, said.reason);
            let draft = Draft { typed, reason, problems: vec![problem], is_declined: true };
            question_page(frame, StatusCode::UNPROCESSABLE_ENTITY, held, &draft)
        }
        Err(error) => {
            tracing::error!(%error, approval = %held.id(), "approval link: answer not recorded");
            message_page(frame, StatusCode::SERVICE_UNAVAILABLE, frame.words.unavailable)
        }
    }
}

/// Whether a browser says that the form was on a page of ours. A wrong `Origin` or site never comes this far; here one
/// of them has to be there.
fn is_from_our_page(headers: &HeaderMap) -> bool {
    let same_site = headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin");
    same_site || headers.contains_key(header::ORIGIN)
}

/// Which buttons a question has.
pub(crate) fn decisions_for_kind(kind: ApprovalKind) -> &'static [&'static str] {
    match kind {
        ApprovalKind::Permission | ApprovalKind::Budget => &["approve", "reject"],
        ApprovalKind::Outcome => &["happened", "did_not_happen", "run_again"],
        ApprovalKind::User => &["reply", "decline"],
    }
}
