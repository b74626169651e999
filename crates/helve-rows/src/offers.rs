//! Rows that come from outside, held to what a person agreed to.
//!
//! A document or a server says what its definitions are, and may say something else tomorrow. What it says anew is an
//! offer: it is kept beside the row with the difference, and the row is in quarantine, for new runs as if it were not
//! there, until a person agrees or rejects it. Runs that have the row keep it as it was.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use helve_store::{OfferUse, StoreError};

use crate::error::save_error;
use crate::{
    DefinitionKind, DefinitionOffer, DefinitionRow, HeldRow, Registrar, RowCatalogue, RowError, SaveOptions,
};

/// Who takes responsibility for what a row has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// The person who brings it, and says so.
    Given,
    /// A person is still to be asked.
    Wanted,
}

/// What became of an offered definition.
#[derive(Clone)]
pub enum OfferOutcome<T> {
    /// There was no such row; who brings it first has agreed to it.
    Created(T),
    /// It is what was agreed to.
    Same(T),
    /// It is another one, as somebody agreed to.
    Changed(T),
    /// It would be another one, which a person has to agree to first.
    Quarantined(T),
}

impl<T> OfferOutcome<T> {
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> OfferOutcome<U> {
        match self {
            Self::Created(row) => OfferOutcome::Created(convert(row)),
            Self::Same(row) => OfferOutcome::Same(convert(row)),
            Self::Changed(row) => OfferOutcome::Changed(convert(row)),
            Self::Quarantined(row) => OfferOutcome::Quarantined(convert(row)),
        }
    }
}

pub(crate) type HeldOffers<K> = BTreeMap<String, Arc<DefinitionOffer<K>>>;

impl<K: DefinitionKind> RowCatalogue<K> {
    /// Takes what an origin says about one of its rows. `expected` is the version that the definition was compared
    /// with, if it was.
    pub async fn receive_offer<R: Registrar<K>>(
        &self,
        registrar: &R,
        origin: &str,
        definition: K::Definition,
        consent: Consent,
        expected: Option<u32>,
        by: &str,
    ) -> Result<OfferOutcome<HeldRow<K>>, R::Error> {
        let name = K::name(&definition).to_owned();
        if !self.contains(&name) && !registrar.is_registered(&name) {
            return Ok(OfferOutcome::Created(self.create(registrar, definition, false, by).await?));
        }
        let _lock = self.lock().await;
        let row = self.current(&name, expected).await?;
        if !K::has_origin(&row.definition, origin) {
            return Err(RowError::Exists(name).into());
        }
        // An origin does not decide whether its rows are switched on.
        let mut definition = definition;
        K::set_enabled(&mut definition, K::is_enabled(&row.definition));
        if K::hash(&definition) == row.hash {
            self.withdraw_offer(registrar, &row, by).await?;
            return Ok(OfferOutcome::Same(self.update_held(registrar, row)));
        }
        registrar.check_definition(&definition).map_err(RowError::from)?;
        Ok(match consent {
            Consent::Given => OfferOutcome::Changed(self.accept(registrar, row, definition, by).await?),
            Consent::Wanted => {
                OfferOutcome::Quarantined(self.quarantine(registrar, row, origin, definition, by).await?)
            }
        })
    }

    /// Makes the row what was offered. `hash` is that of the definition that the person has seen, if they say so.
    pub async fn accept_offer<R: Registrar<K>>(
        &self,
        registrar: &R,
        name: &str,
        hash: Option<&str>,
        by: &str,
    ) -> Result<HeldRow<K>, R::Error> {
        let _lock = self.lock().await;
        let offer = self.saved_offer(registrar, name).await?;
        let row = self.current(name, None).await?;
        let is_other = hash.is_some_and(|seen| seen != K::hash(&offer.definition));
        if is_other || offer.over != row.hash {
            return Err(RowError::OfferChanged(name.into()).into());
        }
        let mut definition = offer.definition;
        K::set_enabled(&mut definition, K::is_enabled(&row.definition));
        Ok(self.accept(registrar, row, definition, by).await?)
    }

    /// Leaves the row what it is.
    pub async fn reject_offer<R: Registrar<K>>(
        &self,
        registrar: &R,
        name: &str,
        by: &str,
    ) -> Result<HeldRow<K>, R::Error> {
        let _lock = self.lock().await;
        let offer = self.saved_offer(registrar, name).await?;
        let row = self.current(name, None).await?;
        let line = self.audit_line("rejected", &format!("{name} {}", K::hash(&offer.definition)), by);
        self.table.delete_offer(name, line).await.map_err(RowError::from)?;
        self.set_offer(registrar, name, None);
        Ok(self.update_held(registrar, row))
    }

