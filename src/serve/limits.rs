//! How much the server takes on: sizes, counts and times; and the permits that hold it to them.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::telemetry::Shed;

/// Bounds of the server's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest body of an admission request, in bytes. The API server takes objects of 3 MiB and sends up to
    /// two of them, escaped.
    pub admission_body: usize,
    /// Largest body of an extender request that names its nodes, in bytes.
    pub names_body: usize,
    /// Largest body of an extender request that carries whole Nodes, in bytes.
    pub nodes_body: usize,
    /// Requests in flight, separately for admission and extender; more are shed.
    pub requests: usize,
    /// Bytes of admission bodies in flight; more are shed. Read into JSON and changed, a body takes a
    /// multiple of its size, which the Pod's memory limit has to hold.
    pub admission_bytes: usize,
    /// Bytes of extender bodies in flight; more are shed.
    pub extender_bytes: usize,
    /// Timeout of an admission caller that does not tell its own.
    pub admission_timeout: Duration,
    /// Timeout of the scheduler (`httpTimeout` of its configuration), which never tells.
    pub extender_timeout: Duration,
    /// How long a refusal that rests on something missing waits for it to show up in the picture.
    pub absence_wait: Duration,
    /// How long room that was offered to a Pod is kept for it until its binding shows; zero keeps no account.
    pub promise: Duration,
    /// How long a Pod that finds nothing but promised room waits for promises to be settled.
    pub promise_wait: Duration,
    /// From the end of the TLS handshake to the head of the first request.
    pub first_request: Duration,
    /// From one answer to the head of the next request. Longer than client-go keeps an idle connection (90 s):
    /// where the server closes first, a request may meet the closing and fail, and POSTs are not sent again.
    pub next_request: Duration,
}

const MIB: usize = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            admission_body: 8 * MIB,
            names_body: 8 * MIB,
            nodes_body: 64 * MIB,
            requests: 512,
            admission_bytes: 16 * MIB,
            extender_bytes: 128 * MIB,
            admission_timeout: Duration::from_secs(2),
            extender_timeout: Duration::from_secs(2),
            absence_wait: Duration::from_millis(300),
            // Longer than a binding and a late watch take, short enough for a restart to be got over.
            promise: Duration::from_secs(3),
            // The scheduler places one Pod after the other: all wait.
            promise_wait: Duration::from_millis(100),
            first_request: Duration::from_secs(10),
            next_request: Duration::from_secs(120),
        }
    }
}

/// Room for requests and the bytes of their bodies. Never waits: who does not fit is shed, because a
/// queue in front of a deadline turns load into timeouts.
#[derive(Debug)]
pub(super) struct Room {
    requests: Semaphore,
    kibibytes: Semaphore,
}

/// A place in the room.
#[derive(Debug)]
pub(super) struct Place<'a> {
    _request: SemaphorePermit<'a>,
    _bytes: SemaphorePermit<'a>,
}

impl Room {
    pub(super) fn new(requests: usize, bytes: usize) -> Self {
        Self { requests: Semaphore::new(requests), kibibytes: Semaphore::new(bytes.div_ceil(1024)) }
    }

    /// Takes a place for a request with a body of at most `bytes`.
    pub(super) fn enter(&self, bytes: usize) -> Result<Place<'_>, Shed> {
        let kibibytes = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let request = self.requests.try_acquire().map_err(|_| Shed::Requests)?;
        let bytes = self.kibibytes.try_acquire_many(kibibytes).map_err(|_| Shed::Bytes)?;
        Ok(Place { _request: request, _bytes: bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_room_sheds_by_count_and_a_heavy_one_by_bytes() {
        let room = Room::new(2, 10 * 1024);
        let first = room.enter(8 * 1024).expect("there is room");
        assert_eq!(room.enter(4 * 1024).expect_err("too heavy"), Shed::Bytes);
        let second = room.enter(1).expect("a light one still fits");
        assert_eq!(room.enter(1).expect_err("too many"), Shed::Requests);
        drop((first, second));
        room.enter(10 * 1024).expect("room is given back");
    }

    #[test]
    fn one_request_of_the_largest_size_always_fits_an_empty_room() {
        let limits = Limits::default();
        assert!(limits.admission_body <= limits.admission_bytes);
        assert!(limits.names_body <= limits.nodes_body && limits.nodes_body <= limits.extender_bytes);
    }
}
