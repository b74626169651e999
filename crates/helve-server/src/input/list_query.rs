//! Which part of a list, in which states, and of whose.

use helve_store::{Page, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Principal;
use crate::problem::Problem;

/// Which part of a list, and of whose.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    /// How many at most; 50 if not said, 200 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// How many to leave out.
    #[serde(default)]
    offset: Option<usize>,
    /// Another user's, for those with the right `admin`.
    #[serde(default)]
    pub(crate) user: Option<String>,
}

impl ListQuery {
    pub(crate) fn to_page(&self) -> Page {
        page_from_query(self.limit, self.offset)
    }
}

/// Which part of a list, in which states, and of whose. `S` are the states that can be asked for. The members of
/// `ListQuery` are written out: flattened ones could not be numbers.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StateQuery<S> {
    /// Without it, only what is open: what is pending, or in force. `all` is the rest too.
    pub(crate) state: Option<S>,
    /// How many at most; 50 if not said, 200 at most.
    limit: Option<usize>,
    /// How many to leave out.
    offset: Option<usize>,
    /// Another user's, for those with the right `admin`.
    pub(crate) user: Option<String>,
}

impl<S> StateQuery<S> {
    pub(crate) fn to_page(&self) -> Page {
        page_from_query(self.limit, self.offset)
    }

    /// Administrators see what is all users', unless they name one.
    pub(crate) fn scope(&self, principal: &Principal) -> Result<Scope, Problem> {
        match self.user.as_deref() {
            None => Ok(principal.scope()),
            named => Ok(Scope::User(principal.user_to_act_for(named)?)),
        }
    }
}

pub(crate) fn page_from_query(limit: Option<usize>, offset: Option<usize>) -> Page {
    Page { offset: offset.unwrap_or(0), limit: limit.unwrap_or(50).min(200) }
}
