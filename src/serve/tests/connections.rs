//! Protocols and slow clients.

use std::{
    io::{Read, Write},
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::{StatusCode, Version};
use rustls::ProtocolVersion;
use tokio::task::spawn_blocking;

use super::{
    client::{Tls, post},
    setting::{Scripted, pod, review},
};
use crate::{
    serve::{ExtenderPort, Limits, Options, ServeError, Server},
    telemetry::{self, Telemetry},
};

async fn start(options: Options) -> Server {
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    Server::start(options, Arc::new(Scripted::default()), telemetry).await.unwrap()
}

fn trusting(server: &Server) -> (SocketAddr, Tls) {
    (server.addresses().main, Tls::trusting(server.ca_pem().unwrap()))
}

/// Protocol and version that a client gets which offers these.
async fn negotiated(
    server: &Server,
    tls: Tls,
    alpn: &'static [&'static str],
) -> Option<(String, ProtocolVersion)> {
    let address = server.addresses().main;
    spawn_blocking(move || {
        let connected = tls.connect(address, alpn).ok()?;
        Some((connected.alpn().unwrap_or_default(), connected.version()?))
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_1_3_is_spoken_and_1_2_only_where_it_is_asked_for() {
    let strict = start(Options::on_loopback()).await;
    let lenient = start(Options { tls12: true, ..Options::on_loopback() }).await;
    let tls = |server: &Server| trusting(server).1;
    let both: &[&str] = &["h2", "http/1.1"];
    let newest = Some(("h2".to_owned(), ProtocolVersion::TLSv1_3));
    assert_eq!(negotiated(&strict, tls(&strict), both).await, newest);
    assert_eq!(negotiated(&lenient, tls(&lenient), both).await, newest);
    assert_eq!(negotiated(&strict, tls(&strict).only_1_2(), both).await, None);
    let older = Some(("h2".to_owned(), ProtocolVersion::TLSv1_2));
    assert_eq!(negotiated(&lenient, tls(&lenient).only_1_2(), both).await, older);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_1_is_all_that_is_offered_where_that_is_asked_for() {
    let server = start(Options { http1_only: true, ..Options::on_loopback() }).await;
    let (address, tls) = trusting(&server);
    let got = negotiated(&server, tls.clone(), &["h2", "http/1.1"]).await;
    assert_eq!(got, Some(("http/1.1".to_owned(), ProtocolVersion::TLSv1_3)));
    assert_eq!(negotiated(&server, tls.clone(), &["h2"]).await, None, "no protocol in common");
    let (code, version, _) =
        post(&tls.client(), address, "/mutate", review("CREATE", pod()).to_string()).await.unwrap();
    assert_eq!((code, version), (StatusCode::OK, Version::HTTP_11));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_protocols_get_the_same_answer() {
    let server = start(Options::on_loopback()).await;
    let (address, tls) = trusting(&server);
    let body = review("CREATE", pod()).to_string();
    let (code, version, second) = post(&tls.client(), address, "/mutate", body.clone()).await.unwrap();
    assert_eq!((code, version), (StatusCode::OK, Version::HTTP_2));
    let (code, version, first) = post(&tls.http1_client(), address, "/mutate", body).await.unwrap();
    assert_eq!((code, version), (StatusCode::OK, Version::HTTP_11));
    assert_eq!(first, second);
}

/// Reads until the server closes; gives how long that took, or `None` if it did not within ten seconds.
fn closed_after(stream: &mut impl Read) -> Option<Duration> {
    let started = Instant::now();
    let mut sink = Vec::new();
    match stream.read_to_end(&mut sink) {
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
        {
            None
        }
        _ => Some(started.elapsed()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_finish_its_head_is_cut_off() {
    let limits = Limits {
        first_request: Duration::from_millis(400),
        next_request: Duration::from_secs(60),
        ..Limits::default()
    };
    let server = start(Options { limits, ..Options::on_loopback() }).await;
    let (address, tls) = trusting(&server);
    spawn_blocking(move || {
        let mut slow = tls.connect(address, &["http/1.1"]).unwrap().0;
        slow.write_all(b"POST /mutate HTTP/1.1\r\nhost: loc").unwrap();
        let took = closed_after(&mut slow).expect("closed");
        assert!(took < Duration::from_secs(8), "{took:?}");

        let mut silent = tls.connect(address, &["h2"]).unwrap().0;
        let took = closed_after(&mut silent).expect("closed");
        assert!(took < Duration::from_secs(8), "{took:?}");

        // Control: a connection that has had its first answer may idle for longer.
        let mut idle = tls.connect(address, &["http/1.1"]).unwrap().0;
        for pause in [0, 900] {
            std::thread::sleep(Duration::from_millis(pause));
            idle.write_all(b"POST /mutate HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}")
                .unwrap();
            let mut start = [0; 12];
            idle.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"HTTP/1.1 400");
            let mut rest = [0; 4096];
            assert!(idle.read(&mut rest).unwrap() > 0);
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_trust_the_certificate_is_counted() {
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let source = Arc::new(Scripted::default());
    let server = Server::start(Options::on_loopback(), source, telemetry.clone()).await.unwrap();
    let (address, other) = (server.addresses().main, start(Options::on_loopback()).await);
    let (_, distrusting) = trusting(&other);
    spawn_blocking(move || assert!(distrusting.connect(address, &[]).is_err())).await.unwrap();
    drop(tokio::net::TcpStream::connect(address).await.unwrap());
    let counted = || {
        ["tls", "closed"].iter().all(|reason| {
            let line = format!("sluice_connection_failures_total{{reason=\"{reason}\"}} 1");
            telemetry.text().lines().any(|l| l == line)
        })
    };
    for _ in 0..200 {
        if counted() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not counted: {}", telemetry.text());
}

#[tokio::test]
async fn the_extender_s_own_port_is_never_open_to_the_network() {
    let port = ExtenderPort { address: ([0, 0, 0, 0], 0).into(), tls: false };
    let options = Options { extender: Some(port), ..Options::on_loopback() };
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let refused = Server::start(options, Arc::new(Scripted::default()), telemetry).await;
    assert!(matches!(refused, Err(ServeError::NotLoopback(_))));
}

#[tokio::test]
async fn an_address_in_use_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let options = Options { address: taken.local_addr().unwrap(), ..Options::on_loopback() };
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let refused = Server::start(options, Arc::new(Scripted::default()), telemetry).await;
    let text = refused.err().unwrap().to_string();
    assert!(text.starts_with("cannot listen on 127.0.0.1:") && text.contains("in use"), "{text}");
}
