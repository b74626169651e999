//! The address of a database as people write it, with what it says about TLS.

use std::net::IpAddr;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// What is said about an address that cannot be read. Nothing of the address is repeated: it holds a password.
const UNREADABLE: &str = "the address cannot be read; use `postgres://user:password@host:5432/name`, with \
                          `?sslmode=verify-full` for TLS, and write special characters of the password as `%40` for `@`";
const CA_WITHOUT_TLS: &str = "`sslrootcert` needs `sslmode=verify-full` beside it";

/// Parameters of other clients that are not supported here, by name: what else stands behind a `?` may be a part of a
/// password.
const UNSUPPORTED: &[&str] = &[
    "client_encoding",
    "fallback_application_name",
    "gssencmode",
    "krbsrvname",
    "passfile",
    "require_auth",
    "requirepeer",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcompression",
    "sslcrl",
    "sslkey",
    "sslpassword",
];

/// Which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedRoots {
    System,
    /// A file with one or more certificates in PEM.
    File(PathBuf),
}

/// A database server as an address names it. Its configuration holds the password.
#[derive(Clone)]
pub struct PostgresAddress {
    pub config: Config,
    /// None where there is no TLS.
    pub tls: Option<TrustedRoots>,
}

impl PostgresAddress {
    /// Reads `postgres://user:password@host:5432/name?sslmode=verify-full&sslrootcert=/path/ca.pem`. TLS is either not
    /// there or checked in full: the server's certificate, and that it is for the name of the host.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut others) = (None, None, vec![]);
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(value),
                Some((name, _)) if UNSUPPORTED.contains(&name) => {
                    return Err(format!("the address has the parameter `{name}`, which is not supported"));
                }
                _ => others.push(parameter),
            }
        }
        let tls = match mode {
            None | Some("disable" | "allow" | "prefer") if roots.is_some() => {
                return Err(CA_WITHOUT_TLS.into());
            }
            // Without being asked for it TLS would not be checked, and so be worth nothing.
            None | Some("disable" | "allow" | "prefer") => None,
            Some("require" | "verify-full") => Some(parse_roots(roots)?),
            Some(_) => {
                return Err(
                    "`sslmode` must be `disable`, or `verify-full` for TLS, which is always checked in full \
                            (`require` means the same)"
                        .into(),
                );
            }
        };
        let rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        let mut config: Config = rest.parse().map_err(|_| UNREADABLE.to_owned())?;
        let is_strange = |host: &Host| matches!(host, Host::Tcp(name) if name.contains(['@', ':', ' ']) && name.parse::<IpAddr>().is_err());
        // A part of a password that was not written as it must be would be shown as the name of the host.
        if config.get_hosts().is_empty() || config.get_hosts().iter().any(is_strange) {
            return Err(UNREADABLE.into());
        }
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        Ok(Self { config, tls })
    }
}

fn parse_roots(value: Option<&str>) -> Result<TrustedRoots, String> {
    let Some(value) = value.filter(|value| !matches!(*value, "" | "system")) else {
        return Ok(TrustedRoots::System);
    };
    let bytes = decode_percent(value).ok_or("`sslrootcert` has a `%` that stands for nothing")?;
    let path = String::from_utf8(bytes).map_err(|_| "`sslrootcert` is not UTF-8")?;
    Ok(TrustedRoots::File(path.into()))
}

/// Text with `%2F` for `/`.
fn decode_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<PostgresAddress, String> {
        PostgresAddress::parse(url)
    }

    #[test]
    fn tls_is_off_or_checked_in_full() {
        let tls = |parameters: &str| parse(&format!("postgres://u@db.lan/n{parameters}")).unwrap().tls;
        for off in ["", "?sslmode=disable", "?sslmode=prefer", "?connect_timeout=3"] {
            assert_eq!(tls(off), None, "{off}");
        }
        for on in ["?sslmode=require", "?sslmode=verify-full", "?sslmode=verify-full&sslrootcert=system"] {
            assert_eq!(tls(on), Some(TrustedRoots::System), "{on}");
        }
        let file = tls("?sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=verify-full&application_name=x");
        assert_eq!(file, Some(TrustedRoots::File("/etc/my ca.pem".into())));
    }

    #[test]
    fn a_host_may_be_a_number_of_either_kind_or_a_folder() {
        for host in ["10.0.0.7", "[fd00::7]", "%2Frun%2Fpostgresql"] {
            assert!(parse(&format!("postgres://u@{host}:5433/n")).is_ok(), "{host}");
        }
    }

    #[test]
    fn an_address_that_asks_for_what_is_not_done_is_refused_with_the_reason() {
        let said = |parameters: &str| parse(&format!("postgres://u@db.lan/n?{parameters}")).err().unwrap();
        assert!(said("sslmode=verify-ca").contains("`verify-full`"));
        assert!(said("sslrootcert=/ca.pem").contains("needs `sslmode=verify-full`"));
        assert!(said("sslmode=verify-full&sslcert=/me.pem").contains("`sslcert`, which is not supported"));
        assert!(said("sslmode=verify-full&sslrootcert=%2").contains("`%`"));
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        for wrong in ["postgres://helve:hu@sh@db.lan/agents", "postgres://hush:x", "postgres://h:sh:x@y:z"] {
            let told = parse(wrong).err();
            assert!(
                told.as_ref().is_some_and(|told| !told.contains("sh@") && !told.contains("sh=")),
                "{wrong}: {told:?}"
            );
        }
    }

    #[test]
    fn a_password_may_have_what_begins_parameters_elsewhere() {
        let address = parse("postgres://helve:hu?sh=1@db.lan/agents").unwrap();
        assert_eq!(address.config.get_password(), Some(&b"hu?sh=1"[..]));
        assert_eq!(address.config.get_hosts(), [Host::Tcp("db.lan".into())]);
    }
}
