//! Who uses Helve: users and groups with what they are given, and the sessions of the page.
//!
//! A user without a row exists by name alone: such users belong to no group, and their tokens say what they may do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use helve_types::{AgentBudget, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{Access, AuditEntry, StoreError, TokenRights};

/// So many users can have rows.
pub const USERS_MAX: usize = 20_000;
pub const GROUPS_MAX: usize = 1_000;
/// So many sessions of one user are kept: the oldest ends for another.
pub const USER_SESSIONS_MAX: usize = 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserKind {
    #[default]
    Person,
    /// A program: it has tokens and cannot sign in.
    ServiceAccount,
}

impl UserKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::ServiceAccount => "service_account",
        }
    }
}

/// An argon2id hash with its parameters and salt.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(pub String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// Whom an identity provider calls one of our users, and what it said at their last sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
    /// The values of the claim that names groups.
    #[serde(default)]
    pub claims: BTreeSet<String>,
    /// One of them stands for the role `admin`.
    #[serde(default)]
    pub is_admin: bool,
    #[serde(default)]
    pub seen_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRecord {
    #[serde(skip, default = "no_user")]
    pub id: UserId,
    /// 1, 2, …: grows with every change.
    #[serde(skip)]
    pub version: u32,
    /// What people read in place of the id; empty if nobody said.
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub email: Option<String>,
    #[serde(default)]
    pub kind: UserKind,
    pub role: TokenRights,
    /// The groups that name the user; those of its identities' claims come on top.
    #[serde(skip)]
    pub groups: BTreeSet<String>,
    /// Nothing that the user shows is accepted.
    #[serde(default)]
    pub disabled: bool,
    #[serde(default)]
    pub password: Option<PasswordHash>,
    #[serde(default)]
    pub identities: Vec<Identity>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default)]
    pub signed_in_at: Option<Timestamp>,
}

fn no_user() -> UserId {
    UserId(String::new())
}

impl UserRecord {
    /// A person who may chat.
    pub fn new(id: UserId, now: Timestamp) -> Self {
        Self {
            id,
            version: 0,
            name: String::new(),
            email: None,
            kind: UserKind::Person,
            role: TokenRights::Chat,
            groups: BTreeSet::new(),
            disabled: false,
            password: None,
            identities: vec![],
            created_at: now,
            updated_at: now,
            signed_in_at: None,
        }
    }

    /// The role, or the one that an identity provider gave at the last sign-in, whichever is more.
    pub fn effective_role(&self) -> TokenRights {
        let by_claim = self.identities.iter().any(|identity| identity.is_admin);
        if by_claim { TokenRights::Admin } else { self.role }
    }

    pub fn has_identity(&self, issuer: &str, subject: &str) -> bool {
        self.identities.iter().any(|identity| identity.issuer == issuer && identity.subject == subject)
    }
}

/// What the members of a group are given besides what agents and rules say of the group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupGrants {
    /// What the runs of each single member may use up in a day.
    #[serde(default)]
    pub member_day: AgentBudget,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    #[serde(skip)]
    pub name: String,
    /// 1, 2, …: grows with every change.
    #[serde(skip)]
    pub version: u32,
    /// What people read in place of the name; empty if nobody said.
    #[serde(default)]
    pub display_name: String,
    /// Users whom an identity provider gives one of these values are members.
    #[serde(default)]
    pub claims: BTreeSet<String>,
    #[serde(default)]
    pub grants: GroupGrants,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl GroupRecord {
    pub fn new(name: impl Into<String>, now: Timestamp) -> Self {
        Self {
            name: name.into(),
            version: 0,
            display_name: String::new(),
            claims: BTreeSet::new(),
            grants: GroupGrants::default(),
            created_at: now,
            updated_at: now,
        }
    }
}

/// A user's next version, with all that is written with it or not at all.
#[derive(Debug, Clone)]
pub struct UserChange {
    pub user: UserRecord,
    /// The version that it replaces; 0 for a user without a row.
    pub expected: u32,
    /// Ends the user's sessions of the page.
    pub ends_sessions: bool,
    pub audit: AuditEntry,
}

/// A group's next version. Its members are kept with the users.
#[derive(Debug, Clone)]
pub struct GroupChange {
    pub group: GroupRecord,
    /// 0 for a new group.
    pub expected: u32,
    pub audit: AuditEntry,
}

/// A sign-in on the page with a password or at an identity provider. Sessions that were begun with a token have no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// SHA-256 of what the cookie holds, which has 256 random bits.
    pub secret_hash: [u8; 32],
    pub user: UserId,
    pub started_at: Timestamp,
    pub expires_at: Timestamp,
    /// None if it was a password.
    pub provider: Option<ProviderSession>,
}

/// By what an identity provider knows a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSession {
    pub issuer: String,
    pub subject: String,
    /// The provider's own name for its session, if it has one.
    #[serde(default)]
    pub sid: Option<String>,
}

/// Which sessions end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionsToEnd {
    One { secret_hash: [u8; 32] },
    OfUser(UserId),
    OfSubject { issuer: String, subject: String },
    OfProviderSession { issuer: String, sid: String },
}

