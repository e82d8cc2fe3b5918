//! A picture from a file: for `--cluster`, read once or followed.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{sync::mpsc, time::sleep};

use crate::{
    cluster::{Cluster, ReadError},
    k8s::yaml::{self, Fault},
    live::changes::News,
};

/// Why a picture cannot be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The text is no YAML or JSON.
    #[error("{path}:{fault}", path = .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong there.
        fault: Fault,
    },
    /// Objects cannot be read.
    #[error("{path}: {problems}", path = .path.display(), problems = list(.errors))]
    Objects {
        /// The file.
        path: PathBuf,
        /// All that are wrong.
        errors: Vec<ReadError>,
    },
}

/// How often a followed file is looked at. Polling also sees a ConfigMap's swapped link, and editors that
/// write by rename.
const LOOK: Duration = Duration::from_secs(1);

/// Reads the picture of a file: any number of Kubernetes objects or Lists, as kubectl prints them in YAML
/// or JSON, or a snapshot.
///
/// # Errors
/// Every object that cannot be read, or the first place where the text is none.
pub fn read_cluster(path: &Path) -> Result<Cluster, FileError> {
    read(path).map(|(_, cluster)| cluster)
}

/// The text of a file and its picture.
pub(super) fn read(path: &Path) -> Result<(String, Cluster), FileError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| FileError::Io { path: path.to_owned(), error })?;
    let cluster = parse(path, &text)?;
    Ok((text, cluster))
}

/// Sends the picture, and another one whenever the file's text changes, until nobody listens.
pub(super) async fn follow(path: PathBuf, mut known: String, first: Cluster, to: mpsc::Sender<News>) {
    if to.send(News::Whole(Box::new(first))).await.is_err() {
        return;
    }
    let mut told = String::new();
    loop {
        sleep(LOOK).await;
        // A file that is away for a moment is being replaced.
        let Ok(text) = tokio::fs::read_to_string(&path).await else { continue };
        if text == known {
            continue;
        }
        known = text;
        match parse(&path, &known) {
            Ok(cluster) => {
                tracing::info!(path = %path.display(), "picture read again");
                if to.send(News::Whole(Box::new(cluster))).await.is_err() {
                    return;
                }
            }
            Err(error) if error.to_string() == told => {}
            Err(error) => {
                told = error.to_string();
                tracing::warn!(error = told, "picture not read; the one before stays");
            }
        }
    }
}

fn parse(path: &Path, text: &str) -> Result<Cluster, FileError> {
    let documents: Result<Vec<_>, Fault> =
        yaml::documents(text).map(|document| document.map(|document| document.value)).collect();
    let documents = documents.map_err(|fault| FileError::Syntax { path: path.to_owned(), fault })?;
    Cluster::from_documents(documents).map_err(|errors| FileError::Objects { path: path.to_owned(), errors })
}

fn list(errors: &[ReadError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
