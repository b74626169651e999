//! The state that handlers share.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use helve_guard::Admission;
use helve_runtime::Runtime;
use helve_types::{Reason, Timestamp, ToolSpec};
use serde_json::Value;

use crate::access::{Access, AccessSettings};
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

/// The problem of a model, if it has one, for people who choose a model.
pub type ModelProblems = dyn Fn(&str) -> Option<Reason> + Send + Sync;

/// Tools in a vendor's request format, by the name of the format; none if the format is unknown.
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
            started_steady: runtime.world().clock.steady(),
            answers: AnswerCounters::default(),
            refusals: LogSampler::default(),
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

    /// Interrupted runs are being recovered; requests are accepted.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) && !self.runtime.is_closing()
    }

    /// Sets the export of tools in vendor formats; the first call counts.
    pub fn declare_with(&self, declare: Box<Declare>) {
        _ = self.declare.set(declare);
    }

    pub(crate) fn declared(&self, format: &str, tools: &[&ToolSpec]) -> Option<Value> {
        self.declare.get()?(format, tools)
    }

    pub(crate) fn model_problems(&self) -> &ModelProblems {
        &*self.problems
    }

    /// Sets the importer of OpenAPI documents; the first call counts.
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

    /// Sets the counter of refused requests for secrets; the first call counts.
    pub fn count_withheld(&self, count: Arc<AtomicU64>) {
        _ = self.withheld.set(count);
    }

    pub(crate) fn withheld(&self) -> Option<u64> {
        self.withheld.get().map(|count| count.load(Ordering::Relaxed))
    }

    /// Sets the signer of approval links; the first call counts. Without it no link is valid.
    pub fn set_links(&self, links: ApprovalLinks) {
        _ = self.links.set(links);
    }

    pub(crate) fn links(&self) -> Option<&ApprovalLinks> {
        self.links.get()
    }

    /// Sets the counter of webhook deliveries that failed; the first call counts.
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

    /// Whether any valid token exists.
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
