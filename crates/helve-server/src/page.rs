//! The page: files inside the binary, with headers that let it do only what it needs.

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::problem::Problem;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// What the page may load and talk to: itself.
const PAGE_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; frame-src 'self'; object-src 'none'; frame-ancestors 'none'; \
    base-uri 'none'; form-action 'self'";

/// Where code of a model's runs when a person lets it: an origin of its own, without a network.
const SANDBOX: &str = "sandbox.html";
const SANDBOX_POLICY: &str = "sandbox allow-scripts; default-src 'none'; \
    script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; connect-src 'none'; frame-ancestors 'self'";

/// Answers whatever no other route does.
pub(crate) async fn page(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("api/") || path.starts_with("v1/") {
        return Problem::new(
            StatusCode::NOT_FOUND,
            "no_such_route",
            "there is nothing at this address; see /openapi.json",
        )
        .into_response();
    }
    if let Some(file) = Files::get(path).filter(|_| path != "index.html") {
        return serve(path, &file, &headers);
    }
    // Addresses of conversations are known to the page, not to us.
    if path.contains('.') {
        return Problem::not_found("file").into_response();
    }
    match Files::get("index.html") {
        Some(index) => serve("index.html", &index, &headers),
        None => (
            StatusCode::NOT_FOUND,
            "The page is not in this binary. Build it with `make run`, or use the API: /openapi.json\n",
        )
            .into_response(),
    }
}

fn serve(path: &str, file: &EmbeddedFile, asked: &HeaderMap) -> Response {
    let hash = file.metadata.sha256_hash();
    let tag: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let same = asked.get(header::IF_NONE_MATCH).is_some_and(|held| held.as_bytes() == tag.as_bytes());
    let mut response = if same {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        file.data.clone().into_owned().into_response()
    };
    // Files under assets/ have a hash in their name: they never change.
    let keep = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let policy = if path == SANDBOX { SANDBOX_POLICY } else { PAGE_POLICY };
    let kind = file.metadata.mimetype().to_owned();
    let kind = if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind.as_str()),
        (header::ETAG, &tag),
        (header::CACHE_CONTROL, keep),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response
}
