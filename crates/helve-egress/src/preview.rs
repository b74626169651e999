//! A request as a person is shown it before it is sent: everything that tells it from others, with the names of secrets
//! in the place of their values.
//!
//! What every request has without being chosen (`host`, `user-agent`, `accept-encoding`, `content-length`) is left out.

use std::fmt::Write;

use reqwest::header::AUTHORIZATION;

use crate::credential::set_query;
use crate::{Credential, Outgoing};

/// Nothing that an address would write in another way.
const STAND_IN: &str = "the-secret-goes-here";

impl Outgoing {
    /// Method and address, a line for each header, and after an empty line the body, all of it.
    pub fn preview(&self) -> String {
        let mut text = format!("{} {}\n", self.method, self.shown_url());
        let (secret_header, secret_line) = self.credential.as_ref().map(preview_header).unwrap_or_default();
        for (name, value) in self.headers.iter().filter(|(name, _)| name.as_str() != secret_header) {
            // Writing into a text does not fail.
            _ = writeln!(text, "{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        }
        text.push_str(&secret_line);
        match self.body.as_deref().map(std::str::from_utf8) {
            None => {}
            Some(Ok(body)) => _ = write!(text, "\n{body}"),
            Some(Err(_)) => {
                let bytes = self.body.as_ref().map_or(0, bytes::Bytes::len);
                _ = write!(text, "\n[{bytes} bytes that are no text]");
            }
        }
        text
    }

    fn shown_url(&self) -> String {
        let mut url = self.url.clone();
        let Some(Credential::Query { name, secret }) = &self.credential else { return url.into() };
        url.set_fragment(None);
        set_query(&mut url, name, STAND_IN);
        let before = url.as_str().strip_suffix(STAND_IN).unwrap_or(url.as_str());
        format!("{before}{}", placeholder(secret))
    }
}

/// The header that a credential takes, and the line that stands for it.
fn preview_header(credential: &Credential) -> (String, String) {
    let secret = placeholder(credential.secret());
    let (name, value) = match credential {
        Credential::Query { .. } => return Default::default(),
        Credential::Bearer { .. } => (AUTHORIZATION.to_string(), format!("Bearer {secret}")),
        Credential::Basic { username, .. } => {
            (AUTHORIZATION.to_string(), format!("Basic {username}:{secret}"))
        }
        Credential::Header { name, .. } => (name.to_ascii_lowercase(), secret),
    };
    let line = format!("{name}: {value}\n");
    (name, line)
}

fn placeholder(secret: &str) -> String {
    format!("[secret {secret}]")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use reqwest::Method;
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn check(credential: Option<Credential>, body: Option<&[u8]>, expected: Expect) {
        let url = "https://api.example.com/v1/Oslo?key=old&lang=%E4%B8%AD".parse().unwrap();
        let mut request = Outgoing::new(Method::POST, url);
        for (name, value) in [("content-type", "application/json"), ("x-key", "from the row")] {
            request.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        request.body = body.map(|body| body.to_vec().into());
        request.credential = credential;
        expected.assert_eq(&request.preview());
    }

    #[test]
    fn everything_is_shown_and_a_secret_by_its_name() {
        let secret = || "weather".to_owned();
        check(
            None,
            Some(b"{\"a\":\n1}"),
            expect![[r#"
                POST https://api.example.com/v1/Oslo?key=old&lang=%E4%B8%AD
                content-type: application/json
                x-key: from the row

                {"a":
                1}"#]],
        );
        check(
            Some(Credential::Bearer { secret: secret() }),
            None,
            expect![[r#"
                POST https://api.example.com/v1/Oslo?key=old&lang=%E4%B8%AD
                content-type: application/json
                x-key: from the row
                authorization: Bearer [secret weather]
            "#]],
        );
        check(
            Some(Credential::Header { name: "X-Key".into(), secret: secret() }),
            None,
            expect![[r#"
                POST https://api.example.com/v1/Oslo?key=old&lang=%E4%B8%AD
                content-type: application/json
                x-key: [secret weather]
            "#]],
        );
        check(
            Some(Credential::Query { name: "key".into(), secret: secret() }),
            Some(b"\xff\xfe"),
            expect![[r#"
                POST https://api.example.com/v1/Oslo?lang=%E4%B8%AD&key=[secret weather]
                content-type: application/json
                x-key: from the row

                [2 bytes that are no text]"#]],
        );
        check(
            Some(Credential::Basic { username: "mei".into(), secret: secret() }),
            None,
            expect![[r#"
                POST https://api.example.com/v1/Oslo?key=old&lang=%E4%B8%AD
                content-type: application/json
                x-key: from the row
                authorization: Basic mei:[secret weather]
            "#]],
        );
    }
}
