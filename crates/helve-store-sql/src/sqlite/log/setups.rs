//! What runs were started with, each kept once.

use helve_store::StoreError;
use helve_types::{ConversationId, RunInput, RunSetup};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use crate::sqlite::columns::{column, execute, first, to_json};

/// The number of the setup, which is kept if it is new. One with a history of its own in it is of one run only.
pub(crate) fn find_or_insert(connection: &Connection, setup: &RunSetup) -> Result<i64, StoreError> {
    let body = to_json(setup)?;
    let is_shared = matches!(setup.input, RunInput::Conversation | RunInput::Call);
    let hash = is_shared.then(|| Sha256::digest(&body).to_vec());
    if let Some(hash) = &hash {
        let known = "SELECT id FROM setups WHERE hash = ?1";
        if let Some(id) = first(connection, known, params![hash], |row| column(row, "id"))? {
            return Ok(id);
        }
    }
    execute(connection, "INSERT INTO setups (hash, body) VALUES (?1, ?2)", params![hash, body])?;
    Ok(connection.last_insert_rowid())
}

/// Forgets what only runs of this conversation were started with. They are deleted next.
pub(crate) fn delete_unused(connection: &Connection, conversation: ConversationId) -> Result<(), StoreError> {
    execute(
        connection,
        "DELETE FROM setups WHERE id IN (SELECT setup_id FROM runs WHERE conversation = ?1)
         AND NOT EXISTS (SELECT 1 FROM runs WHERE setup_id = setups.id AND conversation IS NOT ?1)",
        [conversation.0.as_bytes()],
    )?;
    Ok(())
}
