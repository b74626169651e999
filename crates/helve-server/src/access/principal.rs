//! Who a request comes from, and what it may reach.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use helve_store::{ActFor, People, Scope, TokenRights};
use helve_types::{Timestamp, UserId};

use super::AccessError;
use crate::problem::Problem;

/// Who a request comes from.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    pub(crate) user: UserId,
    /// Of the credential, and no more than the role of the user that it belongs to.
    pub(crate) rights: TokenRights,
    /// Whom it may act for, besides itself.
    pub(super) act_for: ActFor,
    /// All users and groups when the request came.
    pub(super) people: Arc<People>,
    /// The request has named the user.
    pub(super) is_named: bool,
    pub(super) credential: Credential,
}

/// What a request has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credential {
    /// Nothing: the operator of a machine without tokens.
    Operator,
    /// A token, or a session of the page that it was traded for.
    Token { id: String, signed_in_at: Option<Timestamp> },
    /// A session that began with a password or at an identity provider.
    Session { secret_hash: [u8; 32] },
}

impl Principal {
    pub(crate) fn is_admin(&self) -> bool {
        self.rights == TokenRights::Admin
    }

    /// The groups of the user that it is or acts for.
    pub(crate) fn groups(&self) -> Arc<BTreeSet<String>> {
        self.people.groups_of(&self.user)
    }

    /// What it may look at by id.
    pub(crate) fn scope(&self) -> Scope {
        let sees_all = self.is_admin() && !self.is_named;
        if sees_all { Scope::Everyone } else { Scope::User(self.user.clone()) }
    }

    /// The user it acts for: itself, or whom it names and may act for.
    pub(crate) fn user_to_act_for(&self, named: Option<&str>) -> Result<UserId, Problem> {
        let Some(named) = named else { return Ok(self.user.clone()) };
        let named =
            UserId::parse(named).map_err(|error| Problem::bad_request("bad_user", error.to_string()))?;
        if self.is_named && named != self.user {
            let detail = format!("the request names two users, `{}` and `{named}`; name one", self.user);
            return Err(Problem::bad_request("two_users", detail));
        }
        if named == self.user {
            return Ok(named);
        }
        if self.is_admin() || self.act_for.covers(&named) {
            return if self.people.is_disabled(&named) {
                Err(AccessError::Disabled.into())
            } else {
                Ok(named)
            };
        }
        let detail =
            format!("this token may not act for `{named}`; make one with `helve token create --act-for`");
        Err(Problem::new(StatusCode::FORBIDDEN, "not_your_user", detail))
    }

    /// The principal as the user it acts for; limits count that user.
    pub(crate) fn acting_as_user(&self, named: Option<&str>) -> Result<Self, Problem> {
        let is_named = self.is_named || named.is_some();
        Ok(Self { user: self.user_to_act_for(named)?, is_named, ..self.clone() })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // `require_right` runs before every handler and adds it.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| AccessError::NoToken.into())
    }
}
