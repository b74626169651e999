//! Definitions that people write: tools, and whatever comes.
//!
//! The store keeps JSON under a name and a version and does not know what it means. A `DefinitionKind` says what it
//! means; a `RowTable` reads and writes the rows of one kind as values of its type; a `RowCatalogue` checks, builds,
//! saves and registers them through the kind's `Registrar`, and holds their offers, grants and earlier versions.
//! Nothing here knows any single kind.

mod batch;
mod catalogue;
mod error;
mod grants;
mod kind;
mod offers;
mod pinned;
mod row;
mod table;

pub use batch::{BatchError, BatchOutcome, BatchRow};
pub use catalogue::{ChangeLock, HeldRow, RowCatalogue};
pub use error::{DefinitionError, RowError};
pub use grants::GrantSet;
pub use kind::{DefinitionKind, Registrar};
pub use offers::{Consent, OfferOutcome};
pub use pinned::PinnedVersion;
pub use row::{DefinitionGrant, DefinitionOffer, DefinitionRow};
pub use table::{RowTable, SaveOptions};
