//! List and watch of one kind, for ever.
//!
//! `kube::runtime::watcher` does the same and keeps to itself when a broken watch works again and when the
//! server was last heard of. The age of the picture depends on both, so the loop is our own; the protocol
//! (list in pages, watch from the list's version, list anew after 410 Gone) is that of the API concepts
//! page of Kubernetes.

use std::time::Duration;

use futures::{StreamExt, stream::BoxStream};
use kube::{
    Client, Error,
    api::{ListParams, WatchEvent, WatchParams},
};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::{
    cluster::Kind,
    live::{
        changes::{KindNews, News},
        object::{self, Object, in_full, paths},
    },
};

/// Objects in a page of a list. Small pages keep the memory low that a list needs beside the picture.
const PAGE: u32 = 250;

/// Seconds after which the server ends a watch. The start of the next one shows that it is still there.
pub(super) const WATCH_SECONDS: u32 = 60;

/// Silence after which a connection counts as dead: the server ends its watches before that.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);

/// How long a kind that the server does not have is left alone: first, and at most.
pub(super) const ABSENT: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(240)];

/// Pause before a list that the server asks for, should it ask again and again.
const RELIST: Duration = Duration::from_millis(100);

/// Watches one kind.
pub(super) struct ListWatch {
    kind: Kind,
    client: Client,
    to: mpsc::Sender<News>,
    /// Failures in a row.
    failures: u32,
    /// As [`ABSENT`].
    absent: [Duration; 2],
}

/// Why a list or a watch ended.
enum End {
    /// The watch ended as it should; the next one goes on from there.
    Done,
    /// The server no longer knows that version: list anew.
    Gone,
    /// The server does not have this kind in this version.
    Absent,
    /// Anything else.
    Failed(String),
    /// Nobody listens any more.
    Closed,
}

impl ListWatch {
    pub(super) fn new(kind: Kind, client: Client, to: mpsc::Sender<News>, absent: [Duration; 2]) -> Self {
        Self { kind, client, to, failures: 0, absent }
    }

    /// Runs until nobody listens any more.
    pub(super) async fn run(mut self) {
        let mut absent = self.absent[0];
        loop {
            match self.follow_any().await {
                End::Closed => return,
                End::Absent => {}
                _ => {
                    absent = self.absent[0];
                    sleep(RELIST).await;
                    continue;
                }
            }
            if self.tell(KindNews::Unavailable).await.is_err() {
                return;
            }
            sleep(absent).await;
            absent = (absent * 2).min(self.absent[1]);
        }
    }

    /// Follows the first version of the kind that the server has.
    async fn follow_any(&mut self) -> End {
        for path in paths(self.kind) {
            match self.follow(&path).await {
                End::Absent => {}
                end => return end,
            }
        }
        End::Absent
    }

    /// Lists and watches one version of the kind. Ends when the server turns out not to have it, when the
    /// list has to be made anew, or when nobody listens.
    async fn follow(&mut self, path: &str) -> End {
        let mut version = loop {
            match self.list(path).await {
                Ok(version) => break version,
                Err(End::Failed(error)) => {
                    if let Err(end) = self.broken(error).await {
                        return end;
                    }
                }
                Err(end) => return end,
            }
        };
        loop {
            match self.watch(path, &mut version).await {
                End::Done => self.failures = 0,
                End::Failed(error) => {
                    if let Err(end) = self.broken(error).await {
                        return end;
                    }
                }
                end => return end,
            }
        }
    }

    async fn list(&mut self, path: &str) -> Result<String, End> {
        self.tell(KindNews::ListBegins).await?;
        let mut page = ListParams { limit: Some(PAGE), ..ListParams::default() };
        loop {
            let list = match timeout(SILENCE, object::list(&self.client, path, &page)).await {
                Ok(answer) => answer.map_err(End::of_list)?,
                Err(_) => return Err(End::Failed("no answer".to_owned())),
            };
            page.continue_token = list.next();
            let version = list.metadata.resource_version.clone();
            for object in list.objects() {
                self.tell(KindNews::Listed(object)).await?;
            }
            if page.continue_token.is_none() {
                self.tell(KindNews::ListEnds).await?;
                self.failures = 0;
                return Ok(version.unwrap_or_default());
            }
        }
    }

    async fn watch(&mut self, path: &str, version: &mut String) -> End {
        let parameters =
            WatchParams { bookmarks: true, timeout: Some(WATCH_SECONDS), ..WatchParams::default() };
        let stream = match timeout(SILENCE, object::watch(&self.client, path, &parameters, version)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return error.into(),
            Err(_) => return End::Failed("no answer".to_owned()),
        };
        if let Err(end) = self.tell(KindNews::Contact).await {
            return end;
        }
        self.read(stream, version).await
    }

    async fn read(
        &mut self,
        mut stream: BoxStream<'static, Result<WatchEvent<Object>, Error>>,
        version: &mut String,
    ) -> End {
        loop {
            let event = match timeout(SILENCE, stream.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => return error.into(),
                Ok(None) => return End::Done,
                Err(_) => return End::Failed(format!("silent for {} s", SILENCE.as_secs())),
            };
            let news = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    *version = object.version();
                    KindNews::Applied(object)
                }
                WatchEvent::Deleted(object) => {
                    *version = object.version();
                    KindNews::Deleted(object)
                }
                WatchEvent::Bookmark(bookmark) => {
                    *version = bookmark.metadata.resource_version;
                    KindNews::Contact
                }
                WatchEvent::Error(status) if status.code == 410 => return End::Gone,
                WatchEvent::Error(status) => return End::Failed(status.message),
            };
            if let Err(end) = self.tell(news).await {
                return end;
            }
        }
    }

    /// Tells that the watch is broken, and waits before the next attempt.
    async fn broken(&mut self, error: String) -> Result<(), End> {
        self.tell(KindNews::Broken(error)).await?;
        sleep(self.pause()).await;
        Ok(())
    }

    /// Twice as long after every failure, up to eight seconds; kinds do not come back in step.
    fn pause(&mut self) -> Duration {
        let doubled = 500 << self.failures.min(4);
        self.failures = self.failures.saturating_add(1);
        Duration::from_millis(doubled + self.kind as u64 * 23)
    }

    async fn tell(&self, news: KindNews) -> Result<(), End> {
        self.to.send(News::Kind(self.kind, news)).await.map_err(|_| End::Closed)
    }
}

impl End {
    /// A list whose continue token expired is begun anew, but not at once.
    fn of_list(error: Error) -> Self {
        match Self::from(error) {
            Self::Gone => Self::Failed("the list expired between two pages".to_owned()),
            other => other,
        }
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        match &error {
            Error::Api(status) if status.code == 410 => Self::Gone,
            Error::Api(status) if status.code == 404 => Self::Absent,
            Error::Api(status) if status.code == 403 => {
                Self::Failed(format!("forbidden: {}", status.message))
            }
            _ => Self::Failed(in_full(&error)),
        }
    }
}
