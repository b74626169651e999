//! Kinds of body, by what the server calls them.

use helve_egress::header::{CONTENT_TYPE, HeaderMap};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Json,
    /// A JSON value on each line.
    Lines,
    /// Server-sent events.
    Events,
    Html,
    Text,
    File,
    /// The server does not say.
    Unknown,
}

impl ContentKind {
    /// The kind, and the media type as the server names it.
    pub(crate) fn from_headers(headers: &HeaderMap) -> (Self, String) {
        let written = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = written.split(';').next().unwrap_or_default();
        let media_type: String = media_type.trim().to_ascii_lowercase().chars().take(100).collect();
        let kind = match media_type.as_str() {
            "" => Self::Unknown,
            "application/json" | "text/json" | "application/problem+json" => Self::Json,
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines"
            | "application/jsonlines"
            | "application/stream+json" => Self::Lines,
            "text/event-stream" => Self::Events,
            "text/html" | "application/xhtml+xml" => Self::Html,
            other if other.ends_with("+json") => Self::Json,
            other if is_text(other) => Self::Text,
            _ => Self::File,
        };
        let media_type = if media_type.is_empty() { "application/octet-stream".into() } else { media_type };
        (kind, media_type)
    }

    /// Whether it can be read as text, piece by piece.
    pub(crate) fn is_text(&self) -> bool {
        !matches!(self, Self::File)
    }

    /// Whether a streamable tool shows it piece by piece. A transform needs pieces that are whole values.
    pub(crate) fn comes_in_pieces(&self, transformed: bool) -> bool {
        match self {
            Self::Events | Self::Lines => true,
            Self::Text | Self::Unknown => !transformed,
            Self::Json | Self::Html | Self::File => false,
        }
    }
}

fn is_text(media_type: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "application/xml",
        "application/javascript",
        "application/ecmascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/csv",
        "application/graphql",
        "application/x-www-form-urlencoded",
    ];
    media_type.starts_with("text/")
        || OTHERS.contains(&media_type)
        || (media_type.ends_with("+xml") && !media_type.starts_with("image/"))
        || media_type.ends_with("+yaml")
}
