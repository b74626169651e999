//! Notices and failures in the language of the person at the terminal.
//!
//! What a model is told of a failure is another text, in English and with advice that is for models. It is shown only
//! where there is no notice, since then it is what the tool itself said.

use helve_tool::{ADVICE, CatalogueError, DefinitionError};
use helve_types::{Failure, Notice};
use serde_json::Value;

use crate::client::line;
use crate::i18n::{Language, language, tr, words};

/// The sentence of a notice, in one line; none for one of a newer version.
pub(crate) fn sentence(notice: &Notice) -> Option<String> {
    let language = match language() {
        Language::English => helve_types::Language::English,
        Language::Chinese => helve_types::Language::Chinese,
    };
    notice.sentence(language).map(|text| line(&text))
}

/// What is wrong with a definition, or odd about it, in one line. What another part said of it has its patterns.
pub(crate) fn definition_words(notice: &Notice) -> String {
    let mut notice = notice.clone();
    for (name, value) in &mut notice.params {
        match value {
            Value::String(detail) if name == "detail" => *detail = words(detail),
            Value::Object(_) => {
                let nested = serde_json::from_value::<Notice>(value.clone());
                if let Ok(nested) = nested.as_ref().map(definition_words) {
                    *value = Notice::definition_other(&nested).into();
                }
            }
            _ => {}
        }
    }
    sentence(&notice).unwrap_or_else(|| line(&notice.english()))
}

/// Why a definition cannot be used.
pub(crate) fn problem_words(problem: &DefinitionError) -> String {
    definition_words(&problem.notice())
}

/// Why a tool is not made, changed or deleted.
pub(crate) fn catalogue_words(error: &CatalogueError) -> String {
    match error {
        CatalogueError::Definition(problem) => problem_words(problem),
        other => words(other),
    }
}

/// Why a run ended without an answer: its code says it in the reader's language, and the rest is another's words.
pub(crate) fn run_failure_words(code: &str, message: &str, notice: Option<&Notice>) -> String {
    // The notice says all of it.
    if let Some(told) = notice.and_then(sentence).filter(|_| language() != Language::English) {
        return told;
    }
    let told = match language() {
        Language::English => None,
        Language::Chinese => sentence(&Notice { code: code.to_owned(), params: Default::default() }),
    };
    match told {
        Some(told) if !message.is_empty() => {
            tr!("{what} It said: {words}", what = told, words = line(&words(message)))
        }
        Some(told) => told,
        None => line(&words(message)),
    }
}

/// Notices that say no more than that something failed: what it was is in the tool's own words.
const BARE: &[&str] = &["tool_declined", "tool_unwell", "program_failed"];

/// What a person is told of a failure.
pub(crate) fn failure_words(failure: &Failure) -> String {
    let notice = failure.notice.as_deref();
    // What a model does about it is nothing to tell a person.
    let words = line(failure.message.strip_suffix(ADVICE).unwrap_or(&failure.message));
    match (sentence(&failure.user_notice()), notice) {
        (Some(told), Some(notice)) if !BARE.contains(&notice.code.as_str()) => told,
        (Some(told), notice) if notice.is_some() || language() != Language::English => {
            tr!("{what} It said: {words}", what = told, words = words)
        }
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use helve_types::FailureKind;

    use super::*;

    #[test]
    fn a_failure_is_told_by_its_notice_and_else_in_the_tools_own_words() {
        let known = Failure::new(FailureKind::Denied, "do not call it again")
            .with_notice(Notice::forbidden_because("sums\u{1b} are secret"));
        assert!(failure_words(&known).contains("sums⟨U+001B⟩ are secret"), "{}", failure_words(&known));
        assert!(!failure_words(&known).contains("do not call"));
        let declined =
            Failure::new(FailureKind::Failed, "50 is the most").with_notice(Notice::tool_declined());
        assert_eq!(failure_words(&declined), "The tool did not do it. It said: 50 is the most");
        assert_eq!(failure_words(&Failure::new(FailureKind::Failed, "no such row")), "no such row");
        let advised = Failure::new(FailureKind::Failed, format!("no such row{ADVICE}"));
        assert_eq!(failure_words(&advised), "no such row");
    }

    #[tokio::test]
    async fn in_chinese_the_tools_own_words_follow_a_sentence() {
        let failed = Failure::new(FailureKind::Failed, "no such row");
        let told = crate::i18n::speaking(Language::Chinese, async { failure_words(&failed) }).await;
        assert!(told.ends_with("no such row") && told.starts_with("工具"), "{told}");
    }
}
