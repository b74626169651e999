//! What runs were started with, each kept once.

use helve_store::StoreError;
use helve_types::{ConversationId, RunInput, RunSetup};
use sha2::{Digest, Sha256};

use crate::postgres::columns::{Db, column, to_json};

/// The number of the setup, which is kept if it is new. One with a history of its own in it is of one run only.
pub(super) async fn find_or_insert(db: &Db<'_>, setup: &RunSetup) -> Result<i64, StoreError> {
    let body = to_json(setup)?;
    let is_shared = matches!(setup.input, RunInput::Conversation | RunInput::Call);
    let hash = is_shared.then(|| Sha256::digest(&body).to_vec());
    if let Some(hash) = &hash {
        // Locked, so that it is not deleted before the run is there that needs it.
        let known = "SELECT id FROM setups WHERE hash = $1 FOR KEY SHARE";
        if let Some(row) = db.first(known, &[hash]).await? {
            return column(&row, "id");
        }
    }
    let sql = "INSERT INTO setups (hash, body) VALUES ($1, $2)
               ON CONFLICT (hash) WHERE hash IS NOT NULL DO UPDATE SET hash = excluded.hash RETURNING id";
    let row = db.first(sql, &[&hash, &body]).await?;
    column(&row.ok_or(StoreError::NotFound("setup"))?, "id")
}

/// Forgets what only runs of this conversation were started with. They are deleted next.
pub(in crate::postgres) async fn delete_unused(
    db: &Db<'_>,
    conversation: ConversationId,
) -> Result<(), StoreError> {
    // First the locks and then, with a newer view, the look at who else needs them.
    db.all(
        "SELECT id FROM setups WHERE id IN (SELECT setup_id FROM runs WHERE conversation = $1)
         ORDER BY id FOR UPDATE",
        &[&conversation.0],
    )
    .await?;
    db.execute(
        "DELETE FROM setups WHERE id IN (SELECT setup_id FROM runs WHERE conversation = $1)
         AND NOT EXISTS (SELECT 1 FROM runs WHERE setup_id = setups.id AND conversation IS DISTINCT FROM $1)",
        &[&conversation.0],
    )
    .await?;
    Ok(())
}
