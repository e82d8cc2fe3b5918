//! Which nodes meet nodeSelector and node affinity, found by shape.
//!
//! A shape answers for all of its nodes, except where a constraint asks for what tells them apart: identity
//! labels and names. Such constraints are asked of single nodes: of those that they name where they name
//! any, else of one node after the other, as far as the caller wants to know.

use std::sync::Arc;

use crate::{
    cluster::{Cluster, IDENTITY_LABELS, Node, NodeNames, Shape, node::HOSTNAME},
    k8s::{
        affinity::{FieldRequirement, RequiredNodeAffinity, Term},
        labels::Requirement,
        object::Labels,
    },
};

/// A shape of which at least one node meets a constraint.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    /// The shape.
    pub shape: &'a Arc<Shape>,
    /// Which of its nodes.
    pub nodes: Matching<'a>,
}

/// Which nodes of a shape meet a constraint.
#[derive(Clone, Debug)]
pub enum Matching<'a> {
    /// All of them.
    All(&'a NodeNames),
    /// These, in no particular order; the constraint names them.
    Named(Vec<&'a Arc<Node>>),
    /// Those for which the constraint holds; at least one.
    Tested(Tested<'a>),
}

/// Nodes that have to be asked one by one.
#[derive(Clone, Copy, Debug)]
pub struct Tested<'a> {
    cluster: &'a Cluster,
    members: &'a NodeNames,
    affinity: &'a RequiredNodeAffinity,
}

/// The shapes of which some node meets the constraint. Gives exactly what asking every node would give.
#[must_use]
pub fn matching_shapes<'a>(cluster: &'a Cluster, affinity: &'a RequiredNodeAffinity) -> Vec<Match<'a>> {
    let split = Split::of(affinity);
    let mut matches = Vec::new();
    for (shape, members) in cluster.shapes.iter() {
        let nodes = match split.of_shape(&shape.labels) {
            OfShape::None => continue,
            OfShape::All => Matching::All(members),
            OfShape::Some(Some(names)) => {
                let nodes = names.into_iter().flat_map(|name| cluster.called(name));
                let here = nodes.filter(|node| Arc::ptr_eq(&node.shape, shape));
                let mut nodes: Vec<_> = here.filter(|node| meets(affinity, node)).collect();
                nodes.sort_unstable_by_key(|node| &node.name);
                nodes.dedup_by_key(|node| &node.name);
                Matching::Named(nodes)
            }
            OfShape::Some(None) => Matching::Tested(Tested { cluster, members, affinity }),
        };
        if nodes.first().is_some() {
            matches.push(Match { shape, nodes });
        }
    }
    matches
}

impl<'a> Matching<'a> {
    /// Whether every node of the shape meets the constraint without being asked.
    #[must_use]
    pub const fn is_all(&self) -> bool {
        matches!(self, Self::All(_))
    }

    /// Some node that meets the constraint, always the same one.
    #[must_use]
    pub fn first(&self) -> Option<&'a Arc<str>> {
        match self {
            Self::All(members) => members.get_min(),
            Self::Named(nodes) => nodes.first().map(|node| &node.name),
            Self::Tested(tested) => tested.names().next(),
        }
    }

    /// The names of the nodes that meet the constraint, by name.
    #[must_use]
    pub fn names(&self) -> Box<dyn Iterator<Item = &'a Arc<str>> + '_> {
        match self {
            Self::All(members) => Box::new(members.iter()),
            Self::Named(nodes) => Box::new(nodes.iter().map(|node| &node.name)),
            Self::Tested(tested) => Box::new(tested.names()),
        }
    }

    /// Whether that node of the shape meets the constraint.
    #[must_use]
    pub fn contains(&self, node: &Node) -> bool {
        match self {
            Self::All(_) => true,
            Self::Named(nodes) => nodes.iter().any(|named| named.name == node.name),
            Self::Tested(tested) => meets(tested.affinity, node),
        }
    }
}

