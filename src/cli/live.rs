//! A live cluster: the client that kubeconfig or the Pod's ServiceAccount gives.

use anyhow::Context;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;

use crate::live::snapshot;

/// A client for a context of the kubeconfig; without a name for the ServiceAccount that we run under, or else
/// for the current context.
///
/// # Errors
/// Where there is no such context, or no configuration at all.
pub(super) async fn client(context: Option<&str>) -> anyhow::Result<Client> {
    let config = match context {
        Some(name) => {
            let options = KubeConfigOptions { context: Some(name.to_owned()), ..KubeConfigOptions::default() };
            Config::from_kubeconfig(&options).await.with_context(|| unknown_context(name))?
        }
        None => Config::infer().await.context(
            "no cluster: neither a ServiceAccount nor a kubeconfig; set KUBECONFIG, name a --context, or give --cluster FILE",
        )?,
    };
    Client::try_from(config).context("the cluster's configuration cannot be used")
}

/// The cluster of a context as documents, taken now.
///
/// # Errors
/// Where the API server does not answer or does not show a kind.
pub(super) async fn documents(context: Option<&str>) -> anyhow::Result<Vec<Value>> {
    let client = client(context).await?;
    let taken = snapshot::take(&client, &jiff::Timestamp::now().to_string()).await;
    taken.context("no snapshot; `kubectl auth can-i list` tells what you may see")
}

/// Runs what asks a cluster.
///
/// # Errors
/// Its own, and where no threads can be had.
pub(super) fn run<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Runtime::new().context("no threads")?.block_on(work)
}

fn unknown_context(name: &str) -> String {
    let known: Vec<String> = Kubeconfig::read()
        .map(|config| config.contexts.into_iter().map(|context| context.name).collect())
        .unwrap_or_default();
    match known.as_slice() {
        [] => format!("context {name:?} cannot be used, and no kubeconfig has any; set KUBECONFIG"),
        known => format!("context {name:?} cannot be used; there are {}", known.join(", ")),
    }
}
