//! Questions of the scheduler, put to a server that listens: what stands in a fixture is what goes over the wire.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use sluice::{
    serve::{ExtenderPort, Fixed, Options, Server},
    telemetry::Telemetry,
    world::World,
};

use super::fixture::{Fixture, Question};

/// Sentences on every answer that is not as expected.
pub fn differences(fixture: &Fixture, world: World) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut options = Options::on_loopback();
    options.extender = Some(ExtenderPort { address: SocketAddr::from(([127, 0, 0, 1], 0)), tls: false });
    let source = Arc::new(Fixed::new(Arc::new(world)));
    let telemetry = Arc::new(Telemetry::new(sluice::telemetry::Options::default()));
    let server = runtime.block_on(Server::start(options, source, telemetry)).unwrap();
    let address = server.addresses().extender.unwrap();
    let wrong = fixture.extender.iter().flat_map(|question| of_one(address, question)).collect();
    runtime.block_on(server.shutdown(Duration::ZERO));
    wrong
}

fn of_one(address: SocketAddr, question: &Question) -> Vec<String> {
    let Question { verb, ask, answer: want } = question;
    let is = post(address, &format!("/scheduler/{verb}"), &ask.to_string());
    let Some(fields) = want.as_object() else {
        return if is == *want { vec![] } else { vec![format!("{verb} answers {is}, expected {want}")] };
    };
    let differs = |(key, want): &(&String, &Value)| is[key.as_str()] != **want;
    fields
        .iter()
        .filter(differs)
        .map(|(key, want)| format!("{verb} answers {key} {}, expected {want}", is[key.as_str()]))
        .collect()
}

/// The answer, which must be a 200 whose body is as long as its head says.
fn post(address: SocketAddr, path: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: extender\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{text}");
    assert!(head.to_ascii_lowercase().contains(&format!("\r\ncontent-length: {}", body.len())), "{text}");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}
