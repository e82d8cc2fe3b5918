//! The certificate is renewed while the program runs.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::harness::eventually::{A_WHILE, SOON, eventually};
use crate::harness::http::Http;
use crate::harness::pki::{Pair, Pki};
use crate::harness::sluice::Sluice;
use crate::harness::webhooks::at_loopback;
use crate::stories::fleet::h100;
use crate::stories::gate::Gate;
use crate::stories::samples::{image, pod};
use crate::stories::shipped::{NAMESPACE, Overlay};

// Long because it is one story: three swaps in a row, with the API server asking all the time.
pub fn a_certificate_is_renewed_while_reviews_go_on(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded()]);
    let namespace = gate.plane.namespace("renewal");
    let next = Pki::create(&gate.plane.folder().join("next"));
    let mounted = tempfile::tempdir_in(gate.plane.folder()).expect("a folder");
    let tls = mounted.path().join("tls");
    std::fs::create_dir_all(&tls).expect("a folder");
    let names = ["localhost", "127.0.0.1"];
    mount(&tls, "1", &gate.plane.pki().serving(&names));

    let kubeconfig = gate.plane.kubeconfig_of_service_account(NAMESPACE, "sluice");
    let mut arguments = Overlay::build(&gate.plane, "enforce").arguments("sluice", mounted.path());
    arguments.retain(|argument| !argument.starts_with("--policies="));
    let sluice = Sluice::serve(&gate.plane, &kubeconfig, &arguments).until_ready();
    // As docs/installation.md renews: both authorities are trusted before the pair is swapped.
    let both = BASE64.encode(format!("{}{}", next.ca(), gate.plane.pki().ca()));
    let shipped = gate.plane.kubectl().kustomize("webhook-config");
    gate.put(&at_loopback(&shipped, sluice.url(), &both));
    let is_of = |authority: &Pki| Http::trusting(&authority.ca()).get(sluice.url()).is_ok();
    assert!(
        is_of(gate.plane.pki()) && !is_of(&next),
        "the control: who trusts the next authority alone waits"
    );

    let llm = pod("llm", image::LLM, 1).within(&namespace);
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    // The second answer from now on is one to a question that was put later than now.
    let reviewed = || {
        let before = answered.load(Ordering::Relaxed);
        eventually(A_WHILE, "a review", || answered.load(Ordering::Relaxed) >= before + 2);
    };
    let asked = std::thread::scope(|scope| {
        let end = End(&done);
        let asking = scope.spawn(|| {
            let mut answers = Vec::new();
            while !done.load(Ordering::Relaxed) {
                answers.push(gate.plane.kubectl().dry_run(&llm));
                answered.fetch_add(1, Ordering::Relaxed);
            }
            answers
        });
        swap_three_times(&sluice, &tls, &next, &is_of, &reviewed);
        drop(end);
        asking.join().expect("it only asks")
    });
    asked.iter().for_each(|answer| drop(answer.succeeded()));
    assert!(!is_of(gate.plane.pki()), "the pair before is no longer shown");
}

/// Says that it is over when it goes, after a failure too.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A good pair of another authority, a certificate with somebody else's key, and a good one again.
fn swap_three_times(
    sluice: &Sluice,
    tls: &Path,
    next: &Pki,
    is_of: &dyn Fn(&Pki) -> bool,
    reviewed: &dyn Fn(),
) {
    let reloads = |result| sluice.metric("sluice_tls_cert_reloads_total", &[("result", result)]);
    let names = ["localhost", "127.0.0.1"];
    let good = next.serving(&names);
    let before = reloads("success");
    mount(tls, "2", &good);
    eventually(SOON, "the next authority's pair to be shown", || is_of(next));
    assert_eq!(reloads("success"), before + 1.0);
    reviewed();

    mount(tls, "3", &Pair { key: next.serving(&names).key, ..good });
    eventually(SOON, "the fault to be counted", || reloads("failure") == 1.0);
    assert!(is_of(next), "the last good pair is kept");
    reviewed();
    assert!(
        sluice.log().contains("KeyMismatch") || sluice.log().contains("certificate and key"),
        "{}",
        sluice.log()
    );

    mount(tls, "4", &next.serving(&names));
    eventually(SOON, "the pair after it to be taken", || reloads("success") == before + 2.0);
    assert!(is_of(next) && reloads("failure") == 1.0);
    reviewed();
}

/// As kubelet mounts a Secret: the files are links into `..data`, which is swapped in one step.
fn mount(folder: &Path, version: &str, pair: &Pair) {
    let version = format!("..{version}");
    std::fs::create_dir(folder.join(&version)).expect("a folder");
    for (name, text) in [("tls.crt", &pair.certificate), ("tls.key", &pair.key)] {
        std::fs::write(folder.join(&version).join(name), text).expect("a file");
        if !folder.join(name).exists() {
            symlink(Path::new("..data").join(name), folder.join(name)).expect("a link");
        }
    }
    symlink(&version, folder.join("..next")).expect("a link");
    std::fs::rename(folder.join("..next"), folder.join("..data")).expect("a swap");
}
