//! The operator's word on what tools bring in and where data may go.

use std::collections::BTreeMap;

use helve_types::{Flow, LabelTerms, ToolSpec};

/// What the configuration says about labels. It wins over what definitions say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Hosts that data may go to: `api.example.com`, or `*.example.com` for all below it.
    pub hosts: Vec<String>,
    /// By the tool's name.
    pub tools: BTreeMap<String, LabelTerms>,
}

impl Trust {
    /// What a tool brings in and can carry out: by its kind, then by where it goes, then by its definition, then by
    /// its table in the configuration.
    pub(crate) fn flow_of_tool(&self, spec: &ToolSpec) -> Flow {
        let mut flow = spec.flow.clone();
        if flow.place.as_deref().is_some_and(|place| self.is_trusted(place)) {
            flow.outward = false;
        }
        let said = flow.with_terms(&spec.labels);
        self.tools.get(&spec.name).map_or(said.clone(), |terms| said.with_terms(terms))
    }

    /// A host is trusted on all its ports.
    fn is_trusted(&self, place: &str) -> bool {
        let host = match place.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
            _ => place,
        };
        self.hosts.iter().any(|trusted| match trusted.strip_prefix("*.") {
            Some(parent) => {
                let below = host.len().checked_sub(parent.len()).map(|at| host.split_at_checked(at));
                below.flatten().is_some_and(|(below, tail)| {
                    below.len() > 1 && below.ends_with('.') && tail.eq_ignore_ascii_case(parent)
                })
            }
            None => trusted.eq_ignore_ascii_case(host),
        })
    }
}

#[cfg(test)]
mod tests {
    use helve_types::Effect;
    use serde_json::json;

    use super::*;

    fn spec(host: &str, labels: LabelTerms) -> ToolSpec {
        let flow = Flow { untrusted: true, outward: true, private: false, place: Some(host.into()) };
        ToolSpec {
            flow,
            labels,
            ..ToolSpec::new("fetch", "Fetches.", json!({"type": "object"}), Effect::Read)
        }
    }

    fn outward(outward: bool) -> LabelTerms {
        LabelTerms { outward: Some(outward), ..LabelTerms::default() }
    }

    #[test]
    fn data_may_go_to_hosts_that_the_operator_trusts() {
        let trust = Trust {
            hosts: vec!["api.example.com".into(), "*.corp.test".into(), "[::1]".into()],
            ..Trust::default()
        };
        let cases = [
            ("api.example.com", true),
            ("API.example.com", true),
            ("api.example.com:8443", true),
            ("[::1]:8080", true),
            ("[::2]:8080", false),
            ("evil-api.example.com", false),
            ("example.com", false),
            ("wiki.corp.test", true),
            ("a.b.corp.test", true),
            ("corp.test", false),
            ("evilcorp.test", false),
            (".corp.test", false),
            ("corp.test.evil.test", false),
        ];
        for (host, trusted) in cases {
            let flow = trust.flow_of_tool(&spec(host, LabelTerms::default()));
            assert_eq!(flow.outward, !trusted, "{host}");
            assert!(flow.untrusted, "strangers may have written it all the same");
        }
    }

    #[test]
    fn a_definition_speaks_over_the_list_and_the_configuration_over_the_definition() {
        let mut trust = Trust { hosts: vec!["own.test".into()], ..Trust::default() };
        assert!(trust.flow_of_tool(&spec("own.test", outward(true))).outward);
        assert!(!trust.flow_of_tool(&spec("other.test", outward(false))).outward);
        trust.tools.insert("fetch".into(), outward(true));
        assert!(trust.flow_of_tool(&spec("own.test", outward(false))).outward);
        trust.tools.insert("fetch".into(), outward(false));
        assert!(!trust.flow_of_tool(&spec("other.test", outward(true))).outward);
    }
}
