//! The tables of places that must not be reached, and the names that lead to them.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use helve_egress::{Egress, EgressError, EgressSettings, LookUpName, Method, NameFuture, Outgoing, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Taken exactly as they stand, blanks at their ends included.
pub(crate) fn refused() -> Vec<&'static str> {
    let lines = include_str!("../vectors/refused.txt").split('\n');
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

pub(crate) fn names() -> Vec<(&'static str, Vec<IpAddr>)> {
    let lines = include_str!("../vectors/names.txt").lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &'static str| {
        let mut words = line.split(' ');
        (words.next().unwrap(), words.map(|ip| ip.parse().unwrap()).collect())
    };
    lines.map(parse).collect()
}

/// A name server that knows the table, and says that every other name is a public place.
pub(crate) fn look_up() -> LookUpName {
    Arc::new(|name: String| -> NameFuture {
        let known = names().into_iter().find(|(known, _)| *known == name);
        let found = known.map_or(vec![PUBLIC.parse().unwrap()], |(_, addresses)| addresses);
        Box::pin(async move { Ok(found) })
    })
}

pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Plain HTTP for everybody, and nothing allowed.
pub(crate) fn guarded(look_up: LookUpName) -> Egress {
    _ = rustls::crypto::ring::default_provider().install_default();
    Egress::with_resolver(EgressSettings { http: true, ..EgressSettings::default() }, look_up).unwrap()
}

/// What became of an address that somebody typed.
pub(crate) async fn attempt(egress: &Egress, text: &str) -> Result<(), EgressError> {
    let url = Url::parse(text).map_err(|error| EgressError::Refused(error.to_string()))?;
    egress.send(Outgoing::new(Method::GET, url)).await.map(drop)
}

#[tokio::test]
async fn every_address_of_the_table_is_refused_before_anything_is_sent() {
    let egress = guarded(Arc::new(|name| panic!("`{name}` was looked up")));
    let (all, mut read) = (refused(), 0);
    for text in &all {
        let told = attempt(&egress, text).await;
        assert!(matches!(told, Err(EgressError::Refused(_))), "{text}: {told:?}");
        // The same is said when a tool is defined.
        if let Ok(url) = Url::parse(text) {
            assert!(egress.check(&url).is_err(), "{text}");
            read += 1;
        }
    }
    assert!(all.len() >= 500 && read >= 400, "{} vectors, {read} of them URLs", all.len());
}

/// On every address that this machine has somebody listens, at the port that all addresses of the tables are given.
#[tokio::test]
async fn nobody_on_this_machine_is_connected_to() {
    let listener = match TcpListener::bind("[::]:0").await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind("0.0.0.0:0").await.unwrap(),
    };
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            _ = stream.read(&mut [0; 4_096]).await;
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        }
    });
    let egress = guarded(look_up());
    let named = names().into_iter().map(|(name, _)| format!("http://{name}/"));
    let mut tried = 0;
    for text in refused().into_iter().map(str::to_owned).chain(named) {
        let Ok(mut url) = Url::parse(&text) else { continue };
        // Where a port is given, it may be all that speaks against it.
        if url.port().is_some() || url.set_port(Some(port)).is_err() {
            continue;
        }
        let told = egress.send(Outgoing::new(Method::GET, url.clone())).await.map(drop);
        assert!(matches!(told, Err(EgressError::Refused(_))), "{url}: {told:?}");
        tried += 1;
    }
    assert!(tried >= 300, "{tried}");
    // Connections are taken in the order they come: whoever came before this one has been counted with it.
    let settings = EgressSettings { allow: vec![format!("127.0.0.1:{port}")], ..EgressSettings::default() };
    let allowed = Egress::with_resolver(settings, look_up()).unwrap();
    attempt(&allowed, &format!("http://127.0.0.1:{port}/")).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn every_name_of_the_table_is_refused_without_saying_where_it_leads() {
    let egress = guarded(look_up());
    for (name, addresses) in names() {
        for url in [format!("http://{name}/"), format!("https://{name}:8443/")] {
            // Nothing is known against it until it is looked up.
            assert_eq!(egress.check(&Url::parse(&url).unwrap()), Ok(()), "{url}");
            let Err(EgressError::Refused(told)) = attempt(&egress, &url).await else { panic!("{url}") };
            assert!(told.contains("is not on the public internet"), "{told}");
            let said = told.replace(name, "");
            assert!(!addresses.iter().any(|ip| said.contains(&ip.to_string())), "{told}");
        }
    }
}