impl SessionsToEnd {
    pub fn include(&self, session: &SessionRecord) -> bool {
        let of = |holds: &dyn Fn(&ProviderSession) -> bool| session.provider.as_ref().is_some_and(holds);
        match self {
            Self::One { secret_hash } => session.secret_hash == *secret_hash,
            Self::OfUser(user) => session.user == *user,
            Self::OfSubject { issuer, subject } => {
                of(&|known| known.issuer == *issuer && known.subject == *subject)
            }
            Self::OfProviderSession { issuer, sid } => {
                of(&|known| known.issuer == *issuer && known.sid.as_ref() == Some(sid))
            }
        }
    }
}

/// All users with rows and all groups, as they were when they were read.
#[derive(Debug, Default)]
pub struct People {
    pub users: BTreeMap<UserId, UserRecord>,
    pub groups: BTreeMap<String, GroupRecord>,
    /// The groups of each user who has some.
    memberships: HashMap<UserId, Arc<BTreeSet<String>>>,
    nobody: Arc<BTreeSet<String>>,
}

impl People {
    pub fn new(users: Vec<UserRecord>, groups: Vec<GroupRecord>) -> Self {
        let mut by_claim: HashMap<&str, Vec<&str>> = HashMap::new();
        for group in &groups {
            for claim in &group.claims {
                by_claim.entry(claim).or_default().push(&group.name);
            }
        }
        let mut memberships = HashMap::new();
        for user in &users {
            let claims = user.identities.iter().flat_map(|identity| &identity.claims);
            let claimed = claims.filter_map(|claim| by_claim.get(claim.as_str())).flatten();
            let all: BTreeSet<String> =
                claimed.map(|name| (*name).to_owned()).chain(user.groups.iter().cloned()).collect();
            if !all.is_empty() {
                memberships.insert(user.id.clone(), Arc::new(all));
            }
        }
        Self {
            memberships,
            users: users.into_iter().map(|user| (user.id.clone(), user)).collect(),
            groups: groups.into_iter().map(|group| (group.name.clone(), group)).collect(),
            nobody: Arc::default(),
        }
    }

    /// The names of the user's groups: those that name the user and those of its claims.
    pub fn groups_of(&self, user: &UserId) -> Arc<BTreeSet<String>> {
        self.memberships.get(user).unwrap_or(&self.nobody).clone()
    }

    /// The user's role, if it has a row; otherwise its tokens say what it may do.
    pub fn role_of(&self, user: &UserId) -> Option<TokenRights> {
        self.users.get(user).map(UserRecord::effective_role)
    }

    pub fn is_disabled(&self, user: &UserId) -> bool {
        self.users.get(user).is_some_and(|user| user.disabled)
    }

    pub fn members_of<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a UserRecord> {
        self.users
            .values()
            .filter(move |user| self.memberships.get(&user.id).is_some_and(|groups| groups.contains(group)))
    }

    pub fn find_identity(&self, issuer: &str, subject: &str) -> Option<&UserRecord> {
        self.users.values().find(|user| user.has_identity(issuer, subject))
    }
}

/// The current `People`, shared by all parts of a server that decide by them. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct PeopleDirectory(Arc<RwLock<Arc<People>>>);

impl PeopleDirectory {
    pub fn current(&self) -> Arc<People> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads them again. Called at the start, and whenever `Wakeup::Access` was received.
    pub async fn refresh<S: Access + ?Sized>(&self, store: &S) -> Result<(), StoreError> {
        let people = People::new(store.users().await?, store.groups().await?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(people);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_in_the_groups_that_name_it_and_in_those_of_its_claims() {
        let mut mei = UserRecord::new(UserId("mei".into()), Timestamp(1));
        mei.groups = BTreeSet::from(["sales".to_owned()]);
        mei.identities.push(Identity {
            issuer: "https://id.example".into(),
            subject: "1".into(),
            claims: BTreeSet::from(["/staff/ops".to_owned(), "/unknown".to_owned()]),
            is_admin: true,
            seen_at: None,
        });
        let li = UserRecord::new(UserId("li".into()), Timestamp(1));
        let mut ops = GroupRecord::new("ops", Timestamp(1));
        ops.claims.insert("/staff/ops".into());
        let people =
            People::new(vec![mei.clone(), li.clone()], vec![ops, GroupRecord::new("sales", Timestamp(1))]);
        assert_eq!(*people.groups_of(&mei.id), BTreeSet::from(["ops".to_owned(), "sales".to_owned()]));
        assert!(people.groups_of(&li.id).is_empty() && people.groups_of(&UserId("nobody".into())).is_empty());
        assert_eq!(people.role_of(&mei.id), Some(TokenRights::Admin));
        assert_eq!(
            (people.role_of(&li.id), people.role_of(&UserId("x".into()))),
            (Some(TokenRights::Chat), None)
        );
        assert_eq!(people.members_of("ops").map(|user| user.id.0.as_str()).collect::<Vec<_>>(), ["mei"]);
        assert!(people.find_identity("https://id.example", "1").is_some());
        assert!(people.find_identity("https://other.example", "1").is_none());
    }

    #[test]
    fn a_password_hash_is_not_in_debug_output() {
        let mut user = UserRecord::new(UserId("mei".into()), Timestamp(1));
        user.password = Some(PasswordHash("$argon2id$canary".into()));
        assert!(!format!("{user:?}").contains("canary"));
    }
}
