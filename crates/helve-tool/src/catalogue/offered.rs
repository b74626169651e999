//! Tools that come from outside, held to what a person agreed to.
//!
//! A document or a server says what its tools are, and may say something else tomorrow; what it says anew is an offer.

use helve_rows::{Consent, OfferOutcome};
use helve_types::ToolDefinition;

use super::{Catalogue, CatalogueError, ListedTool};

impl Catalogue {
    /// Takes what an origin says about one of its tools. `expected` is the version that the definition was compared
    /// with, if it was.
    pub async fn receive_offer(
        &self,
        origin: &str,
        definition: ToolDefinition,
        consent: Consent,
        expected: Option<u32>,
        by: &str,
    ) -> Result<OfferOutcome<ListedTool>, CatalogueError> {
        let received = self.rows.receive_offer(self, origin, definition, consent, expected, by).await;
        let outcome = received.map_err(|error| self.explain_missing_row(error))?;
        Ok(outcome.map(|held| self.list_row(&held)))
    }

    /// Makes the tool what was offered. `hash` is that of the definition that the person has seen, if they say so.
    pub async fn accept_offer(
        &self,
        name: &str,
        hash: Option<&str>,
        by: &str,
    ) -> Result<ListedTool, CatalogueError> {
        let accepted = self.rows.accept_offer(self, name, hash, by).await;
        Ok(self.list_row(&accepted.map_err(|error| self.explain_missing_row(error))?))
    }

    /// Leaves the tool what it is.
    pub async fn reject_offer(&self, name: &str, by: &str) -> Result<ListedTool, CatalogueError> {
        let rejected = self.rows.reject_offer(self, name, by).await;
        Ok(self.list_row(&rejected.map_err(|error| self.explain_missing_row(error))?))
    }
}
