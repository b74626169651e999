//! Who calls: a document's security schemes as references to secrets that the operator has yet to give.

use helve_types::{Auth, KeyPlace};
use serde::Serialize;
use serde_json::{Map, Value};

use super::names::to_slug;
use super::parameters::is_header;
use super::refs::Refs;
use super::words;

/// A secret that tools of an import refer to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretNeeded {
    pub name: String,
    /// What it is, in the document's words or ours.
    pub what: String,
    pub hosts: Vec<String>,
    /// For the operator's configuration, ready to paste.
    pub toml: String,
}

impl SecretNeeded {
    pub(super) fn new(name: &str, what: &str, hosts: Vec<String>) -> Self {
        let listed: Vec<String> = hosts.iter().map(|host| Value::from(host.as_str()).to_string()).collect();
        let toml = format!(
            "[secrets.{name}]  # {what}\nenv = \"{}\"\nhosts = [{}]\n",
            name.to_ascii_uppercase(),
            listed.join(", ")
        );
        Self { name: name.to_owned(), what: what.to_owned(), hosts, toml }
    }
}

/// How an operation is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChosenScheme {
    pub(super) auth: Auth,
    /// The secret's name and what it is.
    pub(super) secret: Option<(String, String)>,
    pub(super) note: Option<String>,
}

/// The schemes of a document.
#[derive(Debug)]
pub(super) struct Schemes<'a> {
    pub(super) refs: Refs<'a>,
    pub(super) root: &'a Value,
    /// What secrets' names begin with.
    pub(super) slug: &'a str,
    /// For basic authentication: half of it is no secret.
    pub(super) username: Option<&'a str>,
}

