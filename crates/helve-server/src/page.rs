//! The page: files inside the binary, with headers that let it do only what it needs.

use std::borrow::Cow;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use helve_types::hex;
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::problem::Problem;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// What the page may load and talk to: itself. Pictures that it has read itself have `blob:` addresses. No text becomes
/// HTML or a script, in the page's own code or in a library's: there is no Trusted Types policy that could make one.
const PAGE_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'; object-src 'none'; frame-ancestors 'none'; \
    base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Where code of a model's runs when a person lets it: an origin of its own, without a network.
const SANDBOX: &str = "sandbox.html";
const SANDBOX_POLICY: &str = "sandbox allow-scripts; default-src 'none'; \
    script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; connect-src 'none'; frame-ancestors 'self'";

/// Answers whatever no other route does: with the page at its own addresses, and otherwise with a no.
pub(crate) async fn serve_page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix('/').unwrap_or_default();
    let name = if is_address_of_page(path) { "index.html" } else { path };
    let file = Files::get(name).filter(|_| path != "index.html" && !is_precompressed(path));
    if file.is_none() && name == path {
        let detail = "there is nothing at this address; see /openapi.json";
        return Problem::new(StatusCode::NOT_FOUND, "no_such_route", detail).into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        let allow = HeaderValue::from_static("GET,HEAD");
        return wrong_method_problem().await.with_header(header::ALLOW, allow).into_response();
    }
    match file {
        Some(file) => file_response(name, file, &headers),
        None => (
            StatusCode::NOT_FOUND,
            "The page is not in this binary. Build it with `make run`, or use the API: /openapi.json\n",
        )
            .into_response(),
    }
}

/// What the address bar can say; `web/src/lib/paths.ts` reads it.
fn is_address_of_page(path: &str) -> bool {
    let conversation = path.strip_prefix("c/").map(|id| id.strip_suffix('/').unwrap_or(id));
    path.is_empty() || conversation.is_some_and(|id| !id.is_empty() && !id.contains('/'))
}

/// The route exists, but not for this method; which ones it has is in `Allow`.
pub(crate) async fn wrong_method_problem() -> Problem {
    let detail = "this address does not take that method; `Allow` says which ones it takes";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", detail)
}

/// What the page's build has compressed lies beside its file, under these names and with these endings; best first.
const PACKINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// Whether it is a file in another form, which has no address of its own.
fn is_precompressed(path: &str) -> bool {
    PACKINGS.iter().any(|(_, ending)| path.ends_with(ending))
}

/// Whether the client takes an encoding, in the terms of `Accept-Encoding`. An encoding with a weight of zero is refused.
fn accepts_encoding(asked: &HeaderMap, encoding: &str) -> bool {
    let values = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut offers = values.flat_map(|value| value.split(','));
    offers.any(|offer| {
        let mut parts = offer.split(';').map(str::trim);
        let is_meant = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let is_refused =
            parts.filter_map(|part| part.strip_prefix("q=")).any(|weight| weight.parse() == Ok(0.0));
        is_meant && !is_refused
    })
}

/// The file in the smallest form that the client takes, and what that form is called.
fn compressed_file(
    path: &str,
    file: EmbeddedFile,
    asked: &HeaderMap,
) -> (EmbeddedFile, Option<&'static str>) {
    for (encoding, ending) in PACKINGS {
        if accepts_encoding(asked, encoding)
            && let Some(packed) = Files::get(&format!("{path}{ending}"))
        {
            return (packed, Some(encoding));
        }
    }
    (file, None)
}

/// Without a copy where the bytes are in the binary.
fn to_bytes(bytes: Cow<'static, [u8]>) -> Bytes {
    match bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    }
}

fn file_response(path: &str, file: EmbeddedFile, asked: &HeaderMap) -> Response {
    let kind = file.metadata.mimetype().to_owned();
    let (file, encoding) = compressed_file(path, file, asked);
    let hash = file.metadata.sha256_hash();
    let tag = format!("\"{}\"", hex(&hash[..12]));
    let same = asked.get(header::IF_NONE_MATCH).is_some_and(|held| held.as_bytes() == tag.as_bytes());
    let mut response =
        if same { StatusCode::NOT_MODIFIED.into_response() } else { to_bytes(file.data).into_response() };
    let kind = if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind };
    let headers = response.headers_mut();
    for (name, value) in [(header::CONTENT_TYPE, kind.as_str()), (header::ETAG, &tag)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    for (name, value) in cache_headers(path) {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What is said of a file of the page besides what it is.
fn cache_headers(path: &str) -> [(HeaderName, &'static str); 7] {
    // Files under assets/ have a hash in their name: they never change.
    let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let policy = if path == SANDBOX { SANDBOX_POLICY } else { PAGE_POLICY };
    [
        (header::CACHE_CONTROL, keep),
        (header::VARY, "accept-encoding"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directive(path: &str, name: &str) -> Option<&'static str> {
        let policy =
            cache_headers(path).into_iter().find(|(known, _)| *known == header::CONTENT_SECURITY_POLICY)?.1;
        policy.split("; ").find_map(|directive| directive.strip_prefix(name)).map(str::trim)
    }

    #[test]
    fn the_page_runs_and_draws_only_what_is_in_its_own_files() {
        for path in ["index.html", "assets/index-1.js", "theme.js", "icon.svg"] {
            assert_eq!(directive(path, "script-src"), Some("'self'"), "{path}");
            assert_eq!(directive(path, "style-src"), Some("'self'"), "{path}");
            assert_eq!(directive(path, "require-trusted-types-for"), Some("'script'"), "{path}");
            assert_eq!(directive(path, "trusted-types"), Some("'none'"), "{path}");
        }
        assert!(!PAGE_POLICY.contains("unsafe"));
    }

    #[test]
    fn a_form_is_sent_only_to_whoever_takes_it() {
        let asked = |offer: &'static str| {
            HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(offer))])
        };
        for offer in ["gzip, deflate, br, zstd", "BR;q=0.5", "identity, br ; q=1"] {
            assert!(accepts_encoding(&asked(offer), "br"), "{offer}");
        }
        for offer in ["", "gzip", "br;q=0", "br; q=0.000", "brotli", "*"] {
            assert!(!accepts_encoding(&asked(offer), "br"), "{offer}");
        }
        assert!(!accepts_encoding(&HeaderMap::new(), "gzip"));
        assert!(
            is_precompressed("assets/index-1.js.br")
                && is_precompressed("x.gz")
                && !is_precompressed("assets/index-1.js")
        );
    }

    #[test]
    fn only_the_sandbox_evaluates_code_and_it_has_no_network() {
        assert_eq!(directive(SANDBOX, "sandbox"), Some("allow-scripts"));
        assert_eq!(directive(SANDBOX, "default-src"), Some("'none'"));
        assert_eq!(directive(SANDBOX, "connect-src"), Some("'none'"));
    }
}
