//! What every handler may use.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use helve_agent::Runtime;
use helve_guard::Admission;
use helve_types::{Reason, Timestamp, ToolSpec};
use serde_json::Value;

use crate::access::{Access, AccessSettings};
use crate::doctor::Doctor;
use crate::health::StoreCheck;
use crate::import::Importer;
use crate::limits::ServerLimits;
use crate::links::ApprovalLinks;
use crate::request_id::AnswerCounters;
use crate::sampled::Sampled;

/// A handle on the running application; clones share it.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub(crate) runtime: Runtime,
    pub(crate) access: Access,
    pub(crate) store_check: StoreCheck,
    pub(crate) started_at: Timestamp,
    /// The same on the clock that is never set.
    pub(crate) began: Duration,
    pub(crate) answers: AnswerCounters,
    /// Lines of the log about requests that were refused.
    pub(crate) refusals: Sampled,
    pub(crate) limits: ServerLimits,
    /// The streams that are open.
    pub(crate) streams: Admission,
    ready: AtomicBool,
    problems: Box<ModelProblems>,
    declare: OnceLock<Box<Declare>>,
    importer: OnceLock<Box<Importer>>,
    doctor: OnceLock<Box<Doctor>>,
    withheld: OnceLock<Arc<AtomicU64>>,
    links: OnceLock<ApprovalLinks>,
    untold: OnceLock<Arc<AtomicU64>>,
    /// The OpenAPI document, once the routes are known.
    pub(crate) document: OnceLock<String>,
}

/// What is wrong with a model, if anything: told to people who would choose it.
pub type ModelProblems = dyn Fn(&str) -> Option<Reason> + Send + Sync;

/// Tools as requests of a vendor have them, by the name of the format; none for a format that nobody knows.
pub type Declare = dyn Fn(&str, &[&ToolSpec]) -> Option<Value> + Send + Sync;

impl App {
    /// The OpenAPI document, once `router` was called.
    pub fn openapi_document(&self) -> Option<&str> {
        self.document.get().map(String::as_str)
    }

    pub fn new(
        runtime: Runtime,
        access: AccessSettings,
        limits: ServerLimits,
        problems: Box<ModelProblems>,
    ) -> Self {
        let access = Access::new(access);
        Self(Arc::new(Inner {
            started_at: runtime.world().now(),
            began: runtime.world().clock.steady(),
            answers: AnswerCounters::default(),
            refusals: Sampled::default(),
            streams: Admission::new(limits.streams()),
            limits,
            runtime,
            access,
            store_check: StoreCheck::default(),
            ready: AtomicBool::new(false),
            problems,
            declare: OnceLock::new(),
            importer: OnceLock::new(),
            doctor: OnceLock::new(),
            withheld: OnceLock::new(),
            links: OnceLock::new(),
            untold: OnceLock::new(),
            document: OnceLock::new(),
        }))
    }

    /// Runs that were interrupted are being seen to: requests are welcome.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) && !self.runtime.is_closing()
    }

    /// Who writes tools down in the words of vendors; the first to be named does.
    pub fn declare_with(&self, declare: Box<Declare>) {
        _ = self.declare.set(declare);
    }

    pub(crate) fn declared(&self, format: &str, tools: &[&ToolSpec]) -> Option<Value> {
        self.declare.get()?(format, tools)
    }

    pub(crate) fn model_problems(&self) -> &ModelProblems {
        &*self.problems
    }

    /// Documents are imported by this; the first one counts.
    pub fn set_importer(&self, importer: Box<Importer>) {
        _ = self.importer.set(importer);
    }

    pub(crate) fn importer(&self) -> Option<&Importer> {
        self.importer.get().map(|importer| &**importer)
    }

    /// The server is examined by this; the first one counts.
    pub fn set_doctor(&self, doctor: Box<Doctor>) {
        _ = self.doctor.set(doctor);
    }

    pub(crate) fn doctor(&self) -> Option<&Doctor> {
        self.doctor.get().map(|doctor| &**doctor)
    }

    /// Where it is counted how often a secret was asked for by who must not have it; the first one counts.
    pub fn count_withheld(&self, count: Arc<AtomicU64>) {
        _ = self.withheld.set(count);
    }

    pub(crate) fn withheld(&self) -> Option<u64> {
        self.withheld.get().map(|count| count.load(Ordering::Relaxed))
    }

    /// Links to questions are made by this; the first one counts. Without it no link is good.
    pub fn set_links(&self, links: ApprovalLinks) {
        _ = self.links.set(links);
    }

    pub(crate) fn links(&self) -> Option<&ApprovalLinks> {
        self.links.get()
    }

    /// Where it is counted how many questions a webhook could not be told of; the first one counts.
    pub fn count_untold(&self, count: Arc<AtomicU64>) {
        _ = self.untold.set(count);
    }

    pub(crate) fn untold(&self) -> Option<u64> {
        self.untold.get().map(|count| count.load(Ordering::Relaxed))
    }

    /// Reads the tokens again.
    pub async fn refresh_access(&self) -> Result<(), helve_store::StoreError> {
        self.access.refresh(&**self.runtime.store()).await
    }

    /// Whether there is a token that requests can show.
    pub fn has_token(&self) -> bool {
        self.access.has_token()
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
