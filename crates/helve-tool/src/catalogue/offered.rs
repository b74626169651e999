//! Tools that come from outside, held to what a person agreed to.
//!
//! A document or a server says what its tools are, and may say something else tomorrow. What it says anew is an offer:
//! it is kept beside the tool with the difference, and the tool is in quarantine, for new runs as if it were not there,
//! until a person agrees or rejects it. Runs that have the tool keep it as it was.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLockReadGuard, RwLockWriteGuard};

use helve_store::StoreError;
use helve_types::ToolDefinition;

use super::check::check;
use super::kind::{ToolOffer, ToolRow};
use super::{Catalogue, CatalogueError, Listed, conflict};
use crate::offload::make_ready;

/// Who takes responsibility for what a tool has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Whoever brings it, and says so.
    Given,
    /// Nobody yet.
    Wanted,
}

/// What became of what was offered.
#[derive(Clone)]
pub enum Offered {
    /// A tool that was not there; whoever brings it first has agreed to it.
    Made(Listed),
    /// It is what was agreed to.
    Same(Listed),
    /// It is another one, as somebody agreed to.
    Changed(Listed),
    /// It would be another one, and nobody has agreed to that.
    Quarantined(Listed),
}

pub(super) type Offers = BTreeMap<String, Arc<ToolOffer>>;

impl Catalogue {
    /// Takes what an origin says about one of its tools. The tools of an origin have it as a tag. `seen` is the version
    /// that the definition was compared with, if it was.
    pub async fn offered(
        &self,
        origin: &str,
        definition: ToolDefinition,
        consent: Consent,
        seen: Option<u32>,
        by: &str,
    ) -> Result<Offered, CatalogueError> {
        if !self.is_taken(&definition.name) {
            return Ok(Offered::Made(self.create(definition, by).await?));
        }
        let _alone = self.seen.lock().await;
        let row = self.row(&definition.name, seen).await?;
        if !row.definition.tags.iter().any(|tag| tag == origin) {
            return Err(CatalogueError::Exists(definition.name));
        }
        // Whether it is switched on is nobody's business outside.
        let definition = ToolDefinition { enabled: row.definition.enabled, ..definition };
        if definition.hash() == row.hash {
            self.withdrawn(&row, by).await?;
            return Ok(Offered::Same(self.take(row)));
        }
        check(&definition)?;
        match consent {
            Consent::Given => Ok(Offered::Changed(self.become_it(row, definition, by).await?)),
            Consent::Wanted => Ok(Offered::Quarantined(self.quarantine(row, origin, definition, by).await?)),
        }
    }

    /// Makes the tool what was offered. `hash` is that of the definition that the person has seen, if they say so.
    pub async fn agree(&self, name: &str, hash: Option<&str>, by: &str) -> Result<Listed, CatalogueError> {
        let _alone = self.seen.lock().await;
        let offer = self.kept_offer(name).await?;
        let row = self.row(name, None).await?;
        let is_other = hash.is_some_and(|seen| seen != offer.definition.hash());
        if is_other || offer.over != row.hash {
            return Err(CatalogueError::OfferChanged(name.into()));
        }
        let definition = ToolDefinition { enabled: row.definition.enabled, ..offer.definition };
        self.become_it(row, definition, by).await
    }

    /// Leaves the tool what it is.
    pub async fn reject(&self, name: &str, by: &str) -> Result<Listed, CatalogueError> {
        let _alone = self.seen.lock().await;
        let offer = self.kept_offer(name).await?;
        let row = self.row(name, None).await?;
        let detail = format!("{name} {}", offer.definition.hash());
        self.table.delete_offer(name, self.line("tool.rejected", &detail, by)).await?;
        self.set_offer(name, None);
        Ok(self.take(row))
    }

    /// Takes up what is kept of offers.
    pub(super) fn take_offers(&self, offers: Vec<ToolOffer>) {
        let offers: Offers =
            offers.into_iter().map(|offer| (offer.name().to_owned(), Arc::new(offer))).collect();
        for tool in self.registry.all() {
            let name = &tool.spec().name;
            tool.set_agreed(!self.owns(name) || !offers.contains_key(name));
        }
        *self.offers_mut() = offers;
    }

    pub(super) fn is_quarantined(&self, name: &str) -> bool {
        self.offers().contains_key(name)
    }

    pub(super) fn kept(&self, name: &str) -> Option<Arc<ToolOffer>> {
        self.offers().get(name).cloned()
    }

    pub(super) fn set_offer(&self, name: &str, offer: Option<ToolOffer>) {
        let agreed = offer.is_none();
        match offer {
            Some(offer) => _ = self.offers_mut().insert(name.to_owned(), Arc::new(offer)),
            None => _ = self.offers_mut().remove(name),
        }
        if let Some(tool) = self.registry.get(name) {
            tool.set_agreed(agreed);
            // The generation grows with it, which tells agents to look at their tools again.
            _ = self.registry.set_enabled(name, tool.is_enabled());
        }
    }

    async fn kept_offer(&self, name: &str) -> Result<ToolOffer, CatalogueError> {
        let offers = self.table.offers().await?;
        let offer = offers.into_iter().find(|offer| offer.name() == name);
        offer.ok_or_else(|| match self.is_taken(name) {
            true => CatalogueError::NoOffer(name.into()),
            false => CatalogueError::Missing(name.into()),
        })
    }

    /// The origin has gone back to what was agreed to.
    async fn withdrawn(&self, row: &ToolRow, by: &str) -> Result<(), CatalogueError> {
        let line = self.line("tool.offer_withdrawn", row.name(), by);
        match self.table.delete_offer(row.name(), line).await {
            Ok(()) => self.set_offer(row.name(), None),
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    async fn become_it(
        &self,
        row: ToolRow,
        definition: ToolDefinition,
        by: &str,
    ) -> Result<Listed, CatalogueError> {
        make_ready(vec![definition.parameters.clone()]).await;
        let made = Arc::new(self.make(&definition)?);
        let next = row.with(definition, self.world.now());
        let line = self.line("tool.agreed", &format!("{} {}", next.name(), next.hash), by);
        let taken = self.store.take_offer(next.clone(), row.version, line.clone()).await;
        let kept = match taken {
            Err(StoreError::NotFound(_)) => self.store.keep_tool(next, row.version, line).await,
            taken => taken,
        };
        let kept = kept.map_err(conflict)?;
        self.set_offer(kept.name(), None);
        Ok(self.hold(kept, Ok(made)))
    }

    async fn quarantine(
        &self,
        row: ToolRow,
        origin: &str,
        definition: ToolDefinition,
        by: &str,
    ) -> Result<Listed, CatalogueError> {
        let detail = format!("{} {}", row.name(), definition.hash());
        let offer =
            ToolOffer { origin: origin.into(), definition, over: row.hash.clone(), at: self.world.now() };
        let is_known = self.offers().get(row.name()).is_some_and(|known| {
            known.over == offer.over && known.definition.hash() == offer.definition.hash()
        });
        if !is_known {
            self.table.save_offer(&offer, self.line("tool.offered", &detail, by)).await?;
            self.set_offer(row.name(), Some(offer));
        }
        Ok(self.take(row))
    }

    fn offers(&self) -> RwLockReadGuard<'_, Offers> {
        self.offers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn offers_mut(&self) -> RwLockWriteGuard<'_, Offers> {
        self.offers.write().unwrap_or_else(PoisonError::into_inner)
    }
}
