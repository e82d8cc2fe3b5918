//! One test: its world, its manifests judged as `sluice check` judges, and what differs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::{
    cli::{
        cases::{self, Seen},
        input::{self, Object},
        judge::{self, Judge, Judged, RuleFilter},
        world,
    },
    cluster::{Cluster, unix_seconds},
    policy::{
        PolicySet, Severity,
        raw::{Expectation, PolicyTest, PolicyTestSpec},
    },
    report::{
        ObjectResult, VerdictWord,
        json::{FitWord, ObjectReference},
        policy_tests::TestedObject,
        table::object_name,
    },
    world::World,
};

/// Plays tests; what several need is read once.
pub(super) struct Player {
    /// Folder of the policies where a test names none; the built-in ones without it.
    folder: Option<PathBuf>,
    now: i64,
    policies: BTreeMap<Option<PathBuf>, Arc<PolicySet>>,
    clusters: BTreeMap<PathBuf, Cluster>,
}

impl Player {
    pub fn new(folder: Option<PathBuf>, now: i64) -> Self {
        Self { folder, now, policies: BTreeMap::new(), clusters: BTreeMap::new() }
    }

    /// Names of the classes of the run's own policies.
    ///
    /// # Errors
    /// Their faults.
    pub fn classes(&mut self) -> anyhow::Result<BTreeSet<String>> {
        let set = self.policies(self.folder.clone())?;
        Ok(set.classes.iter().map(|class| class.name.to_string()).collect())
    }

    /// The objects of a test and what differs.
    ///
    /// # Errors
    /// What cannot be read, beginning with the file.
    pub fn play(&mut self, file: &Path, test: &PolicyTest) -> anyhow::Result<Vec<TestedObject>> {
        let within = || file.display().to_string();
        let folder = file.parent().unwrap_or(Path::new(""));
        let world = self.world(folder, &test.spec).with_context(within)?;
        let objects = objects(file, folder, &test.spec).with_context(within)?;
        let world = judge::overlay(&world, &objects)
            .map_err(|e| anyhow::anyhow!("{}: {}", within(), e.join("; ")))?;
        let nodes = test.spec.cluster.is_some() || !test.spec.objects.is_empty();
        let now = self.now_of(&test.spec).with_context(within)?;
        let judge = Judge { world, rules: RuleFilter::default(), nodes, now };
        let pairs = pairs(&objects, &test.spec.expect).with_context(within)?;
        pairs
            .into_iter()
            .map(|(object, expected)| tested(&judge, object, expected).with_context(within))
            .collect()
    }

    fn world(&mut self, folder: &Path, spec: &PolicyTestSpec) -> anyhow::Result<World> {
        let policies = match spec.policies.as_deref() {
            None => self.folder.clone(),
            Some("built-in") => None,
            Some(named) => Some(folder.join(named)),
        };
        let policies = self.policies(policies)?;
        let cluster = match &spec.cluster {
            Some(named) => self.cluster(folder.join(named))?,
            None if spec.objects.is_empty() => Cluster::none(),
            None => Cluster::from_documents([]).map_err(|_| anyhow::anyhow!("no cluster"))?,
        };
        let told = |errors: Vec<_>| {
            let errors: Vec<String> =
                errors.iter().map(|e: &crate::cluster::ReadError| e.to_string()).collect();
            anyhow::anyhow!("spec.objects: {}", errors.join("; "))
        };
        Ok(World::new(policies, cluster.with_objects(&spec.objects).map_err(told)?))
    }

    fn policies(&mut self, folder: Option<PathBuf>) -> anyhow::Result<Arc<PolicySet>> {
        if let Some(known) = self.policies.get(&folder) {
            return Ok(Arc::clone(known));
        }
        let set = world::policies(folder.as_deref())?;
        self.policies.insert(folder, Arc::clone(&set));
        Ok(set)
    }

    fn cluster(&mut self, file: PathBuf) -> anyhow::Result<Cluster> {
        if let Some(known) = self.clusters.get(&file) {
            return Ok(known.clone());
        }
        let cluster = world::cluster_of(&file.to_string_lossy(), input::objects_of(&file)?)?;
        self.clusters.insert(file, cluster.clone());
        Ok(cluster)
    }

