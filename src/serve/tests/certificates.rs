//! Certificates that are swapped under a server that serves.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, pem::PemObject};

use super::{
    client::{Tls, post},
    setting::{Scripted, pod, review},
};
use crate::{
    serve::{Callers, CertificateError, Certificates, Options, ServeError, Server, certificates::Pair},
    telemetry::{self, Telemetry},
};

/// A root, and an intermediate that signs.
struct Authority {
    root_pem: String,
    intermediate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A chain and its key.
#[derive(Clone)]
struct Files {
    chain: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let ca = || {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            (params, KeyPair::generate().unwrap())
        };
        let ((root, root_key), (intermediate, intermediate_key)) = (ca(), ca());
        let root_pem = root.self_signed(&root_key).unwrap().pem();
        let intermediate_pem =
            intermediate.signed_by(&intermediate_key, &Issuer::new(root, root_key)).unwrap().pem();
        Self { root_pem, intermediate_pem, issuer: Issuer::new(intermediate, intermediate_key) }
    }

    /// A certificate for that name, with the intermediate after it.
    fn issue(&self, name: &str) -> Files {
        let key = KeyPair::generate().unwrap();
        let leaf =
            CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        Files { chain: format!("{}{}", leaf.pem(), self.intermediate_pem), key: key.serialize_pem() }
    }
}

impl Files {
    fn leaf(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.chain.as_bytes()).unwrap()
    }

    fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("tls.crt"), &self.chain).unwrap();
        fs::write(folder.join("tls.key"), &self.key).unwrap();
    }
}

/// A Secret as kubelet mounts it: the files link to `..data`, which links to a folder of this version.
struct Mount(PathBuf);

impl Mount {
    fn new(folder: &Path, files: &Files) -> Self {
        let mount = Self(folder.to_owned());
        mount.swap("..v0", files);
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
        mount
    }

    fn swap(&self, version: &str, files: &Files) {
        files.write(&self.0.join(version));
        let before = fs::read_link(self.0.join("..data"));
        symlink(version, self.0.join("..data_tmp")).unwrap();
        fs::rename(self.0.join("..data_tmp"), self.0.join("..data")).unwrap();
        if let Ok(before) = before {
            fs::remove_dir_all(self.0.join(before)).unwrap();
        }
    }
}

fn options(folder: &Path, poll: Duration) -> Options {
    let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    Options { certificates: Certificates::Files { chain, key, poll }, ..Options::on_loopback() }
}

async fn start(options: Options) -> Result<(Server, Arc<Telemetry>), ServeError> {
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    Ok((Server::start(options, Arc::new(Scripted::default()), telemetry.clone()).await?, telemetry))
}

