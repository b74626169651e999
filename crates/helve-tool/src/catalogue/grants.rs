//! What the operator lets single tools have: a host on this machine, or an environment variable as their secret.

use std::sync::Arc;

use helve_rows::GrantSet;
use helve_types::{Notice, Reason, ToolDefinition, ToolGrant};

use super::kind::ToolGrantRow;
use super::{Catalogue, CatalogueError, ListedTool};

/// What one tool was allowed when it was built.
#[derive(Debug, Default)]
pub struct ToolGrants(Arc<GrantSet<ToolGrant>>);

impl From<Arc<GrantSet<ToolGrant>>> for ToolGrants {
    fn from(set: Arc<GrantSet<ToolGrant>>) -> Self {
        Self(set)
    }
}

impl ToolGrants {
    pub fn new(all: Vec<ToolGrant>) -> Self {
        Self(Arc::new(GrantSet::new(all)))
    }

    /// The places that the tool may reach although they are not public.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|grant| match grant {
            ToolGrant::Host { place } => Some(place.as_str()),
            ToolGrant::Secret { .. } => None,
        })
    }

    /// The variable that holds this secret for this place.
    pub fn variable_for(&self, secret: &str, place: &str) -> Option<&str> {
        self.0.iter().find_map(|grant| match grant {
            ToolGrant::Secret { secret: name, env, place: of } if name == secret && of == place => {
                Some(env.as_str())
            }
            _ => None,
        })
    }

    /// Whether something of it was taken back since.
    pub fn is_revoked(&self) -> bool {
        self.0.is_revoked()
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
    /// Why a call is refused, for the model and for people.
    pub refusal: Reason,
    /// The same before any call was made, for those who make tools.
    pub warning: Notice,
}

/// Says which secret a tool cannot send now.
pub type FindNeed = Arc<dyn Fn(&ToolDefinition, &ToolGrants) -> Option<SecretNeed> + Send + Sync>;

impl Catalogue {
    /// What a tool is allowed, with who allowed it and when.
    pub fn list_grants(&self, tool: &str) -> Vec<ToolGrantRow> {
        self.rows.grants(tool)
    }

    /// What all tools are allowed.
    pub fn list_all_grants(&self) -> Vec<ToolGrantRow> {
        self.rows.all_grants()
    }

    /// The secret that a tool cannot send now.
    pub fn find_secret_need(&self, definition: &ToolDefinition) -> Option<SecretNeed> {
        (self.find_need)(definition, &ToolGrants::from(self.rows.grant_set(&definition.name)))
    }

    /// Lets a tool read its secret from a variable and send it to one host.
    pub async fn grant_secret(
        &self,
        tool: &str,
        grant: ToolGrant,
        by: &str,
    ) -> Result<ListedTool, CatalogueError> {
        let held =
            self.rows.grant(self, tool, grant, by).await.map_err(|error| self.explain_missing_row(error))?;
        Ok(self.list_row(&held))
    }

    /// Takes back what a tool is allowed, all of it or what is about one place, and returns what that was.
    pub async fn revoke_grants(
        &self,
        tool: &str,
        place: Option<&str>,
        by: &str,
    ) -> Result<Vec<ToolGrant>, CatalogueError> {
        self.rows.revoke(self, tool, by, |grant| place.is_none_or(|place| grant.place() == place)).await
    }
}
