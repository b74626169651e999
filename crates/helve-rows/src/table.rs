//! The rows of one kind, read from the store and written to it.

use std::marker::PhantomData;
use std::sync::Arc;

use helve_store::{AuditEntry, OfferUse, RowChange, RowGrant, RowOffer, RowRecord, Rows, StoreError};

use crate::{DefinitionGrant, DefinitionKind, DefinitionOffer, DefinitionRow};

/// What is written together with a row's next version.
#[derive(Debug, Clone)]
pub struct SaveOptions<K: DefinitionKind> {
    pub offer: OfferUse,
    pub grants: Vec<(DefinitionGrant<K>, AuditEntry)>,
}

impl<K: DefinitionKind> Default for SaveOptions<K> {
    fn default() -> Self {
        Self { offer: OfferUse::Untouched, grants: vec![] }
    }
}

/// All rows of a kind.
pub struct RowTable<K> {
    store: Arc<dyn Rows>,
    kind: PhantomData<K>,
}

impl<K: DefinitionKind> RowTable<K> {
    pub fn new(store: Arc<dyn Rows>) -> Self {
        Self { store, kind: PhantomData }
    }

    /// All rows as they are now, by their names.
    pub async fn list(&self) -> Result<Vec<DefinitionRow<K>>, StoreError> {
        self.store.rows(K::KIND).await?.into_iter().map(decode_row).collect()
    }

    pub async fn get(&self, name: &str) -> Result<DefinitionRow<K>, StoreError> {
        decode_row(self.store.row(K::KIND, name.into()).await?)
    }

    /// Everything that rows of this name ever were, oldest first.
    pub async fn versions(&self, name: &str) -> Result<Vec<DefinitionRow<K>>, StoreError> {
        self.store.row_versions(K::KIND, name.into()).await?.into_iter().map(decode_row).collect()
    }

    /// Saves a row in place of its version `expected`, which is 0 for a new one, and returns it with its number.
    pub async fn save(
        &self,
        row: DefinitionRow<K>,
        expected: u32,
        audit: AuditEntry,
        options: SaveOptions<K>,
    ) -> Result<DefinitionRow<K>, StoreError> {
        let grants = options.grants.iter().map(|(grant, line)| Ok((encode_grant(grant)?, line.clone())));
        let change = RowChange {
            row: encode_row(&row)?,
            expected,
            offer: options.offer,
            grants: grants.collect::<Result<_, StoreError>>()?,
            audit,
        };
        decode_row(self.store.save_row(change).await?)
    }

    /// Saves rows in place of their versions: all of them, or none if one is not at its version.
    pub async fn save_all(
        &self,
        rows: Vec<(DefinitionRow<K>, u32, AuditEntry)>,
    ) -> Result<Vec<DefinitionRow<K>>, StoreError> {
        let change = |(row, expected, audit): (DefinitionRow<K>, u32, AuditEntry)| {
            Ok(RowChange {
                row: encode_row(&row)?,
                expected,
                offer: OfferUse::Untouched,
                grants: vec![],
                audit,
            })
        };
        let changes = rows.into_iter().map(change).collect::<Result<_, StoreError>>()?;
        self.store.save_rows(changes).await?.into_iter().map(decode_row).collect()
    }

    /// Deletes a row, if it is at the version `expected` or none is given. Its versions stay.
    pub async fn delete(
        &self,
        name: &str,
        expected: Option<u32>,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.store.delete_row(K::KIND, name.into(), expected, audit).await
    }

    /// What rows from outside have become, by their names.
    pub async fn offers(&self) -> Result<Vec<DefinitionOffer<K>>, StoreError> {
        self.store.offers(K::KIND).await?.into_iter().map(decode_offer).collect()
    }

    pub async fn save_offer(&self, offer: &DefinitionOffer<K>, audit: AuditEntry) -> Result<(), StoreError> {
        let stored = RowOffer {
            kind: K::KIND,
            name: offer.name().to_owned(),
            origin: offer.origin.clone(),
            body: K::encode(&offer.definition)?,
            over: offer.over.clone(),
            at: offer.at,
        };
        self.store.save_offer(stored, audit).await
    }

