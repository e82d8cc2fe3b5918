//! The extender's wire types (kube-scheduler `extender/v1/types.go`), read without copies.
//!
//! They carry no JSON tags: the scheduler sends Go's field names, unused fields as `null`, and its decoder
//! takes any casing, so we do too. Names and Nodes are borrowed from the body; of a Node only its name is
//! read, and it goes back as it came.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::serve::gate::Failure;

/// `ExtenderArgs`.
pub(super) struct Args<'a> {
    pub(super) pod: &'a RawValue,
    pub(super) nodes: Nodes<'a>,
}

/// The nodes in question, in the form in which they came.
pub(super) enum Nodes<'a> {
    /// `NodeNames`: `nodeCacheCapable` is true.
    Names(Vec<Name<'a>>),
    /// `Nodes`: it is false.
    Whole(Vec<WholeNode<'a>>),
}

/// A string that is borrowed where it holds no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A Node as it came, with its name.
pub(super) struct WholeNode<'a> {
    name: Cow<'a, str>,
    raw: &'a RawValue,
}

impl<'a> Args<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Failure> {
        let fields: Fields<'a> = serde_json::from_slice(body)
            .map_err(|error| Failure::Malformed(format!("not ExtenderArgs: {error}")))?;
        let missing = |what: &str| Failure::Malformed(format!("not ExtenderArgs: {what}"));
        let pod = fields.pod.ok_or_else(|| missing("Pod is missing"))?;
        let nodes = match (fields.node_names, fields.nodes) {
            (Some(names), _) => Nodes::Names(names),
            (None, Some(nodes)) => Nodes::Whole(nodes),
            (None, None) => return Err(missing("neither NodeNames nor Nodes is set")),
        };
        Ok(Self { pod, nodes })
    }
}

impl<'a> Nodes<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Names(names) => names.len(),
            Self::Whole(nodes) => nodes.len(),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let (names, nodes) = match self {
            Self::Names(names) => (names.as_slice(), [].as_slice()),
            Self::Whole(nodes) => ([].as_slice(), nodes.as_slice()),
        };
        names.iter().map(|name| &*name.0).chain(nodes.iter().map(|node| &*node.name))
    }

    /// Puts the nodes of those indices into the answer, in the form in which they came. An empty list, never
    /// null: null means that the field was not meant.
    pub(super) fn keep<'r>(&'r self, indices: &[usize], result: &mut FilterResult<'r>) {
        match self {
            Self::Names(names) => {
                result.node_names = Some(indices.iter().map(|&index| &*names[index].0).collect());
            }
            Self::Whole(nodes) => {
                let items = indices.iter().map(|&index| nodes[index].raw).collect();
                result.nodes = Some(NodeList { metadata: Empty {}, items });
            }
        }
    }
}

/// `ExtenderFilterResult`.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct FilterResult<'a> {
    nodes: Option<NodeList<'a>>,
    node_names: Option<Vec<&'a str>>,
    pub(super) failed_nodes: Reasons<'a>,
    pub(super) failed_and_unresolvable_nodes: Reasons<'a>,
    error: &'a str,
}

#[derive(Serialize)]
struct NodeList<'a> {
    metadata: Empty,
    items: Vec<&'a RawValue>,
}

#[derive(Serialize)]
struct Empty {}

/// Nodes with the reason of each.
#[derive(Default)]
pub(super) struct Reasons<'a>(Vec<(&'a str, &'static str)>);

/// `HostPriority`; a list of them is not wrapped.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HostPriority<'a> {
    pub(super) host: &'a str,
    pub(super) score: i64,
}

impl FilterResult<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// An answer that is only an error.
    pub(super) fn error(error: &str) -> Vec<u8> {
        encode(&FilterResult { error, ..FilterResult::default() })
    }
}

impl HostPriority<'_> {
    pub(super) fn encode(scores: &[HostPriority<'_>]) -> Vec<u8> {
        encode(scores)
    }
}

impl<'a> Reasons<'a> {
    pub(super) fn push(&mut self, node: &'a str, reason: &'static str) {
        self.0.push((node, reason));
    }
}

impl Serialize for Reasons<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("strings, numbers and JSON that was read before can be written")
}

#[derive(Default)]
struct Fields<'a> {
    pod: Option<&'a RawValue>,
    nodes: Option<Vec<WholeNode<'a>>>,
    node_names: Option<Vec<Name<'a>>>,
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfArgs;
        impl<'de> Visitor<'de> for OfArgs {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with Pod and NodeNames or Nodes")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut fields = Fields::default();
                while let Some(Name(key)) = map.next_key()? {
                    match () {
                        () if key.eq_ignore_ascii_case("pod") => fields.pod = map.next_value()?,
                        () if key.eq_ignore_ascii_case("nodenames") => {
                            fields.node_names = map.next_value()?
                        }
                        () if key.eq_ignore_ascii_case("nodes") => {
                            fields.nodes = map.next_value::<Option<Items<'de>>>()?.map(|items| items.0);
                        }
                        () => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(OfArgs)
    }
}

/// A `NodeList`; `items: null` is an empty one.
struct Items<'a>(Vec<WholeNode<'a>>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfList;
        impl<'de> Visitor<'de> for OfList {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a NodeList")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut items = Vec::new();
                while let Some(Name(key)) = map.next_key()? {
                    if key.eq_ignore_ascii_case("items") {
                        items = map.next_value::<Option<Vec<WholeNode<'de>>>>()?.unwrap_or_default();
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Items(items))
            }
        }
        deserializer.deserialize_map(OfList)
    }
}

impl<'de> Deserialize<'de> for WholeNode<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Node<'a> {
            #[serde(borrow)]
            metadata: Meta<'a>,
        }
        #[derive(Deserialize)]
        struct Meta<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        let raw = <&'de RawValue>::deserialize(deserializer)?;
        let node: Node<'de> = serde_json::from_str(raw.get()).map_err(serde::de::Error::custom)?;
        Ok(Self { name: node.metadata.name, raw })
    }
}
