//! The server of these stories, in this process: the shipped router, TLS, engine and extender over a picture
//! that a story takes when it wants one, so that a World n and a World n+1 can be told apart. The running program
//! with watches of its own is at work in `tests/cluster/server.rs`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use sluice::cluster::Cluster;
use sluice::live::policies::PolicyFolder;
use sluice::serve::{Certificates, Enough, ExtenderPort, Options, Readiness, Server, Source, Waited};
use sluice::telemetry::Telemetry;
use sluice::world::World;

use crate::harness::controlplane::ControlPlane;
use crate::harness::http::{RUNTIME, block_on};
use crate::harness::metrics;

struct Shot(RwLock<Arc<World>>);

impl Source for Shot {
    fn load(&self) -> Arc<World> {
        self.0.read().unwrap().clone()
    }
    fn is_ready(&self) -> bool {
        true
    }
    fn readiness(&self) -> Readiness {
        Readiness::default()
    }
    fn wait_for<'a>(&'a self, _enough: Enough<'a>, _at_most: Duration) -> Waited<'a> {
        Box::pin(std::future::ready(self.load()))
    }
}

pub struct Serving {
    server: Mutex<Option<Server>>,
    main: SocketAddr,
    extender: SocketAddr,
    shot: Arc<Shot>,
    telemetry: Arc<Telemetry>,
}

impl Serving {
    pub fn start(plane: &ControlPlane, policies: &Path) -> Serving {
        let set =
            PolicyFolder::new(policies, sluice::rules::ids()).load().unwrap_or_else(|e| panic!("{e:#?}"));
        let world = World::new(Arc::new(set), Cluster::from_documents(vec![]).unwrap());
        Serving::of(plane, world)
    }

    pub fn of_picture(plane: &ControlPlane, policies: &Path, picture: &serde_json::Value) -> Serving {
        let set =
            PolicyFolder::new(policies, sluice::rules::ids()).load().unwrap_or_else(|e| panic!("{e:#?}"));
        let world = World::new(Arc::new(set), Cluster::from_documents(vec![picture.clone()]).unwrap());
        Serving::of(plane, world)
    }

    fn of(plane: &ControlPlane, world: World) -> Serving {
        let shot = Arc::new(Shot(RwLock::new(Arc::new(world))));
        let telemetry = Arc::new(Telemetry::new(Default::default()));
        let mut options = Options::on_loopback();
        options.extender = Some(ExtenderPort { address: SocketAddr::from(([127, 0, 0, 1], 0)), tls: false });
        options.certificates = Certificates::Files {
            chain: plane.pki().file("serving.crt").into(),
            key: plane.pki().file("serving.key").into(),
            poll: Duration::from_secs(60),
        };
        let _in = RUNTIME.enter();
        let server = block_on(Server::start(options, shot.clone(), telemetry.clone())).unwrap();
        let addresses = server.addresses();
        Serving {
            server: Mutex::new(Some(server)),
            main: addresses.main,
            extender: addresses.extender.unwrap(),
            shot,
            telemetry,
        }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.main.port())
    }

    pub fn extender(&self) -> String {
        self.extender.to_string()
    }

    pub fn until_current(&self, plane: &ControlPlane) {
        let kinds = "nodes,priorityclasses,poddisruptionbudgets,namespaces,pods,deployments,replicasets";
        let list = plane.kubectl().get(&[kinds, "-A"]);
        let cluster = Cluster::from_documents(vec![list]).unwrap();
        let next = self.shot.load().with_cluster(cluster);
        *self.shot.0.write().unwrap() = Arc::new(next);
    }

    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        metrics::sum(&self.telemetry.text(), name, labels)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let server = self.server.lock().unwrap().take();
        let _in = RUNTIME.enter();
        drop(server);
    }
}
