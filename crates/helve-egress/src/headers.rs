//! Headers that are not a tool's to set.

/// Why a tool must not set a header of this name; nothing if it may. Asked when a tool is defined and when it is sent.
pub fn why_header_is_refused(name: &str) -> Option<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    match name.as_str() {
        "" => Some("a header has a name"),
        "host" => Some("it follows from the address"),
        "content-length" | "transfer-encoding" | "trailer" | "expect" => Some("it follows from the body"),
        "connection" | "keep-alive" | "upgrade" | "te" | "http2-settings" => {
            Some("it is about the connection")
        }
        // Answers are read as they come; a compressed one could not be.
        "accept-encoding" => Some("answers are not decompressed"),
        "referer" => Some("no server learns where a call comes from"),
        // A cookie is a credential: it has to go by `[secrets]`, which knows who may have it.
        "cookie" => Some("it is a credential; use the tool's auth with a secret of `[secrets]`"),
        name if name.starts_with("proxy-") => Some("it is for the proxy"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_frames_a_request_or_says_who_asks_is_not_a_tools_to_set() {
        for name in [
            "Host",
            "HOST",
            "content-length",
            "Transfer-Encoding",
            "Connection",
            "Keep-Alive",
            "Upgrade",
            "Proxy-Authorization",
            "proxy-connection",
            "TE",
            "Trailer",
            "Expect",
            "Accept-Encoding",
            "Cookie",
            "Referer",
            " host ",
            "",
        ] {
            assert!(why_header_is_refused(name).is_some(), "{name}");
        }
        for name in ["Accept", "Content-Type", "X-Api-Key", "Authorization", "User-Agent", "If-None-Match"] {
            assert!(why_header_is_refused(name).is_none(), "{name}");
        }
    }
}
