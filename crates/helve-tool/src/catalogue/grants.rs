//! What the operator lets single tools have: a host on this machine, or an environment variable as their secret.
//!
//! A tool is made with what it is allowed. When that changes, the tool is made again; what was made before and had more
//! than it may have now refuses every call, also in runs that go on with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use helve_store::StoreError;
use helve_types::{ToolDefinition, ToolGrant};

use super::kind::{ToolGrantRow};
use super::{Catalogue, CatalogueError, Listed};

/// What one tool was allowed when it was made.
#[derive(Debug, Default)]
pub struct ToolGrants {
    all: Vec<ToolGrant>,
    is_revoked: AtomicBool,
}

impl ToolGrants {
    pub fn new(all: Vec<ToolGrant>) -> Self {
        Self { all, is_revoked: AtomicBool::new(false) }
    }

    /// The places that the tool may reach although they are not public.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.all.iter().filter_map(|grant| match grant {
            ToolGrant::Host { place } => Some(place.as_str()),
            ToolGrant::Secret { .. } => None,
        })
    }

    /// The variable that holds this secret for this place.
    pub fn variable(&self, secret: &str, place: &str) -> Option<&str> {
        self.all.iter().find_map(|grant| match grant {
            ToolGrant::Secret { secret: name, env, place: of } if name == secret && of == place => {
                Some(env.as_str())
            }
            _ => None,
        })
    }

    /// Whether something of it was taken back since.
    pub fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Relaxed)
    }

    fn covers(&self, other: &Self) -> bool {
        other.all.iter().all(|grant| self.all.contains(grant))
    }
}

/// The secret that a definition proposes a variable for, and why it cannot be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretNeed {
    pub secret: String,
    /// The variable that the definition proposes.
    pub env: String,
    /// The host and port that would get it.
    pub place: String,
    /// What is missing and what to do about it.
    pub problem: String,
}

/// Says which secret a tool cannot send now.
pub type FindNeed = Arc<dyn Fn(&ToolDefinition, &ToolGrants) -> Option<SecretNeed> + Send + Sync>;

/// What each tool is allowed, by its name.
pub(super) type HeldGrants = RwLock<BTreeMap<String, (Arc<ToolGrants>, Vec<ToolGrantRow>)>>;

impl Catalogue {
    /// What a tool is allowed, with who allowed it and when.
    pub fn grants(&self, tool: &str) -> Vec<ToolGrantRow> {
        let held = self.grants.read().unwrap_or_else(PoisonError::into_inner);
        held.get(tool).map(|(_, rows)| rows.clone()).unwrap_or_default()
    }

    /// What all tools are allowed.
    pub fn all_grants(&self) -> Vec<ToolGrantRow> {
        let held = self.grants.read().unwrap_or_else(PoisonError::into_inner);
        held.values().flat_map(|(_, rows)| rows.clone()).collect()
    }

    /// The secret that a tool cannot send now.
    pub fn secret_need(&self, definition: &ToolDefinition) -> Option<SecretNeed> {
        (self.find_need)(definition, &self.granted(&definition.name))
    }

    /// Lets a tool read its secret from a variable and send it to one host.
    pub async fn bind(&self, tool: &str, grant: ToolGrant, by: &str) -> Result<Listed, CatalogueError> {
        let _alone = self.seen.lock().await;
        let row = self.row(tool, None).await?;
        let (grant, line) = self.grant_row(tool, grant, by);
        self.table.save_grant(&grant, line).await?;
        self.take_grants(self.table.grants().await?);
        Ok(self.take(row))
    }

    /// Takes back what a tool is allowed, all of it or what is about one place, and returns what that was.
    pub async fn revoke(
        &self,
        tool: &str,
        place: Option<&str>,
        by: &str,
    ) -> Result<Vec<ToolGrant>, CatalogueError> {
        let _alone = self.seen.lock().await;
        let kept = self.table.grants().await?;
        let of_tool = kept.into_iter().filter(|row| row.tool == tool).map(|row| row.grant);
        let revoked: Vec<_> =
            of_tool.filter(|grant| place.is_none_or(|place| grant.place() == place)).collect();
        for grant in &revoked {
            let line = self.line("tool.revoked", &format!("{tool} {grant}"), by);
            match self.table.delete_grant(tool, grant, line).await {
                // Another process was faster.
                Ok(()) | Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.take_grants(self.table.grants().await?);
        Ok(revoked)
    }

    pub(super) fn grant_row(
        &self,
        tool: &str,
        grant: ToolGrant,
        by: &str,
    ) -> (ToolGrantRow, helve_store::AuditEntry) {
        let line = self.line("tool.granted", &format!("{tool} {grant}"), by);
        (ToolGrantRow { tool: tool.into(), grant, by: by.into(), at: self.world.now() }, line)
    }

    pub(super) fn granted(&self, tool: &str) -> Arc<ToolGrants> {
        let held = self.grants.read().unwrap_or_else(PoisonError::into_inner);
        held.get(tool).map(|(grants, _)| grants.clone()).unwrap_or_default()
    }

    /// Takes up what is kept, and makes those tools again that are allowed something else now.
    pub(super) fn take_grants(&self, rows: Vec<ToolGrantRow>) {
        let mut kept: BTreeMap<String, Vec<ToolGrantRow>> = BTreeMap::new();
        for row in rows {
            kept.entry(row.tool.clone()).or_default().push(row);
        }
        for tool in self.set_grants(kept) {
            let row = self.rows().get(&tool).map(|held| held.row.clone());
            if let Some(row) = row {
                let made = self.make(&row.definition).map(Arc::new);
                self.hold((*row).clone(), made);
            }
        }
    }

    /// Returns the tools that are allowed something else than before.
    fn set_grants(&self, mut kept: BTreeMap<String, Vec<ToolGrantRow>>) -> Vec<String> {
        let mut held = self.grants.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = vec![];
        held.retain(|tool, (grants, rows)| {
            let now = kept.remove(tool).unwrap_or_default();
            if now == *rows {
                return true;
            }
            changed.push(tool.clone());
            let next = ToolGrants::new(now.iter().map(|row| row.grant.clone()).collect());
            if !next.covers(grants) {
                grants.is_revoked.store(true, Ordering::Relaxed);
            }
            let is_left = !now.is_empty();
            (*grants, *rows) = (Arc::new(next), now);
            is_left
        });
        for (tool, rows) in kept {
            let grants = ToolGrants::new(rows.iter().map(|row| row.grant.clone()).collect());
            held.insert(tool.clone(), (Arc::new(grants), rows));
            changed.push(tool);
        }
        changed
    }
}