    fn now_of(&self, spec: &PolicyTestSpec) -> anyhow::Result<i64> {
        let Some(text) = &spec.now else { return Ok(self.now) };
        unix_seconds(text)
            .with_context(|| format!("spec.now: {text} is no RFC 3339 time, such as 2027-03-01T00:00:00Z"))
    }
}

/// The manifests of a test, those of its files last.
fn objects(file: &Path, folder: &Path, spec: &PolicyTestSpec) -> anyhow::Result<Vec<Object>> {
    let namespace = spec.namespace.as_deref().unwrap_or("default");
    let name = file.to_string_lossy();
    let mut objects: Vec<Object> =
        spec.manifests.iter().map(|manifest| Object::of_value(manifest.clone(), &name, namespace)).collect();
    if !spec.files.is_empty() {
        let paths: Vec<PathBuf> = spec.files.iter().map(|path| folder.join(path)).collect();
        let read = input::read(&paths, namespace)?;
        ensure!(read.faults.is_empty(), "{}", read.faults.join("; "));
        objects.extend(read.objects);
    }
    Ok(objects)
}

/// Each expectation with its object.
fn pairs<'a>(
    objects: &'a [Object],
    expected: &'a [Expectation],
) -> anyhow::Result<Vec<(&'a Object, &'a Expectation)>> {
    let by_place = expected.iter().all(|one| one.object.is_none());
    let (count, wanted) = (objects.len(), expected.len());
    ensure!(
        !by_place || count == wanted,
        "{count} manifests and {wanted} entries under expect; name the object of each entry, or have one for each manifest"
    );
    let find = |(place, one): (usize, &'a Expectation)| {
        let object = match &one.object {
            None => objects.get(place),
            Some(named) => objects.iter().find(|object| label(&object.value) == *named),
        };
        let what = || one.object.clone().unwrap_or_else(|| format!("manifest {}", place + 1));
        object.map(|object| (object, one)).with_context(|| {
            let known: Vec<String> = objects.iter().map(|object| label(&object.value)).collect();
            format!("expect[{place}]: there is no {}; there are {}", what(), known.join(", "))
        })
    };
    expected.iter().enumerate().map(find).collect()
}

/// `Kind/name`.
fn label(object: &Value) -> String {
    let word = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    format!("{}/{}", word(object.get("kind")), word(object.pointer("/metadata/name")))
}

fn tested(judge: &Judge, object: &Object, expected: &Expectation) -> anyhow::Result<TestedObject> {
    let result = match judge.judge(object) {
        Judged::Result(result) => *result,
        Judged::NotOurs => bail!("{} is of a kind that is not judged", label(&object.value)),
        Judged::Unreadable(why) => bail!("{why}"),
    };
    let ObjectReference { kind, .. } = &result.object;
    let name = format!("{kind} {}", object_name(&result.object));
    Ok(TestedObject { name, differences: cases::differences(expected, &seen(result)) })
}

fn seen(result: ObjectResult) -> Seen {
    let shown: Vec<_> =
        result.findings.iter().filter(|finding| finding.severity != Severity::Audit).collect();
    let refused = result.verdict == VerdictWord::Deny;
    let fits =
        result.nodes.iter().filter(|node| node.fit == FitWord::Yes).map(|node| node.name.clone()).collect();
    let mut reasons = BTreeMap::new();
    for finding in &shown {
        reasons.entry(finding.rule.clone()).or_insert(format!("{}: {}", finding.path, finding.message));
    }
    for skipped in &result.skipped {
        let name = skipped.what.strip_prefix("pool ").unwrap_or(&skipped.what);
        reasons.entry(name.to_owned()).or_insert(format!("{} ({})", skipped.reason, skipped.rule));
    }
    for node in &result.nodes {
        reasons.extend(node.reason.iter().map(|reason| (node.name.clone(), reason.clone())));
    }
    Seen {
        verdict: result.verdict.as_str().to_owned(),
        class: result.class.unwrap_or_default(),
        pools: result.pools,
        rules: shown.iter().map(|finding| finding.rule.clone()).collect(),
        changes: result.changes.into_iter().map(|change| change.rule).collect(),
        patch: result.patch,
        nodes: (!refused).then_some(fits),
        fit: result
            .nodes
            .iter()
            .map(|node| {
                (node.name.clone(), (node.fit.as_str().to_owned(), node.rule.clone().unwrap_or_default()))
            })
            .collect(),
        reasons,
    }
}
