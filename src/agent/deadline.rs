//! Hardware that may hang: every question goes to a thread of its own and has a deadline. A driver that is
//! stuck in the kernel cannot be interrupted, so the thread is left to it and the agent goes on.

use std::{
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use super::card::{Cards, Inventory, Sample, Unreadable};

/// Cards behind a deadline.
#[derive(Debug)]
pub struct Deadline {
    ask: Sender<Question>,
    answers: Receiver<Reply>,
    patience: Duration,
    /// When the question was asked that has no answer yet.
    waiting_since: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Question {
    Inventory,
    Sample,
}

#[derive(Debug)]
enum Reply {
    Inventory(Result<Inventory, Unreadable>),
    Sample(Result<Sample, Unreadable>),
}

impl Deadline {
    /// Asks `cards` from a thread of its own, and waits for at most `patience`.
    #[must_use]
    pub fn new(mut cards: Box<dyn Cards>, patience: Duration) -> Self {
        let (ask, questions) = mpsc::channel();
        let (reply, answers) = mpsc::channel();
        // The thread ends when either side is dropped; one that hangs ends with the process.
        thread::spawn(move || {
            for question in questions {
                let answer = match question {
                    Question::Inventory => Reply::Inventory(cards.inventory()),
                    Question::Sample => Reply::Sample(cards.sample()),
                };
                if reply.send(answer).is_err() {
                    return;
                }
            }
        });
        Self { ask, answers, patience, waiting_since: None }
    }

    /// The answer to one question. While an earlier one hangs, no second is put: it would hang behind it.
    fn answer(&mut self, question: Question) -> Result<Reply, Unreadable> {
        if let Some(since) = self.waiting_since {
            // The late answer is of another moment, and maybe to another question: it only ends the wait.
            if self.answers.try_recv().is_err() {
                return Err(Unreadable::Hung(since.elapsed().as_secs()));
            }
            self.waiting_since = None;
        }
        let gone = || Unreadable::Failed("the thread that asks NVML has ended".to_owned());
        self.ask.send(question).map_err(|_| gone())?;
        match self.answers.recv_timeout(self.patience) {
            Ok(reply) => Ok(reply),
            Err(RecvTimeoutError::Timeout) => {
                self.waiting_since = Some(Instant::now() - self.patience);
                Err(Unreadable::Hung(self.patience.as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

impl Cards for Deadline {
    fn inventory(&mut self) -> Result<Inventory, Unreadable> {
        match self.answer(Question::Inventory)? {
            Reply::Inventory(answer) => answer,
            Reply::Sample(_) => Err(Unreadable::Failed("an answer to another question".to_owned())),
        }
    }

    fn sample(&mut self) -> Result<Sample, Unreadable> {
        match self.answer(Question::Sample)? {
            Reply::Sample(answer) => answer,
            Reply::Inventory(_) => Err(Unreadable::Failed("an answer to another question".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::agent::card::Answer;

    /// Cards that answer only when they are let.
    struct Stuck(Receiver<()>);

    impl Cards for Stuck {
        fn inventory(&mut self) -> Result<Inventory, Unreadable> {
            self.0.recv().unwrap();
            Ok(Inventory {
                driver_version: Answer::Value("1".to_owned()),
                cuda_version: Answer::NotSupported,
                nvml_version: Answer::NotSupported,
                cards: Vec::new(),
            })
        }

        fn sample(&mut self) -> Result<Sample, Unreadable> {
            Ok(Sample::default())
        }
    }

    #[test]
    fn a_call_that_hangs_is_a_state_and_ends_when_the_driver_answers() {
        let (release, wait) = channel();
        let mut cards = Deadline::new(Box::new(Stuck(wait)), Duration::from_millis(50));
        assert_eq!(cards.inventory(), Err(Unreadable::Hung(0)));
        assert_eq!(cards.sample(), Err(Unreadable::Hung(0)), "no second question behind one that hangs");
        release.send(()).unwrap();
        release.send(()).unwrap();
        let answered = (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            cards.inventory().ok()
        });
        assert_eq!(answered.unwrap().driver_version, Answer::Value("1".to_owned()));
    }

    #[test]
    fn cards_that_answer_in_time_are_passed_on() {
        let (release, wait) = channel();
        release.send(()).unwrap();
        let mut cards = Deadline::new(Box::new(Stuck(wait)), Duration::from_secs(10));
        assert!(cards.inventory().is_ok());
        assert_eq!(cards.sample(), Ok(Sample::default()));
    }
}
