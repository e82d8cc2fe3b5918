//! What is remembered of the scheduler's questions: room that was promised, and Pods that were turned away.
//! Kept by whoever answers, read by whoever wakes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::ledger::Ledger;
use crate::subject::Subject;

/// The memory of one scheduler's questions.
#[derive(Debug)]
pub struct Questions {
    /// Room that was promised.
    pub ledger: Ledger,
    rejected: Mutex<BTreeMap<Arc<str>, Rejected>>,
}

/// A Pod for which no node was left.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The Pod as the scheduler sent it.
    pub subject: Arc<Subject>,
    /// When it was asked about.
    pub at: Instant,
    /// Not to be woken before that.
    pub not_before: Instant,
    /// How long the next pause is.
    pause: Duration,
}

/// How many rejected Pods are remembered. Each wake-up reaches all of the scheduler's, so that the oldest of
/// very many need not be among them.
const MOST: usize = 2_000;

/// The scheduler asks about every unschedulable Pod again within 5 minutes; whom it does not is gone.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);

/// A Pod that was woken and that the scheduler does not ask us about is kept off by something that we do not
/// see: it is woken more and more seldom.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

impl Questions {
    /// A memory whose promises last so long.
    #[must_use]
    pub fn new(promise: Duration) -> Self {
        Self { ledger: Ledger::new(promise), rejected: Mutex::default() }
    }

    /// Remembers a Pod for which no node was left.
    pub fn reject(&self, uid: &str, subject: Arc<Subject>, now: Instant) {
        if uid.is_empty() {
            return;
        }
        let mut rejected = self.rejected();
        if rejected.len() >= MOST && !rejected.contains_key(uid) {
            let oldest = rejected.iter().min_by_key(|(_, rejected)| rejected.at);
            if let Some(oldest) = oldest.map(|(uid, _)| Arc::clone(uid)) {
                rejected.remove(&oldest);
            }
        }
        let new = Rejected { subject, at: now, not_before: now, pause: PAUSES[0] };
        rejected.insert(uid.into(), new);
    }

    /// Forgets a Pod: it was offered a node, or it is gone.
    pub fn forget(&self, uid: &str) {
        self.rejected().remove(uid);
    }

    /// Whether some Pod is remembered, to be woken now or later.
    #[must_use]
    pub fn is_anybody_rejected(&self) -> bool {
        !self.rejected().is_empty()
    }

    /// The rejected Pods that may be woken now, each with its UID.
    #[must_use]
    pub fn sleeping(&self, now: Instant) -> Vec<(Arc<str>, Rejected)> {
        let mut rejected = self.rejected();
        rejected.retain(|_, rejected| now.saturating_duration_since(rejected.at) < FORGOTTEN);
        let due = rejected.iter().filter(|(_, rejected)| rejected.not_before <= now);
        due.map(|(uid, rejected)| (Arc::clone(uid), rejected.clone())).collect()
    }

    /// Notes that a Pod was woken; it is not again until the scheduler has asked, or for longer each time.
    pub fn woken(&self, uid: &str, now: Instant) {
        if let Some(rejected) = self.rejected().get_mut(uid) {
            rejected.not_before = now + rejected.pause;
            rejected.pause = (rejected.pause * 2).min(PAUSES[1]);
        }
    }

    /// A panic while it was held leaves nothing half done, so a poisoned lock is as good as any.
    fn rejected(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Rejected>> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::subject::{Facts, Reading, Stage, read};

    fn pod() -> Arc<Subject> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                         "spec": {"containers": []}});
        match read(Arc::new(pod), None, Facts::new(Stage::Schedule)) {
            Reading::Subject(subject) => subject.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pod_is_woken_more_and_more_seldom_until_the_scheduler_asks_again() {
        let (questions, now) = (Questions::new(Duration::ZERO), Instant::now());
        questions.reject("a", pod(), now);
        let mut wakes = 0;
        for second in 0..120 {
            let now = now + Duration::from_secs(second);
            if !questions.sleeping(now).is_empty() {
                wakes += 1;
                questions.woken("a", now);
            }
        }
        assert_eq!(wakes, 7, "after 0, 1, 3, 7, 15, 31 and 63 seconds");
        questions.reject("a", pod(), now + Duration::from_secs(120));
        assert_eq!(questions.sleeping(now + Duration::from_secs(120)).len(), 1, "asked again");
        questions.forget("a");
        assert!(questions.sleeping(now + Duration::from_secs(120)).is_empty());
    }

    #[test]
    fn the_memory_is_bounded_and_forgets_by_itself() {
        let (questions, now) = (Questions::new(Duration::ZERO), Instant::now());
        let pod = pod();
        for index in 0..MOST + 5 {
            let at = now + Duration::from_millis(u64::try_from(index).unwrap());
            questions.reject(&index.to_string(), Arc::clone(&pod), at);
        }
        let later = now + Duration::from_secs(60);
        let sleeping = questions.sleeping(later);
        assert_eq!(sleeping.len(), MOST);
        assert!(!sleeping.iter().any(|(uid, _)| ["0", "4"].contains(&&**uid)), "the oldest are forgotten");
        assert!(questions.sleeping(now + FORGOTTEN + Duration::from_secs(60)).is_empty());
    }
}
