//! The server: webhooks and scheduler extender over TLS, health and metrics beside them.
//!
//! ```text
//! connection ─ TLS ─► router ─► gate: ready? room? in time? ─┬► admission ─► subject ─► decide ─► report
//!                                                            └► extender  ─► subject ─► decide, fit
//! ```
//! No request causes a call over the network, and none changes anything but counters.

mod admission;
mod callers;
pub mod certificates;
mod clock;
mod deadline;
mod extender;
mod gate;
mod limits;
mod options;
mod ports;
mod review;
mod router;
mod run;
mod server;
mod source;
mod status;
mod tls;

pub use callers::Callers;
pub use certificates::{CertificateError, Certificates};
pub use limits::Limits;
pub use options::{ExtenderPort, Options};
pub use run::run;
pub use server::{Addresses, Bare, ServeError, Server};
pub use source::{Enough, Fixed, Readiness, Source, Waited};

#[cfg(test)]
mod tests;
