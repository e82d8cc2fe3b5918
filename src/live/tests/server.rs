//! An API server of scripted answers, behind kube's own client.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{Request, Response, body::Frame};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::cluster::Kind;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// What the server holds and does. Clones are the same server.
#[derive(Clone, Default)]
pub(super) struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    kinds: BTreeMap<&'static str, KindState>,
    /// Paths that were asked for, with their query.
    asked: Vec<String>,
}

#[derive(Default)]
struct KindState {
    objects: Vec<Value>,
    /// Answers this status instead of what was asked.
    refuses: Option<u16>,
    /// Open watches.
    watches: Vec<mpsc::UnboundedSender<Bytes>>,
    /// Objects in a page, whatever the client asks for.
    page: Option<usize>,
}

impl Server {
    /// A client of this server.
    pub(super) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = server.answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }

    /// Puts objects into lists, without telling open watches.
    pub(super) fn hold(&self, kind: Kind, objects: impl IntoIterator<Item = Value>) {
        self.with(kind, |state| state.objects = objects.into_iter().collect());
    }

    /// Answers every list and watch of a kind with this status, until told otherwise.
    pub(super) fn refuse(&self, kind: Kind, status: Option<u16>) {
        self.with(kind, |state| state.refuses = status);
    }

    /// Gives lists in pages of so many objects.
    pub(super) fn page(&self, kind: Kind, size: usize) {
        self.with(kind, |state| state.page = Some(size));
    }

    /// Sends an event to the open watches.
    pub(super) fn tell(&self, kind: Kind, event: &str, object: &Value) {
        let line = format!("{}\n", json!({"type": event, "object": object}));
        self.with(kind, |state| {
            state.watches.retain(|watch| watch.send(Bytes::from(line.clone())).is_ok());
        });
    }

    /// Closes the open watches.
    pub(super) fn hang_up(&self, kind: Kind) {
        self.with(kind, |state| state.watches.clear());
    }

    /// Waits until a watch on the kind is open.
    pub(super) async fn watched(&self, kind: Kind) {
        for _ in 0..2_000 {
            if self.with(kind, |state| !state.watches.is_empty()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("nobody watches {kind}");
    }

    /// How often a path was asked for that contains this.
    pub(super) fn asked(&self, part: &str) -> usize {
        self.0.lock().unwrap().asked.iter().filter(|path| path.contains(part)).count()
    }

    fn with<T>(&self, kind: Kind, change: impl FnOnce(&mut KindState) -> T) -> T {
        change(self.0.lock().unwrap().kinds.entry(kind.row().plural).or_default())
    }

    fn answer(&self, request: &Request<Body>) -> Answer {
        let uri = request.uri();
        let plural = uri.path().rsplit('/').next().unwrap_or_default();
        let query = uri.query().unwrap_or_default();
        let mut state = self.0.lock().unwrap();
        state.asked.push(uri.to_string());
        let kind = Kind::ALL.into_iter().find(|kind| kind.row().plural == plural).expect("a known kind");
        // Only the version that is watched first is served.
        let path = format!("/{}/{plural}", kind.row().version);
        let kind = state.kinds.entry(kind.row().plural).or_default();
        let refuses = kind.refuses.or_else(|| (!uri.path().ends_with(&path)).then_some(404));
        if let Some(code) = refuses {
            return failure(code);
        }
        if query.contains("watch=true") {
            let (sender, receiver) = mpsc::unbounded_channel();
            kind.watches.push(sender);
            return stream(receiver);
        }
        kind.list(query)
    }
}

impl KindState {
    fn list(&self, query: &str) -> Answer {
        let from = query.split('&').find_map(|pair| pair.strip_prefix("continue=")).unwrap_or("0");
        let from: usize = from.parse().expect("our own token");
        let to = self.page.map_or(self.objects.len(), |size| (from + size).min(self.objects.len()));
        let token = (to < self.objects.len()).then(|| to.to_string());
        let list = json!({
            "kind": "List", "apiVersion": "v1",
            "metadata": {"resourceVersion": "1", "continue": token},
            // The API server does not repeat the kind in the items of a list.
            "items": self.objects[from..to].iter().map(without_kind).collect::<Vec<_>>(),
        });
        Response::new(whole(&list))
    }
}

fn without_kind(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(object) = object.as_object_mut() {
        object.remove("kind");
        object.remove("apiVersion");
    }
    object
}

fn failure(code: u16) -> Answer {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": "the test says so", "reason": "Test"});
    Response::builder().status(code).body(whole(&status)).expect("a response")
}

fn whole(value: &Value) -> UnsyncBoxBody<Bytes, Infallible> {
    Full::new(Bytes::from(value.to_string())).boxed_unsync()
}

fn stream(receiver: mpsc::UnboundedReceiver<Bytes>) -> Answer {
    let lines = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|line| (line, receiver))
    });
    let frames = lines.map(|line| Ok::<_, Infallible>(Frame::data(line)));
    Response::new(StreamBody::new(frames).boxed_unsync())
}
