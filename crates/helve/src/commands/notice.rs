//! Notices and failures in the language of the person at the terminal.
//!
//! What a model is told of a failure is another text, in English and with advice that is for models. It is shown only
//! where there is no notice, since then it is what the tool itself said.

use helve_types::{Failure, Notice};

use crate::client::line;
use crate::i18n::{Language, language, tr};

/// The sentence of a notice, in one line; none for one of a newer version.
pub(crate) fn sentence(notice: &Notice) -> Option<String> {
    let language = match language() {
        Language::English => helve_types::Language::English,
        Language::Chinese => helve_types::Language::Chinese,
    };
    notice.sentence(language).map(|text| line(&text))
}

/// Notices that say no more than that something failed: what it was is in the tool's own words.
const BARE: &[&str] = &["tool_declined", "tool_unwell", "program_failed"];

/// What a person is told of a failure.
pub(crate) fn failure_words(failure: &Failure) -> String {
    let notice = failure.notice.as_deref();
    let words = line(&failure.message);
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
    }

    #[tokio::test]
    async fn in_chinese_the_tools_own_words_follow_a_sentence() {
        let failed = Failure::new(FailureKind::Failed, "no such row");
        let told = crate::i18n::speaking(Language::Chinese, async { failure_words(&failed) }).await;
        assert!(told.ends_with("no such row") && told.starts_with("工具"), "{told}");
    }
}
