//! What every request passes before it is judged, and what can go wrong on the way.
//!
//! Ready? Room? In time? Whole? Only then the handler runs, and a panic of it ends here.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::extract::Request;
use bytes::Bytes;
use futures::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::{Instant, timeout_at};

use super::{Limits, Source, deadline::allowance, limits::Room};
use crate::{
    live::questions::Questions,
    telemetry::{Endpoint, Outcome, Shed, Telemetry},
};

/// What the handlers share.
pub(super) struct Gate {
    pub(super) source: Arc<dyn Source>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) limits: Limits,
    pub(super) questions: Arc<Questions>,
    admission: Room,
    extender: Room,
    draining: AtomicBool,
}

/// Why a request was not answered by its handler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// Before readiness.
    #[error("sluice is not ready: its picture of the cluster or its policies are not complete yet")]
    Unready,
    /// Too much in flight.
    #[error("sluice is busy: too much is in flight")]
    Shed(Shed),
    /// The deadline passed.
    #[error("sluice did not decide in time")]
    Late,
    /// The handler panicked.
    #[error("sluice failed on this request; this is a defect, its log names the place")]
    Panicked,
    /// The body is larger than this many bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The body did not arrive.
    #[error("the body ended early")]
    Cut,
    /// The request cannot be read.
    #[error("{0}")]
    Malformed(String),
}

impl Gate {
    pub(super) fn new(source: Arc<dyn Source>, telemetry: Arc<Telemetry>, limits: Limits) -> Self {
        Self {
            source,
            telemetry,
            limits,
            questions: Arc::new(Questions::new(limits.promise)),
            admission: Room::new(limits.requests, limits.admission_bytes),
            extender: Room::new(limits.requests, limits.extender_bytes),
            draining: AtomicBool::new(false),
        }
    }

    /// Remembers the scheduler's questions where others read of them too.
    pub(super) fn remembering(self, questions: Option<Arc<Questions>>) -> Self {
        match questions {
            Some(questions) => Self { questions, ..self },
            None => self,
        }
    }

    /// From now on unready, and connections are closed after their next answer.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Lets a request through to its handler, which gets the body and the moment by which it must be done.
    pub(super) async fn pass<T, F>(
        &self,
        endpoint: Endpoint,
        request: Request,
        handle: impl FnOnce(Bytes, Instant) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let (room, largest, timeout) = self.bounds(endpoint);
        let deadline = Instant::now() + allowance(request.uri().query(), timeout);
        if !self.source.is_ready() {
            return Err(Failure::Unready);
        }
        let length = announced(&request).unwrap_or(largest);
        if length > largest {
            return Err(Failure::TooLarge(largest));
        }
        let _place = room.enter(length).map_err(|why| {
            self.telemetry.shed(endpoint, why);
            Failure::Shed(why)
        })?;
        let work = async { handle(read(request, largest).await?, deadline).await };
        // The gate's state is atomics, semaphores and counters: nothing that a panic leaves half done.
        match timeout_at(deadline, AssertUnwindSafe(work).catch_unwind()).await {
            Err(_) => Err(Failure::Late),
            Ok(Err(_)) => Err(Failure::Panicked),
            // A decision is not interrupted; when it took too long, its answer comes too late all the same.
            Ok(Ok(_)) if Instant::now() > deadline => Err(Failure::Late),
            Ok(Ok(answer)) => answer,
        }
    }

    fn bounds(&self, endpoint: Endpoint) -> (&Room, usize, Duration) {
        let limits = &self.limits;
        match endpoint {
            Endpoint::Mutate | Endpoint::Validate => {
                (&self.admission, limits.admission_body, limits.admission_timeout)
            }
            Endpoint::Filter | Endpoint::Prioritize | Endpoint::Preempt => {
                (&self.extender, limits.nodes_body, limits.extender_timeout)
            }
        }
    }
}

impl Failure {
    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Self::Unready => Outcome::Unready,
            Self::Shed(_) => Outcome::Shed,
            Self::Late => Outcome::Late,
            Self::Panicked => Outcome::Panicked,
            Self::TooLarge(_) | Self::Cut | Self::Malformed(_) => Outcome::Malformed,
        }
    }
}

/// Length of the body as its head tells it.
fn announced(request: &Request) -> Option<usize> {
    use axum::body::HttpBody;
    request.body().size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX))
}

async fn read(request: Request, largest: usize) -> Result<Bytes, Failure> {
    let body = Limited::new(request.into_body(), largest);
    match body.collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::TooLarge(largest)),
        Err(_) => Err(Failure::Cut),
    }
}
