//! A road between a client and the API server on which things can go wrong: late or cut.
//!
//! It carries bytes, so TLS stays end to end. Everything that the server says is late by the same time, watch
//! events and answers alike; what the client says is not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::components::free_port;
use super::controlplane::ControlPlane;
use super::http::{RUNTIME, block_on};

/// A road to the API server of a control plane; gone when dropped.
pub struct Route {
    port: u16,
    target: String,
    state: Arc<watch::Sender<State>>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open { late: Duration },
    Cut,
}

impl Route {
    /// A road on which everything that the server says arrives `late`.
    pub fn start(plane: &ControlPlane, late: Duration) -> Route {
        let port = free_port();
        let target = plane.server().trim_start_matches("https://").to_string();
        let state = Arc::new(watch::Sender::new(State::Open { late }));
        let listener = block_on(TcpListener::bind(("127.0.0.1", port))).expect("a free port");
        let accepting = RUNTIME.spawn(accept(listener, target.clone(), state.clone()));
        Route { port, target, state, accepting }
    }

    /// A copy of a kubeconfig of the control plane that takes this road.
    pub fn kubeconfig(&self, direct: &Path) -> PathBuf {
        let text = std::fs::read_to_string(direct).expect("a kubeconfig of the control plane");
        let mut config: Value = serde_json::from_str(&text).expect("the harness writes kubeconfigs as JSON");
        config["clusters"][0]["cluster"]["server"] = json!(format!("https://127.0.0.1:{}", self.port));
        let path = direct.with_extension(format!("by-{}", self.port));
        std::fs::write(&path, config.to_string()).expect("a kubeconfig");
        path
    }

    /// Ends every connection and refuses new ones.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Opens the road again, with this lateness; existing connections take it on.
    pub fn open(&self, late: Duration) {
        self.state.send_replace(State::Open { late });
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        self.cut();
        self.accepting.abort();
    }
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "127.0.0.1:{} → {}: {:?}", self.port, self.target, *self.state.borrow())
    }
}

async fn accept(listener: TcpListener, target: String, state: Arc<watch::Sender<State>>) {
    while let Ok((client, _)) = listener.accept().await {
        if *state.borrow() == State::Cut {
            continue;
        }
        let Ok(server) = TcpStream::connect(&target).await else { continue };
        tokio::spawn(carry(client, server, state.subscribe()));
    }
}

/// Carries bytes both ways until one side ends or the road is cut.
async fn carry(client: TcpStream, server: TcpStream, mut state: watch::Receiver<State>) {
    // Small writes must not wait for each other: the lateness is to be ours alone.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let lateness = state.clone();
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
        () = delay(from_server, to_client, lateness) => {}
        _ = state.wait_for(|state| *state == State::Cut) => {}
    }
}

/// Each piece leaves after its own time of arrival plus the lateness, so that lateness does not add up.
async fn delay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: watch::Receiver<State>) {
    let (pieces, mut waiting) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let State::Open { late } = *state.borrow() else { return };
            if pieces.send((Instant::now() + late, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    };
    let write = async move {
        while let Some((due, piece)) = waiting.recv().await {
            sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
