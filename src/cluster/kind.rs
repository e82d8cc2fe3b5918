//! The kinds of objects that the picture holds. One table: the watch list, `sluice snapshot` and
//! `--cluster FILE` read from it, so that none of them can know a kind that the others do not.

use std::fmt;

/// A kind of object in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `v1` Node.
    Node,
    /// `v1` Pod.
    Pod,
    /// `v1` Namespace.
    Namespace,
    /// `scheduling.k8s.io/v1` PriorityClass.
    PriorityClass,
    /// `policy/v1` PodDisruptionBudget.
    PodDisruptionBudget,
    /// `autoscaling/v2` HorizontalPodAutoscaler.
    HorizontalPodAutoscaler,
    /// `v1` ResourceQuota.
    ResourceQuota,
    /// `v1` LimitRange.
    LimitRange,
    /// `apps/v1` Deployment.
    Deployment,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `apps/v1` StatefulSet.
    StatefulSet,
    /// `apps/v1` DaemonSet.
    DaemonSet,
    /// `batch/v1` Job.
    Job,
    /// `batch/v1` CronJob.
    CronJob,
    /// `resource.k8s.io/v1` DeviceClass.
    DeviceClass,
    /// `resource.k8s.io/v1` ResourceClaim.
    ResourceClaim,
    /// `resource.k8s.io/v1` ResourceClaimTemplate.
    ResourceClaimTemplate,
    /// `resource.k8s.io/v1` ResourceSlice.
    ResourceSlice,
    /// `sluice.dev/v1alpha1` GpuNode, what the node agent publishes.
    GpuNode,
}

/// What the API calls a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindRow {
    /// The kind.
    pub kind: Kind,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// The version that is watched.
    pub version: &'static str,
    /// Other versions of the same shape that files may hold.
    pub also: &'static [&'static str],
    /// Kind as objects name it.
    pub name: &'static str,
    /// Resource name in paths and RBAC.
    pub plural: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether a server may lack this API: the picture is complete without it.
    pub optional: bool,
}

impl Kind {
    /// Every kind, in the order in which the table stands.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Node; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].kind;
            at += 1;
        }
        all
    };

    /// What the API calls it.
    #[must_use]
    pub const fn row(self) -> &'static KindRow {
        &TABLE[self as usize]
    }

    /// The kind of an object with this `apiVersion` and `kind`, if the picture holds it.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        TABLE
            .iter()
            .find(|row| {
                row.name == kind
                    && row.group == group
                    && (row.version == version || row.also.contains(&version))
            })
            .map(|row| row.kind)
    }

    /// The kind that objects call so, whatever its group; names are unique in the table.
    #[must_use]
    pub fn named(kind: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == kind).map(|row| row.kind)
    }

    /// Whether objects of this kind make Pods.
    #[must_use]
    pub const fn is_workload(self) -> bool {
        matches!(
            self,
            Self::Deployment
                | Self::ReplicaSet
                | Self::StatefulSet
                | Self::DaemonSet
                | Self::Job
                | Self::CronJob
        )
    }

    /// The kind as objects name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().name
    }
}

impl KindRow {
    /// `apiVersion` of its objects.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// In the order of [`Kind`]'s variants; a test holds that.
const TABLE: [KindRow; 19] = [
    row(Kind::Node, "", "v1", "Node", "nodes").cluster_scoped(),
    row(Kind::Pod, "", "v1", "Pod", "pods"),
    row(Kind::Namespace, "", "v1", "Namespace", "namespaces").cluster_scoped(),
    row(Kind::PriorityClass, "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses").cluster_scoped(),
    row(Kind::PodDisruptionBudget, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    row(
        Kind::HorizontalPodAutoscaler,
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    )
    .also(&["v1"]),
    row(Kind::ResourceQuota, "", "v1", "ResourceQuota", "resourcequotas"),
    row(Kind::LimitRange, "", "v1", "LimitRange", "limitranges"),
    row(Kind::Deployment, "apps", "v1", "Deployment", "deployments"),
    row(Kind::ReplicaSet, "apps", "v1", "ReplicaSet", "replicasets"),
    row(Kind::StatefulSet, "apps", "v1", "StatefulSet", "statefulsets"),
    row(Kind::DaemonSet, "apps", "v1", "DaemonSet", "daemonsets"),
    row(Kind::Job, "batch", "v1", "Job", "jobs"),
    row(Kind::CronJob, "batch", "v1", "CronJob", "cronjobs"),
    row(Kind::DeviceClass, DRA, "v1", "DeviceClass", "deviceclasses").cluster_scoped().dra(),
    row(Kind::ResourceClaim, DRA, "v1", "ResourceClaim", "resourceclaims").dra(),
    row(Kind::ResourceClaimTemplate, DRA, "v1", "ResourceClaimTemplate", "resourceclaimtemplates").dra(),
    row(Kind::ResourceSlice, DRA, "v1", "ResourceSlice", "resourceslices").cluster_scoped().dra(),
    row(Kind::GpuNode, "sluice.dev", "v1alpha1", "GpuNode", "gpunodes").cluster_scoped().optional(),
];

const DRA: &str = "resource.k8s.io";

const fn row(
    kind: Kind,
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
) -> KindRow {
    KindRow { kind, group, version, also: &[], name, plural, namespaced: true, optional: false }
}

impl KindRow {
    const fn cluster_scoped(self) -> Self {
        Self { namespaced: false, ..self }
    }

    const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    /// `v1` since Kubernetes 1.34, off or absent before; `v1beta2` has the same shape.
    const fn dra(self) -> Self {
        self.also(&["v1beta2"]).optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_kinds() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(kind.row().kind, kind);
        }
    }

    #[test]
    fn a_kind_is_found_by_group_version_and_name() {
        assert_eq!(Kind::of("v1", "Node"), Some(Kind::Node));
        assert_eq!(Kind::of("apps/v1", "Deployment"), Some(Kind::Deployment));
        assert_eq!(Kind::of("resource.k8s.io/v1beta2", "ResourceSlice"), Some(Kind::ResourceSlice));
        assert_eq!(Kind::of("example.com/v1", "Node"), None, "another group's kind is another kind");
        assert_eq!(Kind::of("resource.k8s.io/v1alpha2", "ResourceClaim"), None, "another shape");
    }

    #[test]
    fn names_and_plurals_are_unique() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            for other in Kind::ALL.into_iter().skip(index + 1) {
                assert_ne!(kind.row().name, other.row().name);
                assert_ne!(kind.row().plural, other.row().plural);
            }
        }
    }
}
