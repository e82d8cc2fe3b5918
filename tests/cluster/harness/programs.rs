//! Finds the six programs of the control plane, or builds them once into the user's cache.
//!
//! The versions live in `tests/controlplane/go.mod` and nowhere else. A cache folder is named by a hash of
//! that module and of the build flags, so that a fresh clone finds what an older one built. Nothing is
//! downloaded but Go modules, by `go build` itself.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

const GO_MOD: &str = include_str!("../../controlplane/go.mod");
const GO_SUM: &str = include_str!("../../controlplane/go.sum");
const MODULE_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controlplane");

/// A long build says that it still runs after each of these.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// One program: its file name, its Go package, the Go module that carries its version.
struct Recipe {
    name: &'static str,
    package: &'static str,
    module: &'static str,
}

/// In the order of building: what comes first compiles the packages that the later ones share.
const RECIPES: [Recipe; 6] = [
    Recipe { name: "etcd", package: "go.etcd.io/etcd/server/v3", module: "go.etcd.io/etcd/server/v3" },
    kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Recipe { name: "kwok", package: "sigs.k8s.io/kwok/cmd/kwok", module: "sigs.k8s.io/kwok" },
    kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
];

const fn kubernetes(name: &'static str, package: &'static str) -> Recipe {
    Recipe { name, package, module: "k8s.io/kubernetes" }
}

/// Where the programs lie.
#[derive(Debug, Clone)]
pub struct Programs {
    paths: Vec<(&'static str, PathBuf)>,
}

impl Programs {
    /// Finds every program, building what is missing; takes minutes with a cold Go cache, and says so.
    pub fn find() -> Result<Programs, String> {
        let cache = cache_folder()?;
        let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let mut paths = Vec::new();
        for (position, recipe) in RECIPES.iter().enumerate() {
            let path = match assets.as_deref().and_then(|folder| asset(folder, recipe)) {
                Some(path) => path,
                None => built(&cache, recipe, position + 1)?,
            };
            paths.push((recipe.name, path));
        }
        Ok(Programs { paths })
    }

    /// The path of one program, such as `kube-apiserver`.
    pub fn path(&self, name: &str) -> &Path {
        let found = self.paths.iter().find(|(known, _)| *known == name);
        &found.unwrap_or_else(|| panic!("the control plane has no program {name}")).1
    }
}

/// The program in the `KUBEBUILDER_ASSETS` folder, where it is there and of our version: two versions side
/// by side would make kubectl print skew warnings into output that stories compare.
fn asset(folder: &Path, recipe: &Recipe) -> Option<PathBuf> {
    let path = folder.join(recipe.name);
    let argument: &[&str] = if recipe.name == "kubectl" { &["version", "--client"] } else { &["--version"] };
    let output = Command::new(&path).args(argument).stdin(Stdio::null()).output().ok()?;
    if String::from_utf8_lossy(&output.stdout).contains(version(recipe)) {
        return Some(path);
    }
    eprintln!("{} is not {}: not used", path.display(), version(recipe));
    None
}

/// The program in the cache, built if it is not there yet.
fn built(cache: &Path, recipe: &Recipe, position: usize) -> Result<PathBuf, String> {
    let path = cache.join(recipe.name);
    if path.is_file() {
        return Ok(path);
    }
    // Two test processes must not build the same thing twice: the second waits here and then finds it.
    let lock = File::create(cache.join(".lock")).map_err(|error| format!("{}: {error}", cache.display()))?;
    lock.lock().map_err(|error| format!("lock of {}: {error}", cache.display()))?;
    if !path.is_file() {
        build(recipe, &path, position)?;
    }
    Ok(path)
}

fn build(recipe: &Recipe, path: &Path, position: usize) -> Result<(), String> {
    let what = format!("{} {} ({position} of {})", recipe.name, version(recipe), RECIPES.len());
    let unfinished = path.with_extension("unfinished");
    let started = Instant::now();
    eprintln!("building {what} …");
    let mut child = Command::new("go")
        .current_dir(MODULE_FOLDER)
        .env("CGO_ENABLED", "0")
        .args(["build", "-trimpath", "-ldflags", &linker_flags(), "-o"])
        .arg(&unfinished)
        .arg(recipe.package)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| no_go(&error))?;
    let mut told = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("go build: {error}"))? {
            break status;
        }
        if told.elapsed() >= SIGN_OF_LIFE {
            told = Instant::now();
            eprintln!("building {what} … {} s", started.elapsed().as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        return Err(format!("go build of {what} ended with {status}; its words stand above"));
    }
    // Renamed when complete, so that a build that was broken off is never taken for a program.
    fs::rename(&unfinished, path).map_err(|error| format!("{}: {error}", path.display()))?;
    eprintln!("built {what} in {} s", started.elapsed().as_secs());
    Ok(())
}

fn no_go(error: &std::io::Error) -> String {
    format!(
        "the control plane of the stories is built by Go, and `go` could not be started: {error}\n\
         Install Go {} or newer (https://go.dev/dl, or your distribution's golang package) and run again.\n\
         SLUICE_WITHOUT_CONTROL_PLANE=1 leaves out every story that needs a control plane.",
        go_version()
    )
}

/// The flags that make the programs small and let them name their version (kubectl compares it).
fn linker_flags() -> String {
    let kubernetes = version_of_module("k8s.io/kubernetes");
    let mut numbers = kubernetes.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion={kubernetes} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}

fn cache_folder() -> Result<PathBuf, String> {
    let base = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => return Err("neither XDG_CACHE_HOME nor HOME says where built programs are kept".into()),
    };
    let folder = base.join("sluice").join(format!("controlplane-{}", content_hash()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn content_hash() -> String {
    let digest =
        Sha256::new().chain_update(GO_MOD).chain_update(GO_SUM).chain_update(linker_flags()).finalize();
    digest.iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The recipe's version without the `v`, as the programs print it.
fn version(recipe: &Recipe) -> &'static str {
    version_of_module(recipe.module).trim_start_matches('v')
}

fn version_of_module(module: &str) -> &'static str {
    let requirement = GO_MOD.lines().find_map(|line| {
        line.trim()
            .trim_start_matches("require ")
            .strip_prefix(module)?
            .strip_prefix(' ')?
            .split_whitespace()
            .next()
    });
    requirement.unwrap_or_else(|| panic!("tests/controlplane/go.mod does not require {module}"))
}

fn go_version() -> &'static str {
    GO_MOD.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or("1.26")
}
