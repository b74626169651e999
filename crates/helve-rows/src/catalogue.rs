//! The rows of one kind with what was built of them.
//!
//! A change is checked, built, saved and registered, in this order: nothing is registered that is not saved, and
//! nothing is saved that cannot be built. Rows that another process has saved are found by `refresh`; one that can no
//! longer be built is held with its problem and stops nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use helve_store::{AuditEntry, OfferUse, Rows, StoreError};
use helve_types::World;
use tokio::sync::{Mutex, MutexGuard};

use crate::error::save_error;
use crate::grants::HeldGrants;
use crate::offers::HeldOffers;
use crate::pinned::HeldVersions;
use crate::{
    DefinitionError, DefinitionGrant, DefinitionKind, DefinitionRow, GrantSet, Registrar, RowError, RowTable,
    SaveOptions,
};

/// A row and what was built of it, or why nothing could be.
pub struct HeldRow<K: DefinitionKind> {
    pub row: Arc<DefinitionRow<K>>,
    pub built: Result<Arc<K::Built>, DefinitionError>,
}

impl<K: DefinitionKind> Clone for HeldRow<K> {
    fn clone(&self) -> Self {
        Self { row: self.row.clone(), built: self.built.clone() }
    }
}

/// All rows of a kind.
pub struct RowCatalogue<K: DefinitionKind> {
    pub(crate) table: RowTable<K>,
    pub(crate) world: World,
    pub(crate) offers: RwLock<HeldOffers<K>>,
    pub(crate) pinned: HeldVersions<K::Built>,
    rows: RwLock<BTreeMap<String, HeldRow<K>>>,
    grants: HeldGrants<K>,
    /// Held during a change, so that there is one at a time; the count of changes that the rows were read at.
    change_count: Mutex<Option<u64>>,
}

/// As long as it is held, no other task of this process changes rows of this kind.
pub struct ChangeLock<'a>(MutexGuard<'a, Option<u64>>);

impl<K: DefinitionKind> RowCatalogue<K> {
    pub fn new(store: Arc<dyn Rows>, world: World) -> Self {
        Self {
            table: RowTable::new(store),
            world,
            offers: RwLock::default(),
            pinned: HeldVersions::default(),
            rows: RwLock::default(),
            grants: HeldGrants::default(),
            change_count: Mutex::new(None),
        }
    }

    /// The rows as the store has them.
    pub fn table(&self) -> &RowTable<K> {
        &self.table
    }

