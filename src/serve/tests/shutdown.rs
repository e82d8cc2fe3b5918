//! The end of a server under load.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use http_body_util::{BodyExt, Empty};
use hyper::{Request, StatusCode, body::Bytes};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::time::sleep;

use super::{
    client::{Https, Tls, post},
    setting::{Mood, Scripted, pod, review},
};
use crate::{
    serve::{Options, Server},
    telemetry::{self, Telemetry},
};

struct Replica {
    server: Server,
    source: Arc<Scripted>,
}

async fn replica() -> Replica {
    let source = Arc::new(Scripted::default());
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let server = Server::start(Options::on_loopback(), source.clone(), telemetry).await.unwrap();
    Replica { server, source }
}

/// What `/readyz` says; `None` where nobody answers.
async fn readiness(status: SocketAddr) -> Option<(StatusCode, String)> {
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::get(format!("http://{status}/readyz")).body(Empty::new()).unwrap();
    let response = client.request(request).await.ok()?;
    let code = response.status();
    let text = response.into_body().collect().await.ok()?.to_bytes();
    Some((code, String::from_utf8_lossy(&text).into_owned()))
}

/// A Service in front of two replicas: a connection goes to the first while it is ready, as far as known.
struct Service {
    first: (SocketAddr, Https),
    second: (SocketAddr, Https),
    first_is_ready: AtomicBool,
    end: AtomicBool,
    answered: [AtomicUsize; 2],
    failed: AtomicUsize,
}

impl Service {
    /// Posts over and over, on kept connections.
    async fn load(&self) {
        while !self.end.load(Ordering::Relaxed) {
            let first = self.first_is_ready.load(Ordering::Relaxed);
            let (address, client) = if first { &self.first } else { &self.second };
            match post(client, *address, "/validate", review("CREATE", pod()).to_string()).await {
                Ok((StatusCode::OK, ..)) => {
                    self.answered[usize::from(!first)].fetch_add(1, Ordering::Relaxed)
                }
                _ => self.failed.fetch_add(1, Ordering::Relaxed),
            };
        }
    }

    /// Until that replica has answered so many.
    async fn until_answered(&self, replica: usize, count: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.answered[replica].load(Ordering::Relaxed) < count {
            assert!(Instant::now() < end, "replica {replica} answers too few");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Learns of readiness as a cluster does: by asking, and late.
    async fn learn(&self, status: SocketAddr) {
        while !self.end.load(Ordering::Relaxed) {
            let ready = readiness(status).await.is_some_and(|(code, _)| code == StatusCode::OK);
            sleep(Duration::from_millis(100)).await;
            self.first_is_ready.store(ready, Ordering::Relaxed);
        }
    }
}

async fn rolling_restart(client: fn(&Tls) -> Https) {
    let (first, second) = (replica().await, replica().await);
    let status = first.server.addresses().status.unwrap();
    let reach = |replica: &Replica| {
        (replica.server.addresses().main, client(&Tls::trusting(replica.server.ca_pem().unwrap())))
    };
    let service = Arc::new(Service {
        first: reach(&first),
        second: reach(&second),
        first_is_ready: AtomicBool::new(true),
        end: AtomicBool::new(false),
        answered: Default::default(),
        failed: AtomicUsize::new(0),
    });
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let service = service.clone();
        tasks.push(tokio::spawn(async move { service.load().await }));
    }
    let learning = service.clone();
    tasks.push(tokio::spawn(async move { learning.learn(status).await }));
    service.until_answered(0, 20).await;
    first.server.shutdown(Duration::from_secs(2)).await;
    service.until_answered(1, 20).await;
    service.end.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    let answered = service.answered.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(service.failed.load(Ordering::Relaxed), 0, "failed, beside {answered:?} answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_lost_while_one_of_two_replicas_goes_http_1_1() {
    rolling_restart(Tls::http1_client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_lost_while_one_of_two_replicas_goes_http_2() {
    rolling_restart(Tls::client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_keeps_serving_it_is_unready_and_says_why_and_still_answers() {
    let replica = replica().await;
    let (addresses, tls) = (replica.server.addresses(), Tls::trusting(replica.server.ca_pem().unwrap()));
    let status = addresses.status.unwrap();
    assert_eq!(readiness(status).await.unwrap().0, StatusCode::OK);
    let ending = tokio::spawn(replica.server.shutdown(Duration::from_secs(2)));
    sleep(Duration::from_millis(100)).await;
    let (code, text) = readiness(status).await.unwrap();
    assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(text.contains("missing: shutting down\n"), "{text}");
    let answer =
        post(&tls.http1_client(), addresses.main, "/mutate", review("CREATE", pod()).to_string()).await;
    assert_eq!(answer.unwrap().0, StatusCode::OK);
    ending.await.unwrap();
    let answer =
        post(&tls.http1_client(), addresses.main, "/mutate", review("CREATE", pod()).to_string()).await;
    assert!(answer.is_err(), "control: afterwards nobody answers");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_flight_is_waited_for() {
    let Replica { server, source } = replica().await;
    let (address, tls) = (server.addresses().main, Tls::trusting(server.ca_pem().unwrap()));
    source.is(Mood::Slow(Duration::from_millis(600)));
    let asking = tokio::spawn(async move {
        post(&tls.http1_client(), address, "/mutate", review("CREATE", pod()).to_string()).await
    });
    while source.loads.load(Ordering::Relaxed) == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    let started = Instant::now();
    server.shutdown(Duration::ZERO).await;
    assert!(started.elapsed() > Duration::from_millis(300), "{:?}", started.elapsed());
    assert_eq!(asking.await.unwrap().unwrap().0, StatusCode::OK);
}
