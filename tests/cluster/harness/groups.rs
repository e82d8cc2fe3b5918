//! Groups of stories: a control plane for each group, at most two at once, stories of a group one by one.
//!
//! A Node, a PriorityClass, a webhook configuration and the scheduler's configuration are shared by all that
//! runs in a control plane, so stories of one group must not overlap; groups do, because much of a story's
//! time is waiting. Each story is a trial with a thread of its own that waits for its turn.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};

/// What a group of stories shares: at least a control plane.
pub trait Fixture: Send + 'static {
    /// Starts it.
    fn start() -> Self;

    /// Puts away what a passed story left behind. After a failed one the fixture is ended and started anew.
    fn clear(&mut self);

    /// What may explain a failure: the last lines of the logs.
    fn report(&self) -> String;
}

/// A story of a fixture; it fails by panicking.
pub struct Story<F> {
    /// The function's name.
    pub name: &'static str,
    /// The function.
    pub run: fn(&mut F),
}

/// A named list of stories, ready to be run.
pub struct Group {
    stories: Vec<Play>,
    names: Vec<String>,
}

/// Runs one story on the fixture in the slot; told whether it is the group's last.
type Play = Box<dyn FnOnce(&mut Slot, bool) -> Result<(), Failed> + Send>;

/// Holds the fixture of a group between its stories.
type Slot = Option<Box<dyn Any + Send>>;

/// Stories by the names of their functions: `stories![an_llm_pod_lands_on_a_whole_gpu, …]`.
#[macro_export]
macro_rules! stories {
    ($($story:path),+ $(,)?) => {
        vec![$($crate::harness::groups::Story { name: stringify!($story), run: $story }),+]
    };
}

impl Group {
    /// A group; a story is selected as `GROUP::STORY`.
    pub fn new<F: Fixture>(name: &'static str, stories: Vec<Story<F>>) -> Group {
        let names = stories.iter().map(|story| format!("{name}::{}", story.name)).collect();
        let stories =
            stories.into_iter().map(|story| -> Play { Box::new(move |slot, last| play(&story, slot, last)) });
        Group { stories: stories.collect(), names }
    }
}

/// The trials of all groups that `arguments` select; of the others too, so that they are counted.
/// `at_once` groups run at the same time.
pub fn trials(groups: Vec<Group>, arguments: &Arguments, at_once: usize) -> Vec<Trial> {
    let turns = Arc::new(Turns::new(at_once));
    let mut trials = Vec::new();
    for group in groups {
        let selected: Vec<bool> = group.names.iter().map(|name| selected(arguments, name)).collect();
        let count = selected.iter().filter(|selected| **selected).count();
        let place = turns.add_group(count);
        let slot: Arc<Mutex<Slot>> = Arc::default();
        let mut position = 0;
        for ((story, name), selected) in group.stories.into_iter().zip(group.names).zip(selected) {
            let (turns, slot, mine) = (turns.clone(), slot.clone(), position);
            position += usize::from(selected);
            trials.push(Trial::test(name.clone(), move || {
                let last = mine + 1 == count;
                turns.wait_for(place, mine);
                let started = Instant::now();
                let outcome = story(&mut lock(&slot), last);
                turns.finish(place);
                eprintln!("{name}: {:.1} s", started.elapsed().as_secs_f64());
                outcome
            }));
        }
    }
    trials
}

fn selected(arguments: &Arguments, name: &str) -> bool {
    let trial = Trial::test(name, || Ok(()));
    !arguments.is_filtered_out(&trial) && !arguments.is_ignored(&trial)
}

/// Runs one story on the fixture in the slot, starting the fixture if there is none.
fn play<F: Fixture>(story: &Story<F>, slot: &mut Slot, last: bool) -> Result<(), Failed> {
    let mut fixture = match slot.take() {
        Some(fixture) => *fixture.downcast::<F>().expect("a group has one fixture"),
        None => attempt(F::start)?,
    };
    let outcome = attempt(|| (story.run)(&mut fixture)).map_err(|failed| {
        let message = failed.message().unwrap_or_default();
        Failed::from(format!("{message}\n{}", fixture.report()))
    });
    if outcome.is_ok() && !last {
        attempt(|| fixture.clear())?;
        *slot = Some(Box::new(fixture));
    }
    outcome
}

thread_local! {
    /// Where this thread panicked last; the panic itself does not carry it.
    static PLACE: RefCell<String> = RefCell::default();
}

/// Lets failures name the line of the story, also in the list at the end.
pub fn remember_places_of_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PLACE.set(panic.location().map(ToString::to_string).unwrap_or_default());
        default(panic);
    }));
}

/// Turns a panic into a failure.
fn attempt<T>(run: impl FnOnce() -> T) -> Result<T, Failed> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Failed::from(format!("{}: {}", PLACE.take(), text.unwrap_or("a panic without a text")))
    })
}

/// Whose turn it is.
struct Turns {
    at_once: usize,
    state: Mutex<Vec<Progress>>,
    changed: Condvar,
}

/// How far a group is.
struct Progress {
    stories: usize,
    done: usize,
    started: bool,
}

impl Turns {
    fn new(at_once: usize) -> Turns {
        Turns { at_once, state: Mutex::default(), changed: Condvar::new() }
    }

    fn add_group(&self, stories: usize) -> usize {
        let mut groups = lock(&self.state);
        groups.push(Progress { stories, done: 0, started: false });
        groups.len() - 1
    }

    /// Returns when `group` may run its selected story number `position`.
    fn wait_for(&self, group: usize, position: usize) {
        let mut groups = lock(&self.state);
        loop {
            let running = groups.iter().filter(|group| group.started && group.done < group.stories).count();
            let mine = &mut groups[group];
            if mine.done == position && (mine.started || running < self.at_once) {
                mine.started = true;
                return;
            }
            groups = self.changed.wait(groups).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn finish(&self, group: usize) {
        lock(&self.state)[group].done += 1;
        self.changed.notify_all();
    }
}

/// A panic inside a story is caught before it could leave shared state half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