    /// Waits until no other change is made.
    pub async fn lock(&self) -> ChangeLock<'_> {
        ChangeLock(self.change_count.lock().await)
    }

    /// Reads the rows again if any was changed since they were last read. Returns whether one was.
    pub async fn refresh(&self, registrar: &impl Registrar<K>) -> Result<bool, StoreError> {
        let mut lock = self.lock().await;
        let count = self.table.changes().await?;
        if *lock.0 == Some(count) {
            return Ok(false);
        }
        let (rows, switches) = (self.table.list().await?, self.table.switches().await?);
        // The offers first: a row in quarantine is registered as such.
        self.replace_offers(registrar, self.table.offers().await?);
        self.replace_grants(registrar, self.table.grants().await?, None);
        // One by one, so that other work has its turn in between.
        for row in rows.iter().filter(|row| self.built(row.name(), &row.hash).is_none()) {
            registrar.prepare(&row.definition).await;
        }
        self.replace_rows(registrar, rows);
        registrar.apply_switches(&switches);
        *lock.0 = Some(count);
        Ok(true)
    }

    /// Makes a new row. Where only the operator's consent is missing to what it needs, `is_granted` gives it.
    pub async fn create<R: Registrar<K>>(
        &self,
        registrar: &R,
        definition: K::Definition,
        is_granted: bool,
        by: &str,
    ) -> Result<HeldRow<K>, R::Error> {
        registrar.prepare(&definition).await;
        let _lock = self.lock().await;
        let name = K::name(&definition).to_owned();
        registrar.check_new(&definition)?;
        let (built, grant) =
            self.build_granted(registrar, &definition, is_granted).map_err(RowError::from)?;
        let row = DefinitionRow::new(self.world.row_id(), definition, self.world.now());
        let line = self.audit_line("created", &format!("{name} {}", row.hash), by);
        let saved = self.save_and_hold(registrar, row, 0, line, built, grant, by).await;
        Ok(saved.map_err(|error| match error {
            RowError::Changed(_) => RowError::Exists(name),
            other => other,
        })?)
    }

    /// Changes a row, if it is at the version `expected` or none is given. `change` turns its definition into the next
    /// one. Runs that use the row go on with what they were started with.
    pub async fn update<R: Registrar<K>>(
        &self,
        registrar: &R,
        name: &str,
        expected: Option<u32>,
        is_granted: bool,
        by: &str,
        change: impl FnOnce(&K::Definition) -> Result<K::Definition, R::Error> + Send,
    ) -> Result<HeldRow<K>, R::Error> {
        let _lock = self.lock().await;
        let row = self.current(name, expected).await?;
        let definition = change(&row.definition)?;
        if definition == row.definition {
            return Ok(self.grant_unchanged(registrar, row, is_granted, by).await?);
        }
        // What only switches a row on or off is no reason to build it again.
        let known = (K::hash(&definition) == row.hash).then(|| self.built(name, &row.hash)).flatten();
        let (built, grant) = match known {
            Some(built) => (built, None),
            None => {
                registrar.prepare(&definition).await;
                let built = self.build_granted(registrar, &definition, is_granted);
                let (built, grant) = built.map_err(RowError::from)?;
                (Ok(built), grant)
            }
        };
        let next = row.changed_to(definition, self.world.now());
        let action = match (next.hash == row.hash, K::is_enabled(&next.definition)) {
            (false, _) => "changed",
            (true, true) => "enabled",
            (true, false) => "disabled",
        };
        let line = self.audit_line(action, &format!("{name} {}", next.hash), by);
        Ok(match built {
            Ok(built) => self.save_and_hold(registrar, next, row.version, line, built, grant, by).await?,
            Err(problem) => {
                let saved = self.table.save(next, row.version, line, SaveOptions::default()).await;
                self.hold(registrar, saved.map_err(save_error)?, Err(problem))
            }
        })
    }

    /// Deletes a row with its offer and its grants; runs that use it keep it until they end.
    pub async fn delete<R: Registrar<K>>(
        &self,
        registrar: &R,
        name: &str,
        expected: Option<u32>,
        by: &str,
    ) -> Result<(), R::Error> {
        let _lock = self.lock().await;
        let row = self.current(name, expected).await?;
        let line = self.audit_line("deleted", name, by);
        self.table.delete(name, Some(row.version), line).await.map_err(save_error)?;
        self.set_offer(registrar, name, None);
        self.forget(registrar, name);
        self.read_grants(registrar, None).await?;
        Ok(())
    }

    /// Switches something of this kind that is no row; `apply` sets the switch of what is registered.
    pub async fn switch(
        &self,
        name: &str,
        enabled: bool,
        by: &str,
        apply: impl FnOnce() + Send,
    ) -> Result<(), StoreError> {
        let _lock = self.lock().await;
        let action = if enabled { "enabled" } else { "disabled" };
        self.table.save_switch(name, enabled, self.audit_line(action, name, by)).await?;
        apply();
        Ok(())
    }

    /// Grants a row something.
    pub async fn grant<R: Registrar<K>>(
        &self,
        registrar: &R,
        name: &str,
        grant: K::Grant,
        by: &str,
    ) -> Result<HeldRow<K>, R::Error> {
        let _lock = self.lock().await;
        let row = self.current(name, None).await?;
        self.save_grant(registrar, name, grant, by).await?;
        Ok(self.update_held(registrar, row))
    }

    /// Takes back those grants of a row that are `meant`, and returns what they were.
    pub async fn revoke<R: Registrar<K>>(
        &self,
        registrar: &R,
        name: &str,
        by: &str,
        meant: impl Fn(&K::Grant) -> bool + Send,
    ) -> Result<Vec<K::Grant>, R::Error> {
        let _lock = self.lock().await;
        let saved = self.table.grants().await.map_err(RowError::from)?;
        let of_row = saved.into_iter().filter(|row| row.name == name).map(|row| row.grant);
        let revoked: Vec<_> = of_row.filter(meant).collect();
        for grant in &revoked {
            let line = self.audit_line("revoked", &format!("{name} {grant}"), by);
            match self.table.delete_grant(name, grant, line).await {
                // Another process was faster.
                Ok(()) | Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(RowError::from(error).into()),
            }
        }
        self.read_grants(registrar, None).await?;
        Ok(revoked)
    }

    /// All rows, those that cannot be built among them, by their names.
    pub fn all(&self) -> Vec<HeldRow<K>> {
        self.rows().values().cloned().collect()
    }

    pub fn get(&self, name: &str) -> Option<HeldRow<K>> {
        self.rows().get(name).cloned()
    }

    /// The first row, by name, that is `meant`.
    pub fn find(&self, meant: impl Fn(&DefinitionRow<K>) -> bool) -> Option<HeldRow<K>> {
        self.rows().values().find(|held| meant(&held.row)).cloned()
    }

    /// Whether there is a row of this name, be it one that cannot be built.
    pub fn contains(&self, name: &str) -> bool {
        self.rows().contains_key(name)
    }

    /// Whether what is registered under this name is a row.
    pub fn is_built(&self, name: &str) -> bool {
        self.rows().get(name).is_some_and(|held| held.built.is_ok())
    }

    /// What a row is granted, with who granted it and when.
    pub fn grants(&self, name: &str) -> Vec<DefinitionGrant<K>> {
        self.grants.list(name)
    }

    /// What all rows are granted.
    pub fn all_grants(&self) -> Vec<DefinitionGrant<K>> {
        self.grants.list_all()
    }

    /// What a row is built with.
    pub fn grant_set(&self, name: &str) -> Arc<GrantSet<K::Grant>> {
        self.grants.set(name)
    }

    /// Builds a definition; where only the operator's consent is missing and is given, with that.
    #[expect(clippy::type_complexity, reason = "what was built, and the grant that it needed")]
    pub fn build_granted(
        &self,
        registrar: &impl Registrar<K>,
        definition: &K::Definition,
        is_granted: bool,
    ) -> Result<(Arc<K::Built>, Option<K::Grant>), DefinitionError> {
        let refused = match self.build(registrar, definition) {
            Ok(built) => return Ok((built, None)),
            Err(refused) => refused,
        };
        let Some(consent) = refused.consent.clone().filter(|_| is_granted) else { return Err(refused) };
        let grant = K::grant_for(consent);
        let mut all: Vec<_> = self.grants(K::name(definition)).into_iter().map(|row| row.grant).collect();
        all.push(grant.clone());
        let built = registrar.build(definition, &Arc::new(GrantSet::new(all)))?;
        Ok((built, Some(grant)))
    }

    pub fn audit_line(&self, action: &str, detail: &str, by: &str) -> AuditEntry {
        let action = format!("{}.{action}", K::KIND.as_str());
        AuditEntry::new(self.world.now(), by, action, detail)
    }

    pub(crate) fn build(
        &self,
        registrar: &impl Registrar<K>,
        definition: &K::Definition,
    ) -> Result<Arc<K::Built>, DefinitionError> {
        registrar.build(definition, &self.grant_set(K::name(definition)))
    }

    /// The row as it is saved now, which another process may have written.
    pub(crate) async fn current(
        &self,
        name: &str,
        expected: Option<u32>,
    ) -> Result<DefinitionRow<K>, RowError> {
        let row = self.table.get(name).await.map_err(|error| match error {
            StoreError::NotFound(_) => RowError::Missing(name.into()),
            other => other.into(),
        })?;
        match expected {
            Some(expected) if expected != row.version => Err(RowError::Changed(row.version)),
            _ => Ok(row),
        }
    }

    /// Holds a row and registers what was built of it.
    pub(crate) fn hold(
        &self,
        registrar: &impl Registrar<K>,
        row: DefinitionRow<K>,
        built: Result<Arc<K::Built>, DefinitionError>,
    ) -> HeldRow<K> {
        let held = HeldRow { row: Arc::new(row), built };
        let name = held.row.name();
        let before = self.get(name);
        if let Some(HeldRow { row, built: Ok(built) }) = &before {
            self.pinned.insert(name, &row.hash, built);
        }
        match &held.built {
            Ok(built) => registrar.register(&held.row, built, self.offer(name).is_none()),
            Err(problem) => {
                let kind = K::KIND.as_str();
                tracing::warn!(kind, name, %problem, "definition cannot be built and is not available");
                if before.is_some_and(|before| before.built.is_ok()) {
                    registrar.unregister(name);
                }
            }
        }
        self.rows_mut().insert(name.to_owned(), held.clone());
        held
    }

    /// Holds a row that another process may have written.
    pub(crate) fn update_held(&self, registrar: &impl Registrar<K>, row: DefinitionRow<K>) -> HeldRow<K> {
        if let Some(held) = self.get(row.name()).filter(|held| held.row.version == row.version) {
            return held;
        }
        let known = self.built(row.name(), &row.hash);
        let built = known.unwrap_or_else(|| self.build(registrar, &row.definition));
        self.hold(registrar, row, built)
    }

    /// What was built of this definition before.
    fn built(&self, name: &str, hash: &str) -> Option<Result<Arc<K::Built>, DefinitionError>> {
        self.rows().get(name).filter(|held| held.row.hash == hash).map(|held| held.built.clone())
    }

    /// Saves a row that was built, with what it was granted for that.
    #[expect(clippy::too_many_arguments, reason = "all that is written in one transaction")]
    async fn save_and_hold(
        &self,
        registrar: &impl Registrar<K>,
        row: DefinitionRow<K>,
        expected: u32,
        line: AuditEntry,
        built: Arc<K::Built>,
        grant: Option<K::Grant>,
        by: &str,
    ) -> Result<HeldRow<K>, RowError> {
        let is_granted = grant.is_some();
        let grants = grant.map(|grant| self.grant_row(row.name(), grant, by)).into_iter().collect();
        let options = SaveOptions { offer: OfferUse::Untouched, grants };
        let saved = self.table.save(row, expected, line, options).await.map_err(save_error)?;
        if !is_granted {
            return Ok(self.hold(registrar, saved, Ok(built)));
        }
        // What was built holds a set of grants of its own, which no later change would revoke.
        self.read_grants(registrar, Some(saved.name())).await?;
        let built = self.build(registrar, &saved.definition);
        Ok(self.hold(registrar, saved, built))
    }

    /// Grants a row what its definition needs and was not granted yet.
    async fn grant_unchanged(
        &self,
        registrar: &impl Registrar<K>,
        row: DefinitionRow<K>,
        is_granted: bool,
        by: &str,
    ) -> Result<HeldRow<K>, RowError> {
        if is_granted && let (_, Some(grant)) = self.build_granted(registrar, &row.definition, true)? {
            self.save_grant(registrar, row.name(), grant, by).await?;
        }
        Ok(self.update_held(registrar, row))
    }

    async fn save_grant(
        &self,
        registrar: &impl Registrar<K>,
        name: &str,
        grant: K::Grant,
        by: &str,
    ) -> Result<(), RowError> {
        let (grant, line) = self.grant_row(name, grant, by);
        self.table.save_grant(&grant, line).await?;
        self.read_grants(registrar, None).await
    }

    fn grant_row(&self, name: &str, grant: K::Grant, by: &str) -> (DefinitionGrant<K>, AuditEntry) {
        let line = self.audit_line("granted", &format!("{name} {grant}"), by);
        (DefinitionGrant { name: name.into(), grant, by: by.into(), at: self.world.now() }, line)
    }

    async fn read_grants(&self, registrar: &impl Registrar<K>, except: Option<&str>) -> Result<(), RowError> {
        self.replace_grants(registrar, self.table.grants().await?, except);
        Ok(())
    }

    /// Builds those rows again that are granted something else now, `except` the one that its caller builds.
    fn replace_grants(
        &self,
        registrar: &impl Registrar<K>,
        grants: Vec<DefinitionGrant<K>>,
        except: Option<&str>,
    ) {
        let changed = self.grants.replace(grants);
        for name in changed.iter().filter(|name| Some(name.as_str()) != except) {
            if let Some(held) = self.get(name) {
                let built = self.build(registrar, &held.row.definition);
                self.hold(registrar, (*held.row).clone(), built);
            }
        }
    }

    /// Holds all rows that are saved, and no others.
    fn replace_rows(&self, registrar: &impl Registrar<K>, rows: Vec<DefinitionRow<K>>) {
        let saved: BTreeSet<_> = rows.iter().map(|row| row.name().to_owned()).collect();
        let held: Vec<_> = self.rows().keys().cloned().collect();
        for gone in held.iter().filter(|name| !saved.contains(*name)) {
            self.forget(registrar, gone);
        }
        for row in rows {
            self.update_held(registrar, row);
        }
    }

    fn forget(&self, registrar: &impl Registrar<K>, name: &str) {
        let held = self.rows_mut().remove(name);
        if let Some(HeldRow { row, built: Ok(built) }) = held {
            self.pinned.insert(name, &row.hash, &built);
            registrar.unregister(name);
        }
    }

    fn rows(&self) -> RwLockReadGuard<'_, BTreeMap<String, HeldRow<K>>> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<String, HeldRow<K>>> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }
}
