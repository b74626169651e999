//! The record of who did what, as a chain: each entry holds the hash of the entry before it.
//!
//! An action writes its entry in its own transaction. In the chain people are pseudonyms: a table beside it says whose a
//! pseudonym is, so that a person is forgotten by deleting one row of that table, and no hash changes. What people write
//! is not copied into an entry: it has ids, names of tools, codes and hashes. `chain` reads a chain and finds where it was
//! changed.

mod chain;

use std::fmt;
use std::str::FromStr;

use helve_types::{Answer, ApprovalId, Question, Timestamp, UserId, canonical_json, hex};
use serde_json::json;
use sha2::{Digest, Sha256};

pub use self::chain::{ChainBreak, ChainVerifier};
use crate::{StoreError, StoreFuture};

/// So many entries are read at a time when the chain is walked.
pub const AUDIT_PAGE: usize = 1_000;

/// A longer detail is cut.
const DETAIL_CHARS_MAX: usize = 1_000;

/// What was done, as it is handed to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// The user, or the part of Helve, that did it.
    pub by: String,
    /// The user whose things it was done to, if that is another question than `by`.
    pub about: Option<String>,
    /// What was done, as `subject.verb`.
    pub action: String,
    /// Ids, names of tools, codes and hashes; no name of a person, and nothing that a person wrote.
    pub detail: String,
}

impl AuditEntry {
    pub fn new(
        at: Timestamp,
        by: impl Into<String>,
        action: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { at, by: by.into(), about: None, action: action.into(), detail: detail.into() }
    }

    #[must_use]
    pub fn about(self, person: impl Into<String>) -> Self {
        Self { about: Some(person.into()), ..self }
    }

    /// As it goes into the chain from a log that had no pseudonyms.
    #[must_use]
    pub fn without_old_names(self) -> Self {
        // `ID TOOL for USER within RUN of AGENT` was the only detail with a name of a person.
        let parts = self.detail.split_once(" for ").and_then(|(what, rest)| {
            rest.split_once(" within ")
                .map(|(user, reach)| (format!("{what} within {reach}"), user.to_owned()))
        });
        match parts {
            Some((detail, user)) if self.action == "allowance.made" => {
                Self { about: Some(user), detail, ..self }
            }
            _ => self,
        }
    }

    /// A question was asked in a run of this user's.
    pub fn for_question(question: &Question, user: &UserId, at: Timestamp) -> Self {
        let tool = question.call().map_or("-", |call| &*call.tool);
        let detail = format!(
            "{} {} {tool} {}",
            question.approval,
            word_of(&serde_json::to_value(question.kind()).unwrap_or_default()),
            question.binding
        );
        Self::new(at, "helve", "approval.asked", detail).about(&*user.0)
    }

    /// A question in a run of this user's was answered. Of what was written only the hash is kept.
    pub fn for_answer(approval: ApprovalId, answer: &Answer, by: &str, user: &UserId, at: Timestamp) -> Self {
        // `link:USER` is a signed link of that user's: the user is a person to be forgotten, and the link is none.
        let (person, way) = by.strip_prefix("link:").map_or((by, ""), |user| (user, " by link"));
        let detail = describe_answer(approval, answer) + way;
        Self::new(at, person, "approval.answered", detail).about(&*user.0)
    }

    /// One of several approvers answered.
    pub fn for_vote(approval: ApprovalId, answer: &Answer, by: &str, user: &UserId, at: Timestamp) -> Self {
        Self::new(at, by, "approval.voted", describe_answer(approval, answer)).about(&*user.0)
    }
}

fn describe_answer(approval: ApprovalId, answer: &Answer) -> String {
    let value = serde_json::to_value(answer).unwrap_or_default();
    let mut detail = format!("{approval} {}", word_of(&value["decision"]));
    if let Answer::Approve { arguments: Some(arguments), .. } = answer {
        detail.push_str(&format!(" edited {}", hex(&Sha256::digest(arguments))));
    }
    detail
}

fn word_of(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

/// A SHA-256 of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChainHash(pub [u8; 32]);

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for ChainHash {
    type Err = HeadError;

    fn from_str(text: &str) -> Result<Self, HeadError> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(HeadError);
        }
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| HeadError)?;
        }
        Ok(Self(bytes))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a head of the audit log is a number, a colon and 64 hexadecimal digits, as `helve audit head` prints it"
)]
pub struct HeadError;

/// The last entry of a chain, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditHead {
    /// 0 of an empty chain.
    pub seq: u64,
    pub hash: ChainHash,
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for AuditHead {
    type Err = HeadError;

    fn from_str(text: &str) -> Result<Self, HeadError> {
        let (seq, hash) = text.split_once(':').ok_or(HeadError)?;
        Ok(Self { seq: seq.parse().map_err(|_| HeadError)?, hash: hash.parse()? })
    }
}

/// An entry in its place in the chain. People are pseudonyms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainedEntry {
    /// 1, 2, …, without a gap.
    pub seq: u64,
    pub at: Timestamp,
    pub by: String,
    pub about: Option<String>,
    pub action: String,
    pub detail: String,
    /// The hash of the entry before it; zeros for the first.
    pub previous: ChainHash,
    pub hash: ChainHash,
}

