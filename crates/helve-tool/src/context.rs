//! What a call knows about where it comes from.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use helve_store::{MemoryStore, RunJournal, UserStore};
use helve_types::{
    Asker, CallId, ConversationId, Language, MessageId, RunId, Taint, Timestamp, UserId, World,
};
use tokio_util::sync::CancellationToken;

use crate::{Early, SubagentTerms, Toolbox};

/// Everything a stage or a tool may want to know about the call at hand.
#[derive(Clone)]
pub struct CallContext {
    pub run: RunId,
    pub conversation: Option<ConversationId>,
    /// The message that will hold the call and its result.
    pub message: Option<MessageId>,
    pub call: CallId,
    pub user: UserId,
    /// The user's groups when the call was begun.
    pub groups: Arc<BTreeSet<String>>,
    pub agent: String,
    /// The `X-Request-Id` of the HTTP request that started the run.
    pub request_id: Option<String>,
    /// Of the people in the conversation; what a tool writes around its results is in it.
    pub language: Language,
    /// How often the call was started before.
    pub attempts_before: u32,
    /// A person's consent, where one was asked.
    pub grant: Option<Grant>,
    /// What the model had read when it asked for the call. What the calls beside it bring, it had not.
    pub taint: Arc<Taint>,
    /// What the next call of a subagent may do; none where the call is not one of a model's.
    pub subagent: Option<SubagentTerms>,
    /// Who asks a person, where the run is a subagent's.
    pub asker: Option<Box<Asker>>,
    /// Guards that are left out.
    pub skip: SkippedGuards,
    /// Whether it is made, or was, before its message is complete.
    pub early: Early,
    /// The tools of this run; no others exist for it.
    pub toolbox: Arc<Toolbox>,
    pub journal: RunJournal,
    pub cancel: CancellationToken,
    pub progress: Progress,
    pub world: World,
}

impl CallContext {
    /// A call of a user's that comes from nowhere, in a world that stands still: for tests of tools.
    pub fn for_tests(user: &str) -> Self {
        let world = World::deterministic();
        let run = world.run_id();
        let store = Arc::new(MemoryStore::new());
        Self {
            run,
            conversation: None,
            message: None,
            call: CallId::new(run, 1, 0),
            user: UserId(user.into()),
            groups: Arc::default(),
            agent: "default".into(),
            request_id: None,
            language: Language::default(),
            attempts_before: 0,
            grant: None,
            taint: Arc::default(),
            subagent: None,
            asker: None,
            skip: SkippedGuards::default(),
            early: Early::No,
            toolbox: Arc::new(Toolbox::default()),
            journal: RunJournal::new(store, world.clone(), run, 1, 0, Arc::new(|_| {})),
            cancel: CancellationToken::new(),
            progress: Progress::default(),
            world,
        }
    }

    /// What is kept for the user that the call is made for.
    pub fn user_store(&self) -> UserStore {
        self.journal.user_store(self.user.clone(), self.conversation)
    }
}

/// Guards that are left out for one call, which leaves `Skipped` in its trail. Who may ask for it is the business of
/// the server checks for the admin right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SkippedGuards {
    /// The call is neither answered from the cache nor shared; its answer is kept all the same.
    pub cache: bool,
    /// The call goes past the limits of the tool and of the user. It takes no slot, so it does not count against
    /// others.
    pub limit: bool,
}

/// That a call was in flight when the server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentBefore {
    /// The first attempt of all.
    pub first_at: Timestamp,
    /// The last one.
    pub at: Timestamp,
}

/// A person's consent to one exact call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What the question was bound to.
    pub binding: String,
    /// Hooks had changed the arguments before a person was asked.
    pub changed: bool,
    /// The arguments as the person changed them.
    pub edited: Option<String>,
}

/// Where pieces of a running tool's output go while it runs.
#[derive(Clone, Default)]
pub struct Progress(Option<Report>);

type Report = Arc<dyn Fn(&str) + Send + Sync>;

impl Progress {
    pub fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    pub fn report(&self, piece: &str) {
        if let Some(report) = &self.0 {
            report(piece);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
