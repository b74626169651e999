//! The page of a link: plain HTML without scripts, in which nothing that a model wrote is anything but text.

use std::fmt::Write;

use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use helve_store::{Approval, ApprovalState};
use helve_types::{About, Answer, hex, show_hidden_chars};
use serde_json::{Map, Value};

use super::decisions_for_kind;
use super::reply_form::{Draft, add_reply_form};
use super::words::Words;

const STYLE: &str = include_str!("page.css");

/// What stands around every page of a link.
pub(super) struct Frame {
    pub(super) words: &'static Words,
    /// The same page in the other language.
    switch: Option<String>,
    /// Names our own style, and no other is used.
    nonce: String,
}

impl Frame {
    /// `query` is the address's own query without the language.
    pub(super) fn new(words: &'static Words, query: Option<&str>, chance: &[u8; 32]) -> Self {
        let switch = query.map(|query| format!("?{query}&lang={}", words.other.0));
        Self { words, switch, nonce: hex(&chance[..16]) }
    }

    fn render_page(&self, status: StatusCode, title: &str, body: &str) -> Response {
        let (tag, nonce, title) = (self.words.tag, &self.nonce, escape_html(title));
        let other = self.words.other.1;
        let switch = self.switch.as_deref().map_or_else(String::new, |address| {
            format!("<a href=\"{}\" lang=\"{}\">{other}</a>", escape_html(address), self.words.other.0)
        });
        let html = format!(
            "<!doctype html>\n<html lang=\"{tag}\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta name=\"robots\" content=\"noindex\">\
             <title>{title} · Helve</title><style nonce=\"{nonce}\">{STYLE}</style></head>\n\
             <body><header><b>Helve</b>{switch}</header>\n<main><h1>{title}</h1>\n{body}</main></body></html>\n"
        );
        let mut response = (status, html).into_response();
        self.add_security_headers(&mut response);
        response
    }

    /// The same address again, to be looked at.
    pub(super) fn redirect_to(&self, uri: &Uri) -> Response {
        let mut response = StatusCode::SEE_OTHER.into_response();
        self.add_security_headers(&mut response);
        let place = uri.path_and_query().and_then(|place| HeaderValue::try_from(place.as_str()).ok());
        if let Some(place) = place {
            response.headers_mut().insert(header::LOCATION, place);
        }
        response
    }

    fn add_security_headers(&self, response: &mut Response) {
        let policy = format!(
            "default-src 'none'; style-src 'nonce-{}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
            self.nonce
        );
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (header::CONTENT_SECURITY_POLICY, &policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // With `no-referrer` browsers send `Origin: null` with the form, which says nothing. To others this sends
            // no more.
            (header::REFERRER_POLICY, "same-origin"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::HeaderName::from_static("x-robots-tag"), "noindex, nofollow, noarchive"),
        ] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}

/// A page that only says something. Nothing of the address is in it, so all links that are not good look the same.
pub(super) fn message_page(frame: &Frame, status: StatusCode, what: &str) -> Response {
    let bare = Frame { switch: None, nonce: frame.nonce.clone(), ..*frame };
    bare.render_page(status, "Helve", &format!("<p>{}</p>\n", escape_html(what)))
}

/// The question, whole, and the form that answers it. The form has no address, so it goes to the page's own.
pub(super) fn question_page(frame: &Frame, status: StatusCode, held: &Approval, draft: &Draft) -> Response {
    let (words, question) = (frame.words, &held.question);
    let title = words.question_title(question.kind());
    let mut body = String::new();
    if let Some(asked) = question.asked_by_model() {
        add_reply_form(&mut body, words, asked, draft);
        body.push_str("<dl class=\"facts\">\n");
        for (name, value) in
            [(words.asks_for, &held.user.0), (words.until, &question.expires_at.to_utc_string())]
        {
            append_html(&mut body, format_args!("<dt>{name}</dt><dd>{}</dd>\n", escape_html(value)));
        }
        append_html(&mut body, format_args!("</dl>\n<p class=\"small\">{}</p>\n", words.only_this));
        return frame.render_page(status, title, &body);
    }
    let call = question.call();
    let (warnings, cautions) = call.map_or((&[][..], &[][..]), |call| (&call.warnings, &call.cautions));
    for (at, warning) in warnings.iter().enumerate() {
        let caution = cautions.get(at..=at).unwrap_or_default();
        let told = words.format_notices(caution, warning);
        append_html(&mut body, format_args!("<p class=\"warning\">{}</p>\n", escape_html(&told)));
    }
    if let Some(call) = call {
        append_html(
            &mut body,
            format_args!("<p class=\"tool\">{}</p>\n", escape_html(&words.tool_title(&call.tool))),
        );
        if let Some(deed) = words.tool_sentence(&call.tool) {
            append_html(&mut body, format_args!("<p>{deed}</p>\n"));
        }
        add_arguments(&mut body, words, &call.tool, &call.arguments);
    }
    body.push_str("<dl class=\"facts\">\n");
    let mut fact = |name: &str, value: &str| {
        append_html(&mut body, format_args!("<dt>{name}</dt><dd>{}</dd>\n", escape_html(value)));
    };
    fact(words.because, &words.format_notices(&question.reasons, &question.because));
    if let Some(call) = call {
        fact(words.effect, words.effect_label(call.effect));
    }
    let (sent_at, checked, request_title) = match &question.about {
        About::Outcome { sent_at, checked, .. } => (*sent_at, checked.as_deref(), words.sent),
        About::Permission { .. } | About::Budget | About::User { .. } => (None, None, words.request),
    };
    if let Some(sent_at) = sent_at {
        fact(words.sent_at, &sent_at.to_utc_string());
    }
    if let Some(asker) = &question.asker {
        fact(words.asked_by_agent, &asker.agent);
    }
    fact(words.asks_for, &held.user.0);
    fact(words.until, &question.expires_at.to_utc_string());
    body.push_str("</dl>\n");
    let request = call.and_then(|call| call.request.as_deref());
    for (name, text) in [(words.checked, checked), (request_title, request)] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            append_html(
                &mut body,
                format_args!("<h2>{name}</h2>\n<pre dir=\"ltr\">{}</pre>\n", escape_html(text)),
            );
        }
    }
    body.push_str("<form method=\"post\">\n");
    let names = decisions_for_kind(question.kind());
    if names.contains(&"reject") {
        let reason = words.reason;
        append_html(
            &mut body,
            format_args!("<p><label>{reason}<textarea name=\"reason\" rows=\"2\"></textarea></label></p>\n"),
        );
    }
    body.push_str("<p class=\"decisions\">\n");
    for name in names {
        let word = words.decision_label(name);
        append_html(&mut body, format_args!("<button name=\"decision\" value=\"{name}\">{word}</button>\n"));
    }
    append_html(&mut body, format_args!("</p>\n</form>\n<p class=\"small\">{}</p>\n", words.only_this));
    frame.render_page(status, title, &body)
}

