//! Where an operation is: the server that it, its path or the document names, or the one that the operator chose.

use helve_egress::Url;
use serde_json::Value;

use super::read::Document;
use super::words;

/// The beginning of an address: scheme, host and the path that all operations have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerChoice {
    /// Without a slash at the end.
    pub(super) base: String,
    /// As an operator names a host: with a port only where it is not the scheme's own.
    pub(super) host: String,
    /// What was filled in for the document's variables.
    pub(super) defaults: Vec<String>,
}

impl ServerChoice {
    /// One that the operator gives.
    pub(super) fn from_operator(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| {
            format!(
                "`{}` is no address: {error}; give one like https://api.example.com/v1",
                words::clean_line(text, 200)
            )
        })?;
        Self::from_url(&url)
    }

    fn from_url(url: &Url) -> Result<Self, String> {
        let shown = words::clean_line(url.as_str(), 200);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the server `{shown}` is neither http nor https"));
        }
        let Some(host) = url.host_str().filter(|_| url.username().is_empty() && url.password().is_none())
        else {
            return Err(format!("the server `{shown}` has no host, or a password in it"));
        };
        let host = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
        let path = url.path().trim_end_matches('/');
        if path.contains(['{', '}']) || url.query().is_some() {
            return Err(format!("the server `{shown}` has more than a host and a path"));
        }
        Ok(Self { base: format!("{}://{host}{path}", url.scheme()), host, defaults: vec![] })
    }
}

/// The first server that can be reached by what is known, from the nearest list.
pub(super) fn find_server(
    document: &Document,
    item: &Value,
    operation: &Value,
) -> Result<ServerChoice, String> {
    let lists = [operation, item, &document.root];
    let mut lists = lists.iter().filter_map(|holder| holder.get("servers")?.as_array());
    let Some(servers) = lists.find(|servers| !servers.is_empty()) else {
        // The specification's default: the root of wherever the document came from.
        let from = document.from.as_ref().ok_or(
            "the document names no server; say where its operations are: a server like https://api.example.com/v1",
        )?;
        return from
            .join("/")
            .map_err(|error| error.to_string())
            .and_then(|url| ServerChoice::from_url(&url));
    };
    let mut problem = String::new();
    for server in servers.iter().take(20) {
        match read(server, document.from.as_ref()) {
            Ok(server) => return Ok(server),
            Err(first) if problem.is_empty() => problem = first,
            Err(_) => {}
        }
    }
    Err(problem)
}

fn read(server: &Value, from: Option<&Url>) -> Result<ServerChoice, String> {
    let template = server.get("url").and_then(Value::as_str).unwrap_or("/");
    let mut text = words::clean_line(template, 500);
    let mut defaults = vec![];
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten().take(20)
    {
        let mark = format!("{{{name}}}");
        let default = match variable.get("default") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => continue,
        };
        if text.contains(&mark) && default.len() <= 200 {
            text = text.replace(&mark, &default);
            defaults.push(format!("{name} = {}", words::clean_line(&default, 80)));
        }
    }
    let shown = words::clean_line(template, 200);
    if text.len() > 2000 || text.contains(['{', '}']) {
        return Err(format!("the server `{shown}` has variables without a default; say which server it is"));
    }
    let url = match (Url::parse(&text), from) {
        (Ok(url), _) => url,
        (Err(_), Some(from)) => from.join(&text).map_err(|error| format!("the server `{shown}`: {error}"))?,
        (Err(_), None) => {
            return Err(format!(
                "the server `{shown}` is relative to where the document was served; say which server it is"
            ));
        }
    };
    Ok(ServerChoice { defaults, ..ServerChoice::from_url(&url)? })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(root: Value, from: Option<&str>) -> Result<String, String> {
        let from = from.map(|text| Url::parse(text).unwrap());
        let mut root = root;
        root["openapi"] = "3.0.0".into();
        let document = Document::from_value(root, from).unwrap();
        find_server(&document, &json!({}), &json!({})).map(|server| server.base)
    }

    #[test]
    fn servers_are_absolute_at_last() {
        let from = Some("https://docs.example.com/v3/openapi.json");
        for (servers, from, expected) in [
            (json!([{"url": "https://a.example.com/v1/"}]), None, "https://a.example.com/v1"),
            (json!([{"url": "/api/v3"}]), from, "https://docs.example.com/api/v3"),
            (json!([{"url": "api"}]), from, "https://docs.example.com/v3/api"),
            (json!([]), from, "https://docs.example.com"),
            (json!([{"url": "/x"}, {"url": "http://b.example.com:8080"}]), None, "http://b.example.com:8080"),
            (
                json!([{"url": "https://{region}.example.com:{port}/", "variables": {"region": {"default": "eu"}, "port": {"default": 443}}}]),
                None,
                "https://eu.example.com",
            ),
        ] {
            assert_eq!(found(json!({"servers": servers}), from).unwrap(), expected);
        }
    }

    #[test]
    fn a_server_that_is_none_is_told_about() {
        for (servers, part) in [
            (json!([]), "names no server"),
            (json!([{"url": "/v1"}]), "relative"),
            (json!([{"url": "https://{tenant}.example.com"}]), "variables without a default"),
            (json!([{"url": "ftp://example.com"}]), "neither http nor https"),
            (json!([{"url": "https://me:pass@example.com"}]), "password"),
            (json!([{"url": "https://example.com/?key=1"}]), "more than a host"),
        ] {
            let error = found(json!({"servers": servers}), None).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_nearest_list_counts() {
        let root = json!({"openapi": "3.1.0", "servers": [{"url": "https://root.example.com"}]});
        let document = Document::from_value(root, None).unwrap();
        let own = json!({"servers": [{"url": "https://own.example.com"}]});
        assert_eq!(find_server(&document, &json!({}), &own).unwrap().host, "own.example.com");
        assert_eq!(find_server(&document, &own, &json!({"servers": []})).unwrap().host, "own.example.com");
    }
}
