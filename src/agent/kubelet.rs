//! What the kubelet hands out and to whom: its PodResources API, version 1, over the node's own socket.
//!
//! The messages are those of `k8s.io/kubelet/pkg/apis/podresources/v1/api.proto` (1.37), less what we do
//! not read; field numbers are the contract. The API has no watch, so it is polled.

use std::{path::Path, time::Duration};

use axum::http::uri::PathAndQuery;
use tonic::{
    Code, Status,
    client::Grpc,
    transport::{Channel, Endpoint},
};
use tonic_prost::ProstCodec;

/// Where the kubelet's socket lies.
pub const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";

/// Every Pod and what it was given: at the API's most Pods a node, far below this.
const LARGEST_ANSWER: usize = 16 << 20;

/// How long an answer may take. The kubelet answers from memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// The kubelet of this node.
#[derive(Clone, Debug)]
pub struct Kubelet {
    channel: Channel,
}

/// What the kubelet can hand out.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Allocatable {
    /// Devices by resource.
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<Devices>,
}

/// What it has handed out.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Assigned {
    /// Every running Pod, also those without devices.
    #[prost(message, repeated, tag = "1")]
    pub pods: Vec<PodDevices>,
}

/// Devices of one Pod.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PodDevices {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Namespace.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Its containers.
    #[prost(message, repeated, tag = "3")]
    pub containers: Vec<ContainerDevices>,
}

/// Devices of one container.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ContainerDevices {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// From device plugins.
    #[prost(message, repeated, tag = "2")]
    pub devices: Vec<Devices>,
    /// From DRA drivers.
    #[prost(message, repeated, tag = "5")]
    pub claims: Vec<Claim>,
}

/// Devices of one resource.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Devices {
    /// `nvidia.com/gpu`.
    #[prost(string, tag = "1")]
    pub resource: String,
    /// See [`super::device_id`].
    #[prost(string, repeated, tag = "2")]
    pub ids: Vec<String>,
}

/// A resource claim.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Claim {
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Namespace.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Its devices.
    #[prost(message, repeated, tag = "4")]
    pub devices: Vec<ClaimDevice>,
}

/// A device of a claim, named as its ResourceSlice names it.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ClaimDevice {
    /// `gpu.nvidia.com`.
    #[prost(string, tag = "2")]
    pub driver: String,
    /// Pool of the ResourceSlice; NVIDIA's driver uses the node's name.
    #[prost(string, tag = "3")]
    pub pool: String,
    /// Name in the pool: `gpu-0`.
    #[prost(string, tag = "4")]
    pub device: String,
}

/// A request without fields.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Nothing {}

/// Which Pod to get.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct PodName {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Namespace.
    #[prost(string, tag = "2")]
    pub namespace: String,
}

/// One Pod.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct OnePod {
    /// The Pod.
    #[prost(message, optional, tag = "1")]
    pub pod: Option<PodDevices>,
}

impl Kubelet {
    /// The kubelet behind that socket. It is connected to with the first question, and again whenever the
    /// kubelet was restarted.
    ///
    /// # Errors
    /// If the path cannot be part of an address.
    pub fn at(socket: &Path) -> Result<Self, tonic::transport::Error> {
        let address = format!("unix://{}", socket.display());
        let endpoint = Endpoint::from_shared(address)?.timeout(PATIENCE).connect_timeout(PATIENCE);
        Ok(Self { channel: endpoint.connect_lazy() })
    }

    /// What the kubelet can hand out, by device id. Devices that their plugin calls unhealthy are not in it.
    ///
    /// # Errors
    /// If the kubelet does not answer or does not serve the API.
    pub async fn allocatable(&self) -> Result<Allocatable, Status> {
        self.ask(Nothing {}, "/v1.PodResourcesLister/GetAllocatableResources").await
    }

    /// What it has handed out, by Pod.
    ///
    /// # Errors
    /// As [`Kubelet::allocatable`].
    pub async fn assigned(&self) -> Result<Assigned, Status> {
        self.ask(Nothing {}, "/v1.PodResourcesLister/List").await
    }

    /// What one Pod was given; `None` for a Pod that has ended or is not here.
    ///
    /// # Errors
    /// As [`Kubelet::allocatable`].
    pub async fn pod(&self, name: PodName) -> Result<Option<PodDevices>, Status> {
        match self.ask::<_, OnePod>(name, "/v1.PodResourcesLister/Get").await {
            Ok(found) => Ok(found.pod),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            // The kubelet answers Unknown with such a text for a Pod that it does not have (server_v1.go).
            Err(status) if status.message().contains("not found") => Ok(None),
            Err(status) => Err(status),
        }
    }

    async fn ask<Q, A>(&self, question: Q, path: &'static str) -> Result<A, Status>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_ANSWER);
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let codec = ProstCodec::<Q, A>::default();
        let answer =
            grpc.unary(tonic::Request::new(question), PathAndQuery::from_static(path), codec).await?;
        Ok(answer.into_inner())
    }
}
