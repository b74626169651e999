//! The form in which the holder of a link tells the model what it wants to know. A form that was sent and does not fit
//! comes back as it was filled in, with what is wrong beside each field.

use helve_tool::{FieldProblem, TypedValue};
use helve_types::{FormField, FormOption, ReplyForm, TextFormat, UserQuestion};
use serde_json::{Number, Value};

use super::page::{append_html, escape_html};
use super::words::Words;

/// What was filled in before, and what is wrong with it.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) typed: Vec<TypedValue>,
    pub(super) reason: String,
    pub(super) problems: Vec<FieldProblem>,
    /// The person would rather not answer.
    pub(super) is_declined: bool,
}

/// Fields of forms have names of their own, which no field of the page has.
const PREFIX: &str = "f.";

/// The field of the reply that a field of the form is for.
pub(super) fn typed_field(name: &str) -> Option<String> {
    name.strip_prefix(PREFIX).map(str::to_owned)
}

/// The question and the form that answers it. The form has no address, so it goes to the page's own.
pub(super) fn add_reply_form(body: &mut String, words: &Words, asked: &UserQuestion, draft: &Draft) {
    append_html(body, format_args!("<p class=\"question\">{}</p>\n", escape_html(&asked.question)));
    body.push_str("<form method=\"post\">\n");
    let mut form = FormWriter { body, words, draft };
    if !draft.is_declined {
        form.add_problems("");
    }
    match &asked.form {
        ReplyForm::Fields { fields } => form.add_fields(fields, ""),
        only => form.add_only(only),
    }
    let body = form.body;
    append_html(
        body,
        format_args!(
            "<p class=\"decisions\"><button name=\"decision\" value=\"reply\">{}</button></p>\n\
             <p class=\"small\">{}</p>\n",
            words.decision_label("reply"),
            words.form.no_secrets
        ),
    );
    let open = if draft.is_declined { " open" } else { "" };
    append_html(
        body,
        format_args!(
            "<details{open}><summary>{}</summary>\n<p><label>{}<textarea name=\"reason\" rows=\"2\">{}</textarea></label></p>\n",
            words.form.rather_not,
            words.form.rather_not_reason,
            escape_html(&draft.reason)
        ),
    );
    let mut form = FormWriter { body, words, draft };
    if draft.is_declined {
        form.add_problems("");
    }
    append_html(
        form.body,
        format_args!(
            "<button name=\"decision\" value=\"decline\" formnovalidate>{}</button>\n</details>\n</form>\n",
            words.decision_label("decline")
        ),
    );
}

struct FormWriter<'a> {
    body: &'a mut String,
    words: &'a Words,
    draft: &'a Draft,
}