impl ChainedEntry {
    /// The entry that follows `head`, with pseudonyms for the people in it.
    pub fn after(head: AuditHead, entry: &AuditEntry, by: String, about: Option<String>) -> Self {
        // No TEXT of PostgreSQL holds U+0000, and the hash must be the same on every store.
        let clean = |text: &str| text.replace('\0', "\u{FFFD}").chars().take(DETAIL_CHARS_MAX).collect();
        let mut chained = Self {
            seq: head.seq + 1,
            at: entry.at,
            by,
            about,
            action: clean(&entry.action),
            detail: clean(&entry.detail),
            previous: head.hash,
            hash: ChainHash::default(),
        };
        chained.hash = chained.compute_hash();
        chained
    }

    pub fn head(&self) -> AuditHead {
        AuditHead { seq: self.seq, hash: self.hash }
    }

    /// SHA-256 over the canonical JSON (RFC 8785) of everything but the hash itself.
    pub fn compute_hash(&self) -> ChainHash {
        self.compute_hash_as(self.seq)
    }

    /// The hash that it would have under another number.
    pub(crate) fn compute_hash_as(&self, seq: u64) -> ChainHash {
        let value = json!({
            "about": self.about,
            "action": self.action,
            "at": self.at.0,
            "by": self.by,
            "detail": self.detail,
            "previous": self.previous.to_string(),
            "seq": seq,
        });
        ChainHash(Sha256::digest(canonical_json(&value)).into())
    }
}

/// An entry with the names behind its pseudonyms, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    pub entry: ChainedEntry,
    pub by: Option<String>,
    pub about: Option<String>,
}

/// Which entries. All that is given must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Done by this user or to what is theirs.
    pub user: Option<String>,
    /// An action, or the subject of several (`approval` for `approval.asked` and `approval.answered`).
    pub action: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Only entries with a lower number: how the next page is read.
    pub before: Option<u64>,
}

/// The audit log.
pub trait Audit: Send + Sync + 'static {
    /// Adds an entry for an action that changes nothing else of the store.
    fn record_audit(&self, entry: AuditEntry) -> StoreFuture<'_, ()>;

    fn audit_head(&self) -> StoreFuture<'_, AuditHead>;

    /// The entries after a number, in order.
    fn audit_chain(&self, after: u64, limit: usize) -> StoreFuture<'_, Vec<ChainedEntry>>;

    /// Entries with names, newest first.
    fn audit_records(&self, filter: AuditFilter, limit: usize) -> StoreFuture<'_, Vec<AuditRecord>>;

    /// Forgets whose pseudonym it is that stands for this user in the chain, after the entry that says so, in one
    /// transaction. What the user does later goes under another one.
    fn forget_pseudonym(&self, user: UserId, entry: AuditEntry) -> StoreFuture<'_, ()>;
}

/// Walks the whole chain in pages and says how far it is whole. `expected` are heads that were kept elsewhere;
/// `on_progress` is told how many entries were looked at, page by page.
pub async fn verify_audit(
    store: &dyn Audit,
    expected: Vec<AuditHead>,
    mut on_progress: impl FnMut(u64),
) -> Result<Result<AuditHead, ChainBreak>, StoreError> {
    let head = store.audit_head().await?;
    let mut verifier = ChainVerifier::new(head.seq, expected);
    let mut after = 0;
    loop {
        let page = store.audit_chain(after, AUDIT_PAGE).await?;
        let Some(last) = page.last() else { return Ok(verifier.finish()) };
        after = last.seq;
        for entry in page {
            if let Err(broken) = verifier.check(entry) {
                return Ok(Err(broken));
            }
        }
        on_progress(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_an_entry_is_the_same_in_every_version() {
        let entry = AuditEntry::new(Timestamp(7), "mei", "tool.created", "weather\0 h1").about("li");
        let first = ChainedEntry::after(AuditHead::default(), &entry, "p_1".into(), Some("p_2".into()));
        assert_eq!((first.seq, &*first.detail), (1, "weather\u{FFFD} h1"));
        let computed_elsewhere = "c4d7463b9f90f9b421b0b1e5751e7c45bd8d566d42bb526dcc942b90976cc427";
        assert_eq!(first.hash.to_string(), computed_elsewhere);
        let second = ChainedEntry::after(first.head(), &entry, "p_1".into(), None);
        assert_eq!((second.seq, second.previous), (2, first.hash));
    }

    #[test]
    fn a_head_is_read_as_it_is_written() {
        let head = AuditHead { seq: 12, hash: ChainHash([0xa5; 32]) };
        assert_eq!(head.to_string().parse(), Ok(head));
        for wrong in ["", "12", "x:00", &format!("12:{}", "g".repeat(64)), &format!("12:{}", "é".repeat(32))]
        {
            assert_eq!(wrong.parse::<AuditHead>(), Err(HeadError), "{wrong}");
        }
    }
}