    pub async fn delete_offer(&self, name: &str, audit: AuditEntry) -> Result<(), StoreError> {
        self.store.delete_offer(K::KIND, name.into(), audit).await
    }

    /// What the operator lets single rows have, by their names.
    pub async fn grants(&self) -> Result<Vec<DefinitionGrant<K>>, StoreError> {
        self.store.grants(K::KIND).await?.into_iter().map(decode_grant).collect()
    }

    pub async fn save_grant(&self, grant: &DefinitionGrant<K>, audit: AuditEntry) -> Result<(), StoreError> {
        self.store.save_grant(encode_grant(grant)?, audit).await
    }

    pub async fn delete_grant(
        &self,
        name: &str,
        grant: &K::Grant,
        audit: AuditEntry,
    ) -> Result<(), StoreError> {
        self.store.delete_grant(K::KIND, name.into(), grant_json::<K>(grant)?, audit).await
    }

    /// Switches something of this kind that is no row on or off.
    pub async fn save_switch(&self, name: &str, enabled: bool, audit: AuditEntry) -> Result<(), StoreError> {
        self.store.save_switch(K::KIND, name.into(), enabled, audit).await
    }

    /// What is no row and was switched, by its name.
    pub async fn switches(&self) -> Result<Vec<(String, bool)>, StoreError> {
        self.store.switches(K::KIND).await
    }

    /// Grows with every change, whoever makes it.
    pub async fn changes(&self) -> Result<u64, StoreError> {
        self.store.row_changes(K::KIND).await
    }
}

fn encode_row<K: DefinitionKind>(row: &DefinitionRow<K>) -> Result<RowRecord, StoreError> {
    Ok(RowRecord {
        kind: K::KIND,
        name: row.name().to_owned(),
        id: row.id,
        version: row.version,
        hash: row.hash.clone(),
        enabled: K::is_enabled(&row.definition),
        body: K::encode(&row.definition)?,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

fn decode_row<K: DefinitionKind>(record: RowRecord) -> Result<DefinitionRow<K>, StoreError> {
    Ok(DefinitionRow {
        id: record.id,
        definition: decode_body::<K>(&record.name, &record.body, record.enabled)?,
        version: record.version,
        hash: record.hash,
        created_at: record.created_at,
        updated_at: record.updated_at,
    })
}

/// Whether an offered definition is on is decided by the row that it is offered for.
fn decode_offer<K: DefinitionKind>(offer: RowOffer) -> Result<DefinitionOffer<K>, StoreError> {
    Ok(DefinitionOffer {
        definition: decode_body::<K>(&offer.name, &offer.body, true)?,
        origin: offer.origin,
        over: offer.over,
        at: offer.at,
    })
}

fn decode_body<K: DefinitionKind>(
    name: &str,
    json: &str,
    enabled: bool,
) -> Result<K::Definition, StoreError> {
    let mut definition = K::decode(json).map_err(|error| unreadable(name, &error))?;
    K::set_enabled(&mut definition, enabled);
    Ok(definition)
}

fn encode_grant<K: DefinitionKind>(grant: &DefinitionGrant<K>) -> Result<RowGrant, StoreError> {
    Ok(RowGrant {
        kind: K::KIND,
        name: grant.name.clone(),
        grant: grant_json::<K>(&grant.grant)?,
        by: grant.by.clone(),
        at: grant.at,
    })
}

fn decode_grant<K: DefinitionKind>(grant: RowGrant) -> Result<DefinitionGrant<K>, StoreError> {
    let read = serde_json::from_str(&grant.grant);
    let read = read.map_err(|error| unreadable(&grant.name, &StoreError::Unavailable(error.to_string())))?;
    Ok(DefinitionGrant { name: grant.name, grant: read, by: grant.by, at: grant.at })
}

fn grant_json<K: DefinitionKind>(grant: &K::Grant) -> Result<String, StoreError> {
    serde_json::to_string(grant).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn unreadable(name: &str, error: &StoreError) -> StoreError {
    StoreError::Unavailable(format!("what is stored as `{name}` cannot be read: {error}"))
}