/// The arguments as a form, whole, and behind a click exactly as they are sent.
fn add_arguments(body: &mut String, words: &Words, tool: &str, arguments: &str) {
    let members = serde_json::from_str::<Map<String, Value>>(arguments).unwrap_or_default();
    if members.is_empty() && arguments.trim() == "{}" {
        append_html(body, format_args!("<p>{}</p>\n", words.no_arguments));
        return;
    }
    if !members.is_empty() {
        body.push_str("<dl class=\"arguments\">\n");
        for (name, value) in &members {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let label = words.argument_label(tool, name);
            append_html(
                body,
                format_args!("<dt>{}</dt><dd>{}</dd>\n", escape_html(&label), escape_html(&shown)),
            );
        }
        body.push_str("</dl>\n");
    }
    // What is no object has no fields: there is nothing but the text itself.
    let open = if members.is_empty() { " open" } else { "" };
    let (name, exact) = (words.exactly, escape_html(arguments));
    append_html(
        body,
        format_args!("<details{open}><summary>{name}</summary>\n<pre dir=\"ltr\">{exact}</pre></details>\n"),
    );
}

/// How a question came to its end: by whom, and what they said.
pub(super) fn settled_page(frame: &Frame, status: StatusCode, held: &Approval) -> Response {
    let words = frame.words;
    let ApprovalState::Answered { answer, by, answered_at } = &held.state else {
        return message_page(frame, status, words.withdrawn);
    };
    let tool = held.question.call().map(|call| &call.tool);
    let about = tool.map(|tool| format!("{} · ", escape_html(&words.tool_title(tool)))).unwrap_or_default();
    let mut body = format!(
        "<p>{about}{} · {}{} · {}</p>\n",
        words.answer_label(answer),
        words.by,
        escape_html(by),
        answered_at.to_utc_string()
    );
    let said = match answer {
        Answer::Reject { reason } | Answer::Decline { reason } => reason.clone(),
        Answer::Reply { value: Value::String(text) } => text.clone(),
        Answer::Reply { value } => value.to_string(),
        _ => String::new(),
    };
    if !said.is_empty() {
        append_html(&mut body, format_args!("<pre>{}</pre>\n", escape_html(&said)));
    }
    frame.render_page(status, words.answered, &body)
}

/// Writing into a text does not fail.
pub(super) fn append_html(body: &mut String, what: std::fmt::Arguments<'_>) {
    _ = body.write_fmt(what);
}

/// Text that is nothing but text, with nothing hidden in it.
pub(super) fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in show_hidden_chars(text).chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // The first line end after a tag would be dropped.
            '\n' => safe.push_str("&#10;"),
            plain => safe.push(plain),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup_and_nothing_in_it_hides() {
        assert_eq!(
            escape_html("\n<script>alert('1')</script> & \"x\" \u{202e}exe\u{200b}"),
            "&#10;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot; ⟨U+202E⟩exe⟨U+200B⟩"
        );
    }
}