/// Waits until the server presents that certificate; blocks.
fn presents(tls: &Tls, address: SocketAddr, files: &Files) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if tls.connect(address, &[]).is_ok_and(|connected| connected.chain()[0] == files.leaf()) {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Shakes hands all the time until it is told to end; gives tries and failures.
fn shake_hands(tls: Tls, address: SocketAddr, end: Arc<AtomicBool>) -> thread::JoinHandle<(usize, usize)> {
    thread::spawn(move || {
        let (mut tries, mut failures) = (0, 0);
        while !end.load(Ordering::Relaxed) {
            tries += 1;
            failures += usize::from(tls.connect(address, &[]).is_err());
        }
        (tries, failures)
    })
}

const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread")]
async fn three_swaps_in_a_row_with_a_broken_pair_between_are_taken_without_a_failed_handshake() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let first = authority.issue("localhost");
    let mount = Mount::new(folder.path(), &first);
    // Without polling: each swap must be noticed by the watch.
    let (server, telemetry) = start(options(folder.path(), NEVER)).await.unwrap();
    let (address, tls) = (server.addresses().main, Tls::trusting(&authority.root_pem));
    tokio::task::spawn_blocking(move || {
        assert!(presents(&tls, address, &first));
        let end = Arc::new(AtomicBool::new(false));
        let shaking = shake_hands(tls.clone(), address, end.clone());
        let second = authority.issue("localhost");
        mount.swap("..v1", &second);
        assert!(presents(&tls, address, &second), "first swap");
        let broken = Files { chain: authority.issue("localhost").chain, key: second.key.clone() };
        mount.swap("..v2", &broken);
        let failed = "sluice_tls_cert_reloads_total{result=\"failure\"} 1";
        let noticed = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(20));
            telemetry.text().contains(failed)
        });
        assert!(noticed, "the broken pair was noticed");
        assert!(presents(&tls, address, &second), "and the one before is kept");
        for version in ["..v3", "..v4"] {
            let next = authority.issue("localhost");
            mount.swap(version, &next);
            assert!(presents(&tls, address, &next), "{version}");
        }
        end.store(true, Ordering::Relaxed);
        let (tries, failures) = shaking.join().unwrap();
        assert!(tries > 10 && failures == 0, "{failures} of {tries} handshakes failed");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_watch_tells_is_found_by_looking_now_and_then() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let (first, second) = (authority.issue("localhost"), authority.issue("localhost"));
    first.write(&folder.path().join("one"));
    second.write(&folder.path().join("two"));
    let link = folder.path().join("current");
    symlink("one", &link).unwrap();
    // The watch follows the link to the first folder; that the link itself is swapped is no event there.
    let swap = |link: &Path| {
        symlink("two", link.with_extension("new")).unwrap();
        fs::rename(link.with_extension("new"), link).unwrap();
    };
    let (deaf, _) = start(options(&link, NEVER)).await.unwrap();
    let (polling, _) = start(options(&link, Duration::from_millis(50))).await.unwrap();
    let (deaf, polling) = (deaf.addresses().main, polling.addresses().main);
    let tls = Tls::trusting(&authority.root_pem);
    tokio::task::spawn_blocking(move || {
        assert!(presents(&tls, polling, &first) && presents(&tls, deaf, &first));
        thread::sleep(Duration::from_millis(300));
        swap(&link);
        assert!(presents(&tls, polling, &second));
        let still = tls.connect(deaf, &[]).map(|connected| connected.chain()[0].clone());
        assert_eq!(still.ok(), Some(first.leaf()), "control: the watch alone did not notice");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_intermediate_is_sent_along_so_that_trusting_the_root_is_enough() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let files = authority.issue("localhost");
    files.write(folder.path());
    let (server, telemetry) = start(options(folder.path(), NEVER)).await.unwrap();
    let (address, tls) = (server.addresses().main, Tls::trusting(&authority.root_pem));
    let chain =
        tokio::task::spawn_blocking(move || tls.connect(address, &[]).unwrap().chain()).await.unwrap();
    assert_eq!(chain.len(), 2);
    assert!(telemetry.text().contains("sluice_tls_cert_not_after_seconds "), "{}", telemetry.text());
}

#[tokio::test]
async fn a_server_without_a_usable_certificate_does_not_start() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let good = authority.issue("localhost");
    let refuses = async |files: Files| {
        files.write(folder.path());
        start(options(folder.path(), NEVER)).await.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let text = refuses(Files { chain: "no PEM".to_owned(), ..good.clone() }).await;
    assert_eq!(text, "certificate: there is none");
    let text = refuses(Files { key: authority.issue("localhost").key, ..good.clone() }).await;
    assert!(text.starts_with("certificate and key: "), "{text}");
    let text = refuses(Files { key: String::new(), ..good.clone() }).await;
    assert!(text.starts_with("private key: "), "{text}");
    fs::remove_file(folder.path().join("tls.crt")).unwrap();
    let text = start(options(folder.path(), NEVER)).await.err().unwrap().to_string();
    assert!(text.contains("tls.crt: No such file"), "{text}");
    assert_eq!(refuses(good).await, "", "control: a good pair starts");
}

#[test]
fn a_certificate_that_has_ended_is_not_taken() {
    let files = Authority::new().issue("localhost");
    let read = |now| Pair::read(files.chain.as_bytes(), files.key.as_bytes(), now);
    let end = read(0).unwrap().not_after;
    assert!(matches!(read(end), Err(CertificateError::Ended(at)) if at == end));
    assert!(read(end - 1).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_callers_of_the_authority_with_an_expected_name_are_let_in() {
    let (folder, authority, stranger) = (tempfile::tempdir().unwrap(), Authority::new(), Authority::new());
    authority.issue("localhost").write(folder.path());
    let callers = folder.path().join("callers.crt");
    fs::write(&callers, &authority.root_pem).unwrap();
    let options = Options {
        callers: Some(Callers { authority: callers.clone(), names: vec!["kube-apiserver".to_owned()] }),
        ..options(folder.path(), Duration::from_millis(50))
    };
    let (server, _) = start(options).await.unwrap();
    let address = server.addresses().main;
    let tls = Tls::trusting(&authority.root_pem);
    let caller = |files: &Files| tls.clone().presenting(&files.chain, &files.key);
    let let_in = async |tls: Tls| {
        post(&tls.client(), address, "/validate", review("CREATE", pod()).to_string()).await.is_ok()
    };
    let rightful = caller(&authority.issue("kube-apiserver"));
    let of_stranger = caller(&stranger.issue("kube-apiserver"));
    assert!(let_in(rightful.clone()).await);
    assert!(!let_in(tls.clone()).await, "without a certificate");
    assert!(!let_in(caller(&authority.issue("somebody"))).await, "with another name");
    assert!(!let_in(of_stranger.clone()).await, "of another authority");
    // The authority of callers is swapped without a restart, too.
    fs::write(&callers, &stranger.root_pem).unwrap();
    let tries = AtomicUsize::new(0);
    while !let_in(of_stranger.clone()).await {
        assert!(tries.fetch_add(1, Ordering::Relaxed) < 200, "the new authority is never taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!let_in(rightful).await, "the authority before is no more");
}
