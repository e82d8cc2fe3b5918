//! `sluice serve` until the end: start, wait for a signal, drain.

use std::{io, sync::Arc, time::Duration};

use tokio::signal::unix::{SignalKind, signal};

use super::{Options, ServeError, Server, Source};
use crate::telemetry::Telemetry;

/// Serves until SIGTERM, then drains without losing a request; until SIGINT, then drains at once.
///
/// # Errors
/// If the server cannot start, or a port stops serving.
pub async fn run(
    options: Options,
    source: Arc<dyn Source>,
    telemetry: Arc<Telemetry>,
) -> Result<(), ServeError> {
    let signals = |error: io::Error| ServeError::Stopped(format!("no signals: {error}"));
    // Before anything listens, so that no signal ends the process in the old way.
    let mut terminate = signal(SignalKind::terminate()).map_err(signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(signals)?;
    let keep_serving = options.keep_serving;
    let mut server = Server::start(options, source, telemetry).await?;
    let addresses = server.addresses();
    tracing::info!(
        address = %addresses.main,
        extender = addresses.extender.map(tracing::field::display),
        status = addresses.status.map(tracing::field::display),
        "serving"
    );
    let keep_serving = tokio::select! {
        _ = terminate.recv() => keep_serving,
        _ = interrupt.recv() => Duration::ZERO,
        error = server.failed() => return Err(error),
    };
    tracing::info!(
        keep_serving_seconds = keep_serving.as_secs_f64(),
        "shutting down: unready, still serving"
    );
    // Who asks twice does not want to wait.
    tokio::select! {
        () = server.shutdown(keep_serving) => tracing::info!("drained"),
        _ = interrupt.recv() => tracing::warn!("interrupted again: answers in flight are lost"),
    }
    Ok(())
}