impl FormWriter<'_> {
    /// The only field of a question without a form.
    fn add_only(&mut self, form: &ReplyForm) {
        let label = self.words.form.answer;
        self.add_input(form, "", &escape_html(label), true, None);
    }

    fn add_fields(&mut self, fields: &[FormField], path: &str) {
        for field in fields {
            let place = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            let mut label = escape_html(field.label());
            if !field.required {
                label.push_str(&format!(" ({})", self.words.form.optional));
            }
            match &field.form {
                ReplyForm::Fields { fields } => {
                    append_html(
                        self.body,
                        format_args!("<fieldset><legend>{label}</legend>\n<div class=\"group\">\n"),
                    );
                    self.add_hint(field);
                    self.add_problems(&place);
                    self.add_fields(fields, &place);
                    self.body.push_str("</div></fieldset>\n");
                }
                form => {
                    self.add_input(form, &place, &label, field.required, Some(field));
                }
            }
        }
    }

    fn add_input(
        &mut self,
        form: &ReplyForm,
        place: &str,
        label: &str,
        required: bool,
        field: Option<&FormField>,
    ) {
        let name = escape_html(&format!("{PREFIX}{place}"));
        let must = if required { " required" } else { "" };
        let given = self.given(place, field);
        let value = given.first().cloned().unwrap_or_default();
        let is_set =
            matches!(form, ReplyForm::Choice { .. } | ReplyForm::Choices { .. } | ReplyForm::Boolean);
        let (begin, end) = if is_set {
            (format!("<fieldset><legend>{label}</legend>\n"), "</fieldset>\n")
        } else {
            (format!("<p class=\"field\"><label>{label}\n"), "</label></p>\n")
        };
        self.body.push_str(&begin);
        match form {
            ReplyForm::Text { multiline: true, max_chars, .. } => {
                let value = escape_html(&value);
                append_html(
                    self.body,
                    format_args!(
                        "<textarea name=\"{name}\" rows=\"4\" maxlength=\"{max_chars}\"{must}>{value}</textarea>\n"
                    ),
                );
            }
            ReplyForm::Text { format, max_chars, .. } => {
                let (kind, value) = (input_type(*format), escape_html(&value));
                append_html(
                    self.body,
                    format_args!(
                        "<input type=\"{kind}\" name=\"{name}\" value=\"{value}\" maxlength=\"{max_chars}\"{must}>\n"
                    ),
                );
            }
            ReplyForm::Number { whole, minimum, maximum } => {
                let bound = |name: &str, bound: &Option<Number>| {
                    bound.as_ref().map_or_else(String::new, |bound| format!(" {name}=\"{bound}\""))
                };
                let (min, max) = (bound("min", minimum), bound("max", maximum));
                let (step, value) = (if *whole { "1" } else { "any" }, escape_html(&value));
                append_html(
                    self.body,
                    format_args!(
                        "<input type=\"number\" name=\"{name}\" value=\"{value}\" step=\"{step}\"{min}{max}{must}>\n"
                    ),
                );
            }
            ReplyForm::Boolean => {
                let words = &self.words.form;
                let option =
                    |value: &str, title: &str| FormOption { value: value.into(), title: Some(title.into()) };
                let options = [option("true", words.yes), option("false", words.no)];
                self.add_options("radio", &name, must, &options, &given);
                self.add_nothing(&name, required, &given);
            }
            ReplyForm::Choice { options } => {
                self.add_options("radio", &name, must, options, &given);
                self.add_nothing(&name, required, &given);
            }
            ReplyForm::Choices { options, .. } => self.add_options("checkbox", &name, "", options, &given),
            ReplyForm::Fields { .. } => {}
        }
        self.body.push_str(end);
        if let Some(field) = field {
            self.add_hint(field);
        }
        // What is wrong with the whole stands above the form.
        if !place.is_empty() {
            self.add_problems(place);
        }
    }

    fn add_options(&mut self, kind: &str, name: &str, must: &str, options: &[FormOption], given: &[String]) {
        for option in options {
            let checked = if given.contains(&option.value) { " checked" } else { "" };
            let (value, label) = (escape_html(&option.value), escape_html(option.label()));
            append_html(
                self.body,
                format_args!(
                    "<label class=\"option\"><input type=\"{kind}\" name=\"{name}\" value=\"{value}\"{checked}{must}>\
                     <span>{label}</span></label>\n"
                ),
            );
        }
    }

    /// A choice that need not be made can be taken back.
    fn add_nothing(&mut self, name: &str, required: bool, given: &[String]) {
        if !required {
            let options = [FormOption { value: String::new(), title: Some(self.words.form.nothing.into()) }];
            let given = if given.is_empty() { vec![String::new()] } else { given.to_vec() };
            self.add_options("radio", name, "", &options, &given);
        }
    }

    fn add_hint(&mut self, field: &FormField) {
        if let Some(description) = &field.description {
            append_html(self.body, format_args!("<p class=\"hint\">{}</p>\n", escape_html(description)));
        }
    }

    fn add_problems(&mut self, place: &str) {
        for problem in self.draft.problems.iter().filter(|problem| problem.field == place) {
            let sentence = escape_html(&self.words.sentence(&problem.notice));
            append_html(self.body, format_args!("<p class=\"wrong\" role=\"alert\">{sentence}</p>\n"));
        }
    }

    /// What stands in a field: what was sent, or else what it begins with.
    fn given(&self, place: &str, field: Option<&FormField>) -> Vec<String> {
        let draft = self.draft;
        if !draft.typed.is_empty() || !draft.problems.is_empty() {
            let typed = draft.typed.iter().filter(|typed| typed.field == place);
            return typed.map(|typed| typed.text.clone()).collect();
        }
        let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match field.and_then(|field| field.default.as_ref()) {
            Some(Value::Array(items)) => items.iter().map(as_text).collect(),
            Some(value) => vec![as_text(value)],
            None => vec![],
        }
    }
}

fn input_type(format: Option<TextFormat>) -> &'static str {
    match format {
        None => "text",
        Some(TextFormat::Email) => "email",
        Some(TextFormat::Uri) => "url",
        Some(TextFormat::Date) => "date",
        Some(TextFormat::Time) => "time",
        Some(TextFormat::DateTime) => "datetime-local",
    }
}
