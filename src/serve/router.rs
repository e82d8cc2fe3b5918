//! The routes of each port.

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::{HeaderValue, Version, header},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{get, post},
};

use super::{admission, extender, gate::Gate, status};

/// Webhooks and extender.
pub(super) fn gate(gate: Arc<Gate>) -> Router {
    let webhooks =
        Router::new().route("/mutate", post(admission::mutate)).route("/validate", post(admission::validate));
    finish(webhooks.merge(scheduler()), gate)
}

/// The extender alone.
pub(super) fn extender(gate: Arc<Gate>) -> Router {
    finish(scheduler(), gate)
}

/// Health and metrics.
pub(super) fn status(gate: Arc<Gate>) -> Router {
    Router::new()
        .route("/healthz", get(status::healthz))
        .route("/readyz", get(status::readyz))
        .route("/metrics", get(status::metrics))
        .with_state(gate)
}

fn scheduler() -> Router<Arc<Gate>> {
    Router::new()
        .route("/scheduler/filter", post(extender::filter))
        .route("/scheduler/prioritize", post(extender::prioritize))
        .route("/scheduler/preempt", post(extender::preempt))
}

fn finish(router: Router<Arc<Gate>>, gate: Arc<Gate>) -> Router {
    router
        // The gate has limits of its own, by endpoint.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(gate.clone(), close_when_draining))
        .with_state(gate)
}

/// While draining, asks HTTP/1.1 clients to open their next connection elsewhere. A connection that the
/// server closes by itself may be closed just as the next request is sent, and that request is lost; HTTP/2
/// has GOAWAY for the same purpose.
async fn close_when_draining(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let version = request.version();
    let mut response = next.run(request).await;
    if version < Version::HTTP_2 && gate.is_draining() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
