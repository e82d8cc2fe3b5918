//! `/healthz`, `/readyz`, `/metrics`: what kubelet and Prometheus ask, on a plain port of its own.

use std::{fmt::Write, sync::Arc};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{clock::now, gate::Gate};

/// The process runs. Liveness does not depend on the picture: a restart would not bring it back.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether requests should be sent here, and if not, what is missing.
pub(super) async fn readyz(State(gate): State<Arc<Gate>>) -> Response {
    let mut readiness = gate.source.readiness();
    if gate.is_draining() {
        readiness.missing.push("shutting down".to_owned());
    }
    let ready = readiness.missing.is_empty();
    let mut text = if ready { "ready\n".to_owned() } else { "not ready\n".to_owned() };
    for missing in &readiness.missing {
        let _ = writeln!(text, "missing: {missing}");
    }
    for note in &readiness.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, text).into_response()
}

/// Prometheus' text format.
pub(super) async fn metrics(State(gate): State<Arc<Gate>>) -> Response {
    let world = gate.source.load();
    let size = world.cluster.size();
    let age = world.cluster.as_of().map(|as_of| now().saturating_sub(as_of).max(0) as f64);
    let objects = [
        ("Node", size.nodes),
        ("NodeShape", size.shapes),
        ("Pod", size.bound_pods),
        ("GpuPod", size.gpu_pods),
        ("Pool", world.pools.iter().count()),
    ];
    gate.telemetry.picture(age, objects);
    let text = gate.telemetry.text();
    ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response()
}
