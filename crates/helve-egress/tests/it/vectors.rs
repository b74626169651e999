//! The tables of places that must not be reached, and the names that lead to them.

use std::net::IpAddr;
use std::sync::Arc;

use helve_egress::{Egress, EgressError, EgressSettings, LookUp, LookingUp, Method, Outgoing, Url};

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
pub(crate) fn look_up() -> LookUp {
    Arc::new(|name: String| -> LookingUp {
        let known = names().into_iter().find(|(known, _)| *known == name);
        let found = known.map_or(vec![PUBLIC.parse().unwrap()], |(_, addresses)| addresses);
        Box::pin(async move { Ok(found) })
    })
}

pub(crate) const PUBLIC: &str = "93.184.216.34";

/// Plain HTTP for everybody, and nothing allowed.
pub(crate) fn guarded(look_up: LookUp) -> Egress {
    _ = rustls::crypto::ring::default_provider().install_default();
    Egress::with_names(EgressSettings { http: true, ..EgressSettings::default() }, look_up).unwrap()
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
