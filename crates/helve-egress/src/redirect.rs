//! Where a redirect leads, and what of the request goes along. Pure.

use bytes::Bytes;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, HeaderMap, HeaderValue,
};
use reqwest::{Method, StatusCode};
use url::Url;

use crate::{Credential, Outgoing};

/// However many a tool asks for.
pub(crate) const REDIRECTS_MAX: u8 = 3;

/// One request of the chain.
#[derive(Debug, Clone)]
pub(crate) struct RequestHop {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    pub(crate) credential: Option<Credential>,
    /// Something before it may have had an effect.
    pub(crate) acted: bool,
}

impl From<Outgoing> for RequestHop {
    fn from(request: Outgoing) -> Self {
        let Outgoing { method, url, headers, body, credential, .. } = request;
        Self { method, url, headers, body, credential, acted: false }
    }
}

impl RequestHop {
    /// What an answer of this status and with this `Location` asks for next, or why it must not be done.
    pub(crate) fn follow(self, status: StatusCode, location: &HeaderValue) -> Result<Self, String> {
        let url = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| self.url.join(text).ok());
        let url = url.ok_or("the answer is a redirect to an address that cannot be read")?;
        if self.url.scheme() == "https" && url.scheme() != "https" {
            return Err(
                "the answer is a redirect from https to something less safe, which is not followed".into()
            );
        }
        let acted = self.may_have_acted(status);
        let (same, method) = (self.url.origin() == url.origin(), self.method_after_redirect(status));
        if same {
            let mut hop = Self { url, acted, ..self };
            if hop.method != method {
                hop.drop_body(method);
            }
            return Ok(hop);
        }
        if method != Method::GET && method != Method::HEAD {
            return Err(format!(
                "the answer is a redirect of a {method} to another host, which is not followed"
            ));
        }
        // Another host gets nothing but the question.
        Ok(Self { method, url, headers: HeaderMap::new(), body: None, credential: None, acted })
    }

    /// Whether something may have been done once it was answered with this redirect.
    pub(crate) fn may_have_acted(&self, status: StatusCode) -> bool {
        let asks = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&self.method);
        // These two say that nothing was done, and where it would be.
        let is_declined = matches!(status.as_u16(), 307 | 308);
        self.acted || !asks && !is_declined
    }

    fn method_after_redirect(&self, status: StatusCode) -> Method {
        match (status.as_u16(), &self.method) {
            (303, method) if *method != Method::HEAD => Method::GET,
            (301 | 302, method) if *method == Method::POST => Method::GET,
            (_, method) => method.clone(),
        }
    }

    fn drop_body(&mut self, method: Method) {
        self.method = method;
        self.body = None;
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION] {
            self.headers.remove(name);
        }
    }
}

pub(crate) fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(method: &Method, url: &str) -> RequestHop {
        let mut request = Outgoing::new(method.clone(), Url::parse(url).unwrap());
        request.headers.insert("x-canary", HeaderValue::from_static("1"));
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        request.body = Some(Bytes::from_static(b"body"));
        request.credential = Some(Credential::Bearer { secret: "s".into() });
        request.into()
    }

    fn follow(method: &Method, status: u16, location: &str) -> Result<RequestHop, String> {
        let location = HeaderValue::from_str(location).unwrap();
        hop(method, "https://a.example/x").follow(StatusCode::from_u16(status).unwrap(), &location)
    }

    #[test]
    fn methods_follow_the_standard() {
        let (get, post, put, head) = (Method::GET, Method::POST, Method::PUT, Method::HEAD);
        for (status, asked, next) in [
            (301, &post, &get),
            (302, &post, &get),
            (303, &post, &get),
            (307, &post, &post),
            (308, &post, &post),
            (301, &put, &put),
            (302, &put, &put),
            (303, &put, &get),
            (307, &put, &put),
            (308, &put, &put),
            (301, &get, &get),
            (302, &get, &get),
            (303, &get, &get),
            (307, &get, &get),
            (308, &get, &get),
            (301, &head, &head),
            (303, &head, &head),
            (308, &head, &head),
        ] {
            let hop = follow(asked, status, "/y").unwrap();
            assert_eq!((&hop.method, hop.url.as_str()), (next, "https://a.example/y"), "{status} {asked}");
            assert_eq!(hop.body.is_some(), asked == next, "{status} {asked}");
            assert_eq!(hop.headers.contains_key(CONTENT_TYPE), asked == next, "{status} {asked}");
            assert!(hop.headers.contains_key("x-canary") && hop.credential.is_some(), "{status} {asked}");
        }
    }

    #[test]
    fn another_origin_gets_nothing_but_the_question() {
        for location in
            ["https://b.example/", "//b.example/", "https://a.example:8443/", "https://a.example./"]
        {
            for status in [301, 302, 303, 307, 308] {
                let hop = follow(&Method::GET, status, location).unwrap();
                assert!(
                    hop.headers.is_empty() && hop.body.is_none() && hop.credential.is_none(),
                    "{location}"
                );
                // Coming back does not bring them back.
                let home =
                    hop.follow(StatusCode::FOUND, &HeaderValue::from_static("https://a.example/")).unwrap();
                assert!(home.headers.is_empty() && home.credential.is_none());
            }
            for status in [307, 308] {
                let told = follow(&Method::POST, status, location).unwrap_err();
                assert!(told.contains("redirect of a POST to another host"), "{told}");
            }
        }
    }

    #[test]
    fn what_is_less_safe_or_unreadable_is_not_followed() {
        for location in [
            "http://a.example/",
            "http://b.example/",
            "file:///etc/passwd",
            "gopher://x/",
            "https://[",
            "data:x",
        ] {
            assert!(follow(&Method::GET, 302, location).is_err(), "{location}");
        }
    }

    #[test]
    fn only_a_redirect_that_says_so_means_that_nothing_was_done() {
        assert!(follow(&Method::POST, 302, "/y").unwrap().acted);
        assert!(follow(&Method::POST, 303, "/y").unwrap().acted);
        assert!(!follow(&Method::POST, 307, "/y").unwrap().acted);
        assert!(!follow(&Method::GET, 302, "/y").unwrap().acted);
    }
}
