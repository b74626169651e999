//! Which model servers are on this machine or in its network: to ask them costs nothing.

use std::net::IpAddr;

use helve_model_http::HttpModel;

/// Whether asking the model is free: its server is on this machine or in a private network.
pub(crate) fn is_nearby(model: &HttpModel) -> bool {
    nearby_address(model.url()).is_some()
}

/// `host:port` of a server that is on this machine or in a private network.
pub(crate) fn nearby_address(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // A name and a password may stand before the host.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, port),
        _ => (authority, if scheme == "https" { "443" } else { "80" }),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let near = match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local(),
        Err(_) => bare == "localhost",
    };
    near.then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_nearby_are_looked_at() {
        let cases = [
            ("http://127.0.0.1:11434/api/chat", Some("127.0.0.1:11434")),
            ("http://localhost:8000/v1", Some("localhost:8000")),
            ("http://[::1]:8000/v1", Some("[::1]:8000")),
            ("http://192.168.1.5/v1", Some("192.168.1.5:80")),
            ("http://me:secret@192.168.1.5:8000/v1", Some("192.168.1.5:8000")),
            ("http://me@localhost/v1", Some("localhost:80")),
            ("http://localhost:80@example.com/v1", None),
            ("https://api.openai.com/v1", None),
            ("http://8.8.8.8/v1", None),
        ];
        for (url, expected) in cases {
            assert_eq!(nearby_address(url).as_deref(), expected, "{url}");
        }
    }
}
