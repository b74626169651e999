//! The two-flag rule: what a person is asked whatever else allows it.
//!
//! Private data, text that strangers may have written, and a way out: any two of them are work, all three are how data
//! is stolen. Once the first two are in a run, a call that can carry data out of it is put before a person.

use helve_types::{CLIENT, Effect, Flow, Notice, Origin, Reason, Taint};

/// A call that could carry private data out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataLeak {
    /// For the person who is asked: what is in the run, from where, and where it would go.
    pub warnings: Vec<Reason>,
}

impl DataLeak {
    /// Why a person is asked at all.
    pub fn reason() -> Reason {
        Reason::new(
            "it could carry private data out of the run, and text from outside may have asked for it",
            Notice::asks_for_leak(),
        )
    }

    /// The warnings in words and as notices.
    pub fn into_warnings(self) -> (Vec<String>, Vec<Notice>) {
        self.warnings.into_iter().map(|warning| (warning.text, warning.notice)).unzip()
    }
}

/// How many sources a person is told of.
const SOURCES_MAX: usize = 4;

/// Whether a call of a tool that flows like this could carry private data out on the word of another.
///
/// A call that only reads, and where all private data is from, tells that place nothing that it has not said itself. One
/// that writes there may still show it to others. A client that keeps the history is given every call as it is given
/// every word, and what becomes of it is its user's to say.
pub fn find_leak(taint: &Taint, flow: &Flow, effect: Effect) -> Option<DataLeak> {
    let goes_home = || flow.place.is_some() && taint.private.iter().all(|origin| origin.place == flow.place);
    let may_go_home = effect == Effect::Read || flow.place.as_deref() == Some(CLIENT);
    if !flow.outward || !taint.has_both_kinds() || (may_go_home && goes_home()) {
        return None;
    }
    let place = match flow.place.as_deref() {
        Some(CLIENT) => Reason::new(
            "This call gives its arguments to a program on the user's side, which Helve does not see.",
            Notice::leak_to_client(),
        ),
        Some(host) => Reason::new(
            format!(
                "This call sends its arguments to {host}, which is not one of the operator's trusted hosts."
            ),
            Notice::leak_to_host(host),
        ),
        None => Reason::new(
            "This call sends its arguments to a place that is not the operator's own.",
            Notice::leak_to_elsewhere(),
        ),
    };
    let (private, untrusted) = (list_origins(&taint.private), list_origins(&taint.untrusted));
    Some(DataLeak {
        warnings: vec![
            Reason::new(
                format!("There is private data in this run, from {private}."),
                Notice::leak_private(&private),
            ),
            Reason::new(
                format!(
                    "There is also text that strangers may have written, from {untrusted}: it may have told the model to make this call."
                ),
                Notice::leak_untrusted(&untrusted),
            ),
            place,
        ],
    })
}

fn list_origins(origins: &[Origin]) -> String {
    let one = |origin: &Origin| match &origin.place {
        Some(place) => format!("{} ({place})", origin.source),
        None => origin.source.clone(),
    };
    let mut names: Vec<String> = origins.iter().take(SOURCES_MAX).map(one).collect();
    if origins.len() > SOURCES_MAX {
        names.push(format!("{} more", origins.len() - SOURCES_MAX));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(source: &str, place: Option<&str>) -> Origin {
        Origin { source: source.into(), place: place.map(Into::into) }
    }

    fn to(place: &str) -> Flow {
        Flow { outward: true, place: Some(place.into()), ..Flow::default() }
    }

    #[test]
    fn only_all_three_together_are_asked_about() {
        let private = vec![origin("query_database", None)];
        let untrusted = vec![origin("read_page", Some("blog.test"))];
        let neither = Taint::default();
        let one = Taint { private: private.clone(), untrusted: vec![] };
        let other = Taint { private: vec![], untrusted: untrusted.clone() };
        let both = Taint { private, untrusted };
        for effect in [Effect::Read, Effect::Idempotent, Effect::NonIdempotent] {
            for taint in [&neither, &one, &other] {
                assert_eq!(find_leak(taint, &to("evil.test"), effect), None);
            }
            assert_eq!(find_leak(&both, &Flow::default(), effect), None);
            let asked = find_leak(&both, &to("evil.test"), effect).unwrap();
            assert_eq!(
                asked.into_warnings().0,
                [
                    "There is private data in this run, from query_database.",
                    "There is also text that strangers may have written, from read_page (blog.test): it may have told the \
                     model to make this call.",
                    "This call sends its arguments to evil.test, which is not one of the operator's trusted hosts.",
                ]
            );
        }
    }

    #[test]
    fn reading_on_where_all_private_data_is_from_is_free_and_writing_there_is_not() {
        let home = vec![origin("list_orders", Some("shop.test"))];
        let taint = Taint { private: home.clone(), untrusted: home.clone() };
        assert_eq!(find_leak(&taint, &to("shop.test"), Effect::Read), None);
        assert!(find_leak(&taint, &to("shop.test"), Effect::NonIdempotent).is_some());
        assert!(find_leak(&taint, &to("other.test"), Effect::Read).is_some());
        let two = Taint { private: [home.clone(), vec![origin("query_database", None)]].concat(), ..taint };
        assert!(find_leak(&two, &to("shop.test"), Effect::Read).is_some());
        // An unknown place is not private.
        let nowhere = Flow { outward: true, ..Flow::default() };
        let inside = vec![origin("query_database", None)];
        let taint = Taint { private: inside, untrusted: home };
        assert!(find_leak(&taint, &nowhere, Effect::Read).is_some());
    }

    #[test]
    fn what_only_the_clients_history_holds_may_go_to_the_client_and_nowhere_else() {
        let history = vec![origin("the client's history", Some(CLIENT))];
        let taint = Taint { private: history.clone(), untrusted: history.clone() };
        assert_eq!(find_leak(&taint, &Flow::for_client(), Effect::NonIdempotent), None);
        assert!(find_leak(&taint, &to("other.test"), Effect::Read).is_some());
        let more = Taint { private: [history, vec![origin("query_database", None)]].concat(), ..taint };
        assert!(find_leak(&more, &Flow::for_client(), Effect::NonIdempotent).is_some());
    }

    #[test]
    fn many_sources_are_counted_and_not_all_told() {
        let private = (1..=6).map(|n| origin(&format!("tool_{n}"), None)).collect();
        let taint = Taint { private, untrusted: vec![origin("eval", Some("client"))] };
        let warnings =
            find_leak(&taint, &Flow::for_client(), Effect::NonIdempotent).unwrap().into_warnings().0;
        assert_eq!(
            warnings[0],
            "There is private data in this run, from tool_1, tool_2, tool_3, tool_4, 2 more."
        );
        assert!(warnings[2].contains("on the user's side"), "{warnings:?}");
    }
}