impl<'a> Tested<'a> {
    fn names(self) -> impl Iterator<Item = &'a Arc<str>> {
        self.members
            .iter()
            .filter(move |name| self.cluster.node(name).is_some_and(|node| meets(self.affinity, node)))
    }
}

impl Cluster {
    /// Nodes that have that name or that host name; the two differ on some platforms.
    fn called<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<Node>> {
        self.node(name).into_iter().chain(self.shapes.hosts(name).filter_map(|name| self.node(name)))
    }
}

/// A constraint with what is asked of shapes and what is asked of nodes apart.
struct Split<'a> {
    selector: Vec<(&'a String, &'a String)>,
    /// Whether `nodeSelector` asks for an identity label.
    selects_identity: bool,
    /// A host name that `nodeSelector` asks for.
    host: Option<&'a str>,
    /// `None` where no term is required.
    terms: Option<Vec<SplitTerm<'a>>>,
}

struct SplitTerm<'a> {
    of_shape: Vec<&'a Requirement>,
    of_node: Vec<&'a Requirement>,
    fields: &'a [FieldRequirement],
}

/// What a shape says of a constraint.
enum OfShape<'a> {
    None,
    All,
    /// Some may; if there are names, none but nodes called so.
    Some(Option<Vec<&'a str>>),
}

impl<'a> Split<'a> {
    fn of(affinity: &'a RequiredNodeAffinity) -> Self {
        let selector = affinity.node_selector();
        let terms = affinity.terms().map(|terms| terms.iter().filter_map(SplitTerm::of).collect());
        Self {
            selector: selector.iter().filter(|(key, _)| !is_identity(key)).collect(),
            selects_identity: selector.keys().any(|key| is_identity(key)),
            host: selector.get(HOSTNAME).map(String::as_str),
            terms,
        }
    }

    fn of_shape(&self, labels: &Labels) -> OfShape<'a> {
        if self.selector.iter().any(|(key, value)| labels.get(*key) != Some(value)) {
            return OfShape::None;
        }
        let Some(terms) = &self.terms else { return self.selected(OfShape::All) };
        let mut names = Some(Vec::new());
        let mut any = false;
        for term in terms.iter().filter(|term| term.of_shape.iter().all(|r| r.matches(labels))) {
            if term.of_node.is_empty() && term.fields.is_empty() {
                return self.selected(OfShape::All);
            }
            any = true;
            names = names.zip(term.names()).map(|(mut all, more)| {
                all.extend(more);
                all
            });
        }
        if any { self.selected(OfShape::Some(names)) } else { OfShape::None }
    }

    /// Narrows by what `nodeSelector` asks of nodes.
    fn selected(&self, terms: OfShape<'a>) -> OfShape<'a> {
        match (self.host, terms) {
            (Some(host), OfShape::All | OfShape::Some(_)) => OfShape::Some(Some(vec![host])),
            (None, OfShape::All) if self.selects_identity => OfShape::Some(None),
            (_, terms) => terms,
        }
    }
}

impl<'a> SplitTerm<'a> {
    /// `None` for a term that matches no node.
    fn of(term: &'a Term) -> Option<Self> {
        let Term::Valid { expressions, fields } = term else { return None };
        let (of_node, of_shape) = expressions.iter().partition(|requirement| is_identity(requirement.key()));
        Some(Self { of_shape, of_node, fields })
    }

    /// The names or host names of the only nodes that can meet it, where it says so.
    fn names(&self) -> Option<Vec<&'a str>> {
        if let Some(name) = self.fields.iter().find_map(|field| field.only_name()) {
            return Some(vec![name]);
        }
        let host = self.of_node.iter().find(|requirement| requirement.key() == HOSTNAME)?;
        Some(host.one_of()?.iter().map(String::as_str).collect())
    }
}

fn is_identity(key: &str) -> bool {
    IDENTITY_LABELS.contains(&key)
}

fn meets(affinity: &RequiredNodeAffinity, node: &Node) -> bool {
    affinity.matches(Some(&node.name), &node.labels)
}