impl Schemes<'_> {
    /// The best of the ways that an operation offers; or why none of them can be gone.
    pub(super) fn choose_scheme(&self, operation: &Value) -> Result<ChosenScheme, String> {
        let none = ChosenScheme { auth: Auth::None, secret: None, note: None };
        let required = operation.get("security").or_else(|| self.root.get("security"));
        let Some(ways) = required.and_then(Value::as_array).filter(|ways| !ways.is_empty()) else {
            return Ok(none);
        };
        let mut best: Option<(u8, ChosenScheme)> = None;
        let mut problem = None;
        for (number, way) in ways.iter().take(50).enumerate() {
            let way = way.as_object().map(Map::keys).into_iter().flatten().collect::<Vec<_>>();
            let found = match way[..] {
                // Nothing is needed. Said first, it is meant; said last, it is the lesser way.
                [] => Ok((if number == 0 { 0 } else { 9 }, none.clone())),
                [name] => self.read_scheme(name),
                _ => Err("it needs several credentials at once, and a tool has one".to_owned()),
            };
            match found {
                Ok(found) if best.as_ref().is_none_or(|(rank, _)| found.0 < *rank) => best = Some(found),
                Ok(_) => {}
                Err(reason) => problem = problem.or(Some(reason)),
            }
        }
        best.map(|(_, chosen)| chosen).ok_or(problem.unwrap_or_default())
    }

    /// How one scheme is followed, and how gladly: 1 is best.
    fn read_scheme(&self, name: &str) -> Result<(u8, ChosenScheme), String> {
        let shown = words::clean_line(name, 60);
        let schemes = self.root.get("components").and_then(|all| all.get("securitySchemes"));
        let scheme = schemes.and_then(|all| all.get(name));
        let scheme =
            scheme.ok_or_else(|| format!("its credential `{shown}` is not described in the document"))?;
        let scheme = self.refs.follow(scheme)?;
        let text = |field: &str| scheme.get(field).and_then(Value::as_str).unwrap_or_default();
        let secret = self.secret_name(name);
        let unsupported =
            |what: &str| Err(format!("its credential `{shown}` is {what}, which is not supported"));
        let chosen = |auth: Auth, what: String, note: Option<String>| ChosenScheme {
            auth,
            secret: Some((secret.clone(), what)),
            note,
        };
        let bearer = || Auth::Bearer { secret: secret.clone(), env: None };
        let kind = text("type").to_ascii_lowercase();
        Ok(match (kind.as_str(), text("scheme").to_ascii_lowercase().as_str()) {
            ("http", "bearer") => (1, chosen(bearer(), "a bearer token".into(), None)),
            ("apikey", _) => {
                let name = words::clean_line(text("name"), 100);
                let place = match text("in") {
                    "header" if is_header(&name) => KeyPlace::Header,
                    "query" if !name.is_empty() => KeyPlace::Query,
                    "cookie" => return unsupported("a cookie"),
                    _ => return unsupported("a key without a place or a name"),
                };
                let (rank, at) =
                    if place == KeyPlace::Header { (2, "header") } else { (4, "query parameter") };
                let what = format!("the key for the {at} `{name}`");
                (rank, chosen(Auth::ApiKey { secret: secret.clone(), name, place, env: None }, what, None))
            }
            ("oauth2" | "openidconnect", _) => {
                let note = format!(
                    "`{shown}` is OAuth: Helve sends the token it is given and does not fetch or renew one"
                );
                (3, chosen(bearer(), "an OAuth access token".into(), Some(note)))
            }
            ("http", "basic") => {
                let username = self.username.ok_or_else(|| {
                    format!("its credential `{shown}` is a user name with a password; say the user name and import again")
                })?;
                let auth = Auth::Basic { username: username.to_owned(), secret: secret.clone(), env: None };
                (
                    5,
                    chosen(
                        auth,
                        format!("the password of the user `{}`", words::clean_line(username, 60)),
                        None,
                    ),
                )
            }
            ("mutualtls", _) => return unsupported("a client certificate"),
            ("http", other) => {
                return unsupported(&format!("`{}` authentication", words::clean_line(other, 30)));
            }
            (other, _) => return unsupported(&format!("of the type `{}`", words::clean_line(other, 30))),
        })
    }

    fn secret_name(&self, scheme: &str) -> String {
        let scheme = to_slug(scheme, 30);
        match (self.slug, scheme.as_str()) {
            ("", "") => "openapi".into(),
            (only, "") | ("", only) => only.to_owned(),
            (document, scheme) => format!("{document}_{scheme}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(security: Value, expected: Expect) {
        let root = json!({
            "security": [{"token": []}],
            "components": {"securitySchemes": {
                "token": {"type": "http", "scheme": "Bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "query key": {"type": "apiKey", "in": "query", "name": "key"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
                "blank": {"type": "apiKey", "in": "header", "name": "API Key"},
                "login": {"type": "http", "scheme": "basic"},
                "digest": {"type": "http", "scheme": "digest"},
                "oauth": {"$ref": "#/components/x-oauth"},
                "tls": {"type": "mutualTLS"}
            }, "x-oauth": {"type": "oauth2", "flows": {}}}
        });
        let schemes = Schemes { refs: Refs::new(&root), root: &root, slug: "shop", username: None };
        let operation = if security.is_null() { json!({}) } else { json!({"security": security}) };
        expected.assert_eq(&match schemes.choose_scheme(&operation) {
            Ok(chosen) => format!("{} {}", json!(chosen.auth), chosen.note.unwrap_or_default()),
            Err(reason) => reason,
        });
    }

    #[test]
    fn schemes_become_references_to_secrets() {
        check(Value::Null, expect![[r#"{"secret":"shop_token","type":"bearer"} "#]]);
        check(json!([]), expect![[r#"{"type":"none"} "#]]);
        check(
            json!([{"key": []}]),
            expect![[r#"{"in":"header","name":"X-Key","secret":"shop_key","type":"api_key"} "#]],
        );
        check(
            json!([{"query key": []}]),
            expect![[r#"{"in":"query","name":"key","secret":"shop_query_key","type":"api_key"} "#]],
        );
        check(
            json!([{"oauth": ["read"]}]),
            expect![[
                r#"{"secret":"shop_oauth","type":"bearer"} `oauth` is OAuth: Helve sends the token it is given and does not fetch or renew one"#
            ]],
        );
    }

    #[test]
    fn the_best_of_several_ways_is_gone() {
        check(
            json!([{"query key": []}, {"login": []}, {"token": []}]),
            expect![[r#"{"secret":"shop_token","type":"bearer"} "#]],
        );
        check(json!([{}, {"token": []}]), expect![[r#"{"type":"none"} "#]]);
        check(json!([{"token": []}, {}]), expect![[r#"{"secret":"shop_token","type":"bearer"} "#]]);
        check(
            json!([{"cookie": []}, {"key": []}]),
            expect![[r#"{"in":"header","name":"X-Key","secret":"shop_key","type":"api_key"} "#]],
        );
    }

    #[test]
    fn a_way_that_cannot_be_gone_is_a_reason() {
        check(
            json!([{"cookie": []}]),
            expect!["its credential `cookie` is a cookie, which is not supported"],
        );
        check(
            json!([{"blank": []}]),
            expect!["its credential `blank` is a key without a place or a name, which is not supported"],
        );
        check(
            json!([{"digest": []}]),
            expect!["its credential `digest` is `digest` authentication, which is not supported"],
        );
        check(
            json!([{"tls": []}]),
            expect!["its credential `tls` is a client certificate, which is not supported"],
        );
        check(
            json!([{"key": [], "token": []}]),
            expect!["it needs several credentials at once, and a tool has one"],
        );
        check(json!([{"nobody": []}]), expect!["its credential `nobody` is not described in the document"]);
        check(
            json!([{"login": []}]),
            expect![
                "its credential `login` is a user name with a password; say the user name and import again"
            ],
        );
    }

    #[test]
    fn the_operator_gets_a_block_to_paste() {
        let needed = SecretNeeded::new("shop_token", "a bearer token", vec!["api.example.com".into()]);
        expect![[r#"
            [secrets.shop_token]  # a bearer token
            env = "SHOP_TOKEN"
            hosts = ["api.example.com"]
        "#]]
        .assert_eq(&needed.toml);
    }
}
