//! `/healthz`, `/readyz` and `/metrics` of the agent, on a plain port.

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, extract::State, http::header, response::IntoResponse, routing::get};
use tokio::net::TcpListener;

use super::metrics::Metrics;

/// Serves until the process ends; gives the address that was bound.
///
/// # Errors
/// If the address cannot be bound.
pub async fn serve(address: SocketAddr, found: Arc<Metrics>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    // Alive and ready are the same: an agent without a driver is at work too, it says that there is none.
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
        .with_state(found);
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!("the metrics port ended: {error}");
        }
    });
    Ok(bound)
}

async fn metrics(State(found): State<Arc<Metrics>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], found.text())
}
