//! A PodResources server on a unix socket: the kubelet of a node that has none.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use sluice::agent::kubelet::{Allocatable, Assigned, Devices, Nothing};
use tokio::net::UnixListener;
use tonic::{Response, Status};
use tonic_prost::ProstCodec;

use crate::harness::controlplane::ControlPlane;

/// Device ids by resource.
type Ids<'a> = [(&'a str, &'a [&'a str])];

/// A kubelet that hands out what the story says. Ends when dropped.
pub struct Kubelet {
    socket: PathBuf,
    devices: Arc<Mutex<Vec<Devices>>>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Kubelet {
    /// Starts one for a node.
    pub fn start(plane: &ControlPlane, node: &str, ids: &Ids<'_>) -> Kubelet {
        let socket = plane.folder().join(format!("{node}.sock"));
        let devices: Arc<Mutex<Vec<Devices>>> = Arc::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a thread for the kubelet");
        let listener = {
            let _entered = runtime.enter();
            UnixListener::bind(&socket).unwrap_or_else(|error| panic!("{}: {error}", socket.display()))
        };
        let router = router(&devices);
        runtime.spawn(async move { axum::serve(listener, router).await });
        let kubelet = Kubelet { socket, devices, runtime: Some(runtime) };
        kubelet.hands_out(ids);
        kubelet
    }

    /// What it hands out from now on.
    pub fn hands_out(&self, ids: &Ids<'_>) {
        let devices = |&(resource, ids): &(&str, &[&str])| Devices {
            resource: resource.to_owned(),
            ids: ids.iter().map(|&id| id.to_owned()).collect(),
        };
        *self.devices.lock().expect("no panic while it is held") = ids.iter().map(devices).collect();
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn router(devices: &Arc<Mutex<Vec<Devices>>>) -> Router {
    let devices = devices.clone();
    let allocatable = move |request: Request| {
        let answer = Allocatable { devices: devices.lock().expect("no panic while it is held").clone() };
        answer_with(request, answer)
    };
    Router::new()
        .route("/v1.PodResourcesLister/GetAllocatableResources", post(allocatable))
        .route("/v1.PodResourcesLister/List", post(|request| answer_with(request, Assigned::default())))
}

async fn answer_with<A>(request: Request, answer: A) -> axum::http::Response<tonic::body::Body>
where
    A: prost::Message + Default + Clone + 'static,
{
    let service = tower::service_fn(move |_: tonic::Request<Nothing>| {
        let answer = answer.clone();
        async move { Ok::<_, Status>(Response::new(answer)) }
    });
    tonic::server::Grpc::new(ProstCodec::<A, Nothing>::default()).unary(service, request).await
}
