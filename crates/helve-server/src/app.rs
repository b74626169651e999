//! The state that handlers share.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use helve_guard::Admission;
use helve_runtime::Runtime;
use helve_types::{Reason, Timestamp, ToolSpec};
use serde_json::Value;

use crate::access::{Access, AccessSettings, SignInSettings};
use crate::api::doctor::Doctor;
use crate::api::health::StoreCheck;
use crate::api::import::Importer;
use crate::api::links::ApprovalLinks;
use crate::limits::ServerLimits;
use crate::log_sampler::LogSampler;
use crate::request_id::AnswerCounters;

/// A handle on the running application; clones share it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub(crate) runtime: Runtime,
    pub(crate) access: Access,
    pub(crate) store_check: StoreCheck,
    pub(crate) started_at: Timestamp,
    /// The same on the monotonic clock.
    pub(crate) started_steady: Duration,
    pub(crate) answers: AnswerCounters,
    /// Limits log lines about refused requests.
    pub(crate) refusals: LogSampler,
    pub(crate) limits: ServerLimits,
    /// Limits open streams.
    pub(crate) streams: Admission,
    pub(crate) model_problems: Box<ModelProblems>,
    pub(crate) declare: Option<Box<Declare>>,
    pub(crate) importer: Option<Box<Importer>>,
    pub(crate) doctor: Option<Box<Doctor>>,
    pub(crate) links: Option<ApprovalLinks>,
    secrets_withheld: Option<Arc<AtomicU64>>,
    notices_lost: Option<Arc<AtomicU64>>,
    pub(crate) durability_problem: Option<String>,
    ready: AtomicBool,
    /// The OpenAPI document, once the routes are known.
    pub(crate) document: OnceLock<String>,
}

/// The problem of a model, if it has one, for people who choose a model.
pub type ModelProblems = dyn Fn(&str) -> Option<Reason> + Send + Sync;

/// Tools in a vendor's request format, by the name of the format; none if the format is unknown.
pub type Declare = dyn Fn(&str, &[&ToolSpec]) -> Option<Value> + Send + Sync;

/// What an `App` is made of.
pub struct AppParts {
    pub runtime: Runtime,
    pub access: AccessSettings,
    /// How people sign in besides tokens.
    pub sign_in: SignInSettings,
    pub limits: ServerLimits,
    pub model_problems: Box<ModelProblems>,
    /// Exports tools in vendors' formats.
    pub declare: Option<Box<Declare>>,
    /// Imports OpenAPI documents; without it they are refused.
    pub importer: Option<Box<Importer>>,
    /// Examines the server for `/api/doctor`.
    pub doctor: Option<Box<Doctor>>,
    /// Signs links to approvals; without it no link is valid.
    pub links: Option<ApprovalLinks>,
    /// Counts refused requests for secrets.
    pub secrets_withheld: Option<Arc<AtomicU64>>,
    /// Counts webhook deliveries that failed.
    pub notices_lost: Option<Arc<AtomicU64>>,
    /// Why what was acknowledged may be lost with the database server's power, if it may.
    pub durability_problem: Option<String>,
}

impl AppParts {
    /// A server without the optional parts.
    pub fn new(runtime: Runtime, access: AccessSettings, limits: ServerLimits) -> Self {
        Self {
            runtime,
            access,
            sign_in: SignInSettings::default(),
            limits,
            model_problems: Box::new(|_| None),
            declare: None,
            importer: None,
            doctor: None,
            links: None,
            secrets_withheld: None,
            notices_lost: None,
            durability_problem: None,
        }
    }
}

impl App {
    pub fn new(parts: AppParts) -> Self {
        let AppParts { runtime, limits, .. } = parts;
        Self(Arc::new(Inner {
            started_at: runtime.world().now(),
            started_steady: runtime.world().clock.monotonic_time(),
            answers: AnswerCounters::default(),
            refusals: LogSampler::default(),
            streams: Admission::new(limits.stream_admission()),
            limits,
            access: Access::new(parts.access, parts.sign_in, runtime.people().clone()),
            runtime,
            store_check: StoreCheck::default(),
            model_problems: parts.model_problems,
            declare: parts.declare,
            importer: parts.importer,
            doctor: parts.doctor,
            links: parts.links,
            secrets_withheld: parts.secrets_withheld,
            notices_lost: parts.notices_lost,
            durability_problem: parts.durability_problem,
            ready: AtomicBool::new(false),
            document: OnceLock::new(),
        }))
    }

    /// The OpenAPI document, once `router` was called.
    pub fn openapi_document(&self) -> Option<&str> {
        self.document.get().map(String::as_str)
    }

    /// Interrupted runs are being recovered; requests are accepted.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) && !self.runtime.is_closing()
    }

    /// How many requests for secrets were refused.
    pub(crate) fn secrets_withheld(&self) -> Option<u64> {
        self.secrets_withheld.as_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// How many webhook deliveries failed.
    pub(crate) fn notices_lost(&self) -> Option<u64> {
        self.notices_lost.as_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Reads the users, groups and tokens again.
    pub async fn refresh_access(&self) -> Result<(), helve_store::StoreError> {
        self.access.refresh(&**self.runtime.store()).await
    }

    /// Whether somebody can show who they are: any valid token exists, or people sign in.
    pub fn has_token(&self) -> bool {
        self.access.has_token() || self.access.has_sign_in()
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