    /// What a row's origin offers in its place.
    pub fn offer(&self, name: &str) -> Option<Arc<DefinitionOffer<K>>> {
        self.offers().get(name).cloned()
    }

    pub(crate) fn replace_offers(&self, registrar: &impl Registrar<K>, offers: Vec<DefinitionOffer<K>>) {
        let offers: HeldOffers<K> =
            offers.into_iter().map(|offer| (offer.name().to_owned(), Arc::new(offer))).collect();
        let before = std::mem::replace(&mut *self.offers_mut(), offers);
        let now = self.offers().clone();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.set_agreed(registrar, name, true);
        }
        for name in now.keys().filter(|name| !before.contains_key(*name)) {
            self.set_agreed(registrar, name, false);
        }
    }

    pub(crate) fn set_offer(
        &self,
        registrar: &impl Registrar<K>,
        name: &str,
        offer: Option<DefinitionOffer<K>>,
    ) {
        let is_agreed = offer.is_none();
        match offer {
            Some(offer) => _ = self.offers_mut().insert(name.to_owned(), Arc::new(offer)),
            None => _ = self.offers_mut().remove(name),
        }
        self.set_agreed(registrar, name, is_agreed);
    }

    fn set_agreed(&self, registrar: &impl Registrar<K>, name: &str, is_agreed: bool) {
        if self.is_built(name) {
            registrar.set_agreed(name, is_agreed);
        }
    }

    async fn saved_offer(
        &self,
        registrar: &impl Registrar<K>,
        name: &str,
    ) -> Result<DefinitionOffer<K>, RowError> {
        let offer = self.table.offers().await?.into_iter().find(|offer| offer.name() == name);
        offer.ok_or_else(|| match self.contains(name) || registrar.is_registered(name) {
            true => RowError::NoOffer(name.into()),
            false => RowError::Missing(name.into()),
        })
    }

    /// The origin has gone back to what was agreed to.
    async fn withdraw_offer(
        &self,
        registrar: &impl Registrar<K>,
        row: &DefinitionRow<K>,
        by: &str,
    ) -> Result<(), RowError> {
        let line = self.audit_line("offer_withdrawn", row.name(), by);
        match self.table.delete_offer(row.name(), line).await {
            Ok(()) => self.set_offer(registrar, row.name(), None),
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn accept(
        &self,
        registrar: &impl Registrar<K>,
        row: DefinitionRow<K>,
        definition: K::Definition,
        by: &str,
    ) -> Result<HeldRow<K>, RowError> {
        registrar.prepare(&definition).await;
        let built = self.build(registrar, &definition)?;
        let next = row.changed_to(definition, self.world.now());
        let line = self.audit_line("agreed", &format!("{} {}", next.name(), next.hash), by);
        let accepting = SaveOptions { offer: OfferUse::Accepted, grants: vec![] };
        let saved = match self.table.save(next.clone(), row.version, line.clone(), accepting).await {
            // It was agreed to before it was offered.
            Err(StoreError::NotFound(_)) => {
                self.table.save(next, row.version, line, SaveOptions::default()).await
            }
            saved => saved,
        };
        let saved = saved.map_err(save_error)?;
        self.set_offer(registrar, saved.name(), None);
        Ok(self.hold(registrar, saved, Ok(built)))
    }

    async fn quarantine(
        &self,
        registrar: &impl Registrar<K>,
        row: DefinitionRow<K>,
        origin: &str,
        definition: K::Definition,
        by: &str,
    ) -> Result<HeldRow<K>, RowError> {
        let hash = K::hash(&definition);
        let is_known = self
            .offer(row.name())
            .is_some_and(|known| known.over == row.hash && K::hash(&known.definition) == hash);
        if !is_known {
            let (over, at) = (row.hash.clone(), self.world.now());
            let offer = DefinitionOffer { origin: origin.into(), definition, over, at };
            let line = self.audit_line("offered", &format!("{} {hash}", row.name()), by);
            self.table.save_offer(&offer, line).await?;
            self.set_offer(registrar, row.name(), Some(offer));
        }
        Ok(self.update_held(registrar, row))
    }

    fn offers(&self) -> RwLockReadGuard<'_, HeldOffers<K>> {
        self.offers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn offers_mut(&self) -> RwLockWriteGuard<'_, HeldOffers<K>> {
        self.offers.write().unwrap_or_else(PoisonError::into_inner)
    }
}
