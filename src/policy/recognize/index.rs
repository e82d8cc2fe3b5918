//! All ways of all classes, by what a Pod shows.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    ENVIRONMENT, Match, Recognition, Seen, Strength,
    image::{self, ImagePattern},
    words::{self, WordIndex, WordPattern},
};
use crate::{
    gpu::resource::is_gpu_like,
    k8s::{
        labels::Selector,
        object::{Container, Pod},
    },
    policy::set::{CelExpression, Class, PolicySet, Recognizer},
};

/// Whether a way counts at once, or only where nothing else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Sign,
    Hint,
}

/// Classes are named by their place in the set.
#[derive(Debug, Default)]
pub struct Index {
    signs: Ways,
    hints: Ways,
}

/// Ways of one rank. Each entry leads back to the words that the policy has.
#[derive(Debug, Default)]
struct Ways {
    cel: Vec<(Arc<CelExpression>, usize)>,
    labels: Vec<(Selector, usize)>,
    arguments: WordIndex<Entry>,
    programs: WordIndex<Entry>,
    images: BTreeMap<String, Vec<(ImagePattern, Entry)>>,
    open_images: Vec<(ImagePattern, Entry)>,
    owners: HashMap<String, Vec<Entry>>,
    texts: Vec<String>,
}

/// A class and the pattern that leads to it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    class: usize,
    text: usize,
}

impl Index {
    pub fn new(classes: &[Arc<Class>]) -> Self {
        let mut index = Self::default();
        for (place, class) in classes.iter().enumerate() {
            class.recognition.iter().for_each(|way| index.signs.add(way, place));
            class.hints.iter().for_each(|way| index.hints.add(way, place));
        }
        index
    }

    pub fn recognize(&self, set: &PolicySet, seen: &Seen<'_>, rank: Rank) -> Recognition {
        let ways = if rank == Rank::Sign { &self.signs } else { &self.hints };
        let mut best: BTreeMap<usize, (Strength, String)> = BTreeMap::new();
        let mut note = |class: usize, strength: Strength, by: &dyn Fn() -> String| {
            let weaker = best.get(&class).is_some_and(|(known, _)| *known >= strength);
            if !weaker {
                best.insert(class, (strength, by()));
            }
        };
        ways.look(seen, &mut note);
        let named = best.into_iter().filter_map(|(place, (strength, by))| {
            Some(Match { class: set.classes.get(place)?.name.clone(), by, strength })
        });
        let mut matches: Vec<Match> = named.collect();
        matches.sort_by(|a, b| b.strength.cmp(&a.strength).then_with(|| a.class.cmp(&b.class)));
        Recognition { matches }
    }
}

type Note<'n> = dyn FnMut(usize, Strength, &dyn Fn() -> String) + 'n;

impl Ways {
    fn add(&mut self, way: &Recognizer, class: usize) {
        match way {
            Recognizer::Cel(expression) => self.cel.push((expression.clone(), class)),
            Recognizer::Labels(selector) => self.labels.push((selector.clone(), class)),
            Recognizer::Arguments(patterns) => {
                for pattern in patterns {
                    let entry = self.entry(class, pattern);
                    self.arguments.add(WordPattern::new(pattern), entry);
                }
            }
            Recognizer::Program(patterns) => {
                for pattern in patterns {
                    let entry = self.entry(class, pattern);
                    self.programs.add(WordPattern::new(pattern), entry);
                }
            }
            Recognizer::Image(patterns) => patterns.iter().for_each(|pattern| self.add_image(pattern, class)),
            Recognizer::Owner(kinds) => {
                for kind in kinds {
                    let entry = self.entry(class, kind);
                    self.owners.entry(kind.clone()).or_default().push(entry);
                }
            }
        }
    }

    fn add_image(&mut self, written: &str, class: usize) {
        let entry = self.entry(class, written);
        let pattern = ImagePattern::new(written);
        match pattern.last().map(str::to_owned) {
            Some(last) => self.images.entry(last).or_default().push((pattern, entry)),
            None => self.open_images.push((pattern, entry)),
        }
    }

    fn entry(&mut self, class: usize, text: &str) -> Entry {
        self.texts.push(text.to_owned());
        Entry { class, text: self.texts.len() - 1 }
    }

    fn look(&self, seen: &Seen<'_>, note: &mut Note<'_>) {
        for entry in seen.owner.and_then(|kind| self.owners.get(kind)).into_iter().flatten() {
            note(entry.class, Strength::Owner, &|| format!("owner {}", self.texts[entry.text]));
        }
        for container in serving_containers(seen.pod) {
            self.look_at_image(container, note);
            let words = words::words(container);
            self.programs.find(&words, |entry| {
                note(entry.class, Strength::Program, &|| format!("program {}", self.texts[entry.text]));
            });
            self.arguments.find(&words, |entry| {
                note(entry.class, Strength::Arguments, &|| format!("arguments {}", self.texts[entry.text]));
            });
        }
        let labels = &seen.pod.metadata.labels;
        for (selector, class) in self.labels.iter().filter(|(selector, _)| selector.matches(labels)) {
            note(*class, Strength::Labels, &|| {
                format!("label {}", selector.keys().collect::<Vec<_>>().join(" and "))
            });
        }
        self.look_by_cel(seen, note);
    }

    fn look_at_image(&self, container: &Container, note: &mut Note<'_>) {
        let repository = image::repository(&container.image);
        let last = repository.rsplit('/').next().unwrap_or_default();
        let candidates = self.images.get(last).into_iter().flatten().chain(&self.open_images);
        for (_, entry) in candidates.filter(|(pattern, _)| pattern.matches(&repository)) {
            note(entry.class, Strength::Image, &|| format!("image {}", self.texts[entry.text]));
        }
    }

    fn look_by_cel(&self, seen: &Seen<'_>, note: &mut Note<'_>) {
        let Some(raw) = seen.raw.filter(|_| !self.cel.is_empty()) else { return };
        let Ok(pod) = cel::to_value(raw) else { return };
        let mut context = cel::Context::with_env(ENVIRONMENT.clone());
        context.add_variable_from_value("pod", pod);
        for (expression, class) in &self.cel {
            // A missing field is an error of the expression and means "not this class", as in CEL of the
            // API server a condition that cannot be evaluated does not hold.
            if matches!(expression.program.execute(&context), Ok(cel::Value::Bool(true))) {
                note(*class, Strength::Cel, &|| format!("expression {}", expression.source.trim()));
            }
        }
    }
}

/// The containers that serve: those of the application and native sidecars. Where any of them asks for a
/// GPU, only those that do: what stands beside them on the CPU does not name the class.
fn serving_containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.restart_policy == "Always");
    let all = pod.spec.containers.iter().chain(sidecars);
    let any = all.clone().any(asks_gpu);
    all.filter(move |container| !any || asks_gpu(container))
}

fn asks_gpu(container: &Container) -> bool {
    let resources = &container.resources;
    let names = resources.limits.keys().chain(resources.requests.keys());
    !resources.claims.is_empty() || names.map(String::as_str).any(is_gpu_like)
}
