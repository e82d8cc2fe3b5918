//! Words of a command line and patterns for them.

use std::collections::HashMap;

use crate::{k8s::object::Container, policy::scope::wildcard};

/// Most words of one container that are looked at: real command lines have tens, a script pasted into
/// `args` may have thousands.
const MOST_WORDS: usize = 1024;

/// The words of a container's command and arguments, in order: lower case, shell scripts cut at blanks,
/// `--flag=value` as two words, `_` in flags as `-` (argument parsers of serving engines take both).
pub(super) fn words(container: &Container) -> Vec<String> {
    let parts = container.command.iter().chain(&container.args);
    let mut words = Vec::new();
    for word in parts.flat_map(|part| part.split_whitespace()) {
        push(word, &mut words);
        if words.len() >= MOST_WORDS {
            break;
        }
    }
    words
}

fn push(word: &str, words: &mut Vec<String>) {
    const QUOTES: [char; 8] = ['"', '\'', ';', '\\', '`', '(', ')', '&'];
    let word = word.trim_matches(QUOTES);
    if !word.starts_with('-') {
        words.extend((!word.is_empty()).then(|| word.to_lowercase()));
        return;
    }
    match word.split_once('=') {
        Some((flag, value)) => {
            words.push(flag.to_lowercase().replace('_', "-"));
            words.push(value.trim_matches(QUOTES).to_lowercase());
        }
        None => words.push(word.to_lowercase().replace('_', "-")),
    }
}

/// Words that must follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WordPattern {
    words: Vec<String>,
}

impl WordPattern {
    pub fn new(written: &str) -> Self {
        let mut words = Vec::new();
        written.split_whitespace().for_each(|word| push(word, &mut words));
        Self { words }
    }

    /// The first word, where it has no wildcard: only a command line with that word can match.
    pub fn first(&self) -> Option<&str> {
        self.words.first().map(String::as_str).filter(|word| !word.contains('*'))
    }

    fn matches_at(&self, words: &[String], start: usize) -> bool {
        let window = words.get(start..start + self.words.len());
        window.is_some_and(|window| {
            self.words.iter().zip(window).all(|(pattern, word)| word_matches(pattern, word))
        })
    }
}

/// A word, or the program's name at the end of a path.
fn word_matches(pattern: &str, word: &str) -> bool {
    wildcard(pattern, word) || (!pattern.contains('/') && wildcard(pattern, program(word)))
}

fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Patterns by their first word.
#[derive(Clone, Debug)]
pub(super) struct WordIndex<T> {
    by_first: HashMap<String, Vec<(WordPattern, T)>>,
    open: Vec<(WordPattern, T)>,
}

impl<T> Default for WordIndex<T> {
    fn default() -> Self {
        Self { by_first: HashMap::new(), open: Vec::new() }
    }
}

impl<T: Copy> WordIndex<T> {
    pub fn add(&mut self, pattern: WordPattern, entry: T) {
        match pattern.first().map(str::to_owned) {
            Some(first) => self.by_first.entry(first).or_default().push((pattern, entry)),
            None if pattern.words.is_empty() => {}
            None => self.open.push((pattern, entry)),
        }
    }

    /// Everything whose pattern occurs.
    pub fn find(&self, words: &[String], mut found: impl FnMut(T)) {
        for (start, word) in words.iter().enumerate() {
            let short = program(word);
            let exact = self.by_first.get(word).into_iter().flatten();
            let by_program =
                (short != word).then(|| self.by_first.get(short)).flatten().into_iter().flatten();
            for (pattern, entry) in exact.chain(by_program).chain(&self.open) {
                if pattern.matches_at(words, start) {
                    found(*entry);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurs(pattern: &str, command: &[&str]) -> bool {
        let args = command.iter().map(|&word| word.to_owned()).collect();
        let words = words(&Container { args, ..Default::default() });
        let mut index = WordIndex::default();
        index.add(WordPattern::new(pattern), ());
        let mut found = false;
        index.find(&words, |()| found = true);
        found
    }

    #[test]
    fn a_flag_is_found_however_it_is_written() {
        for command in [
            &["--task", "embed"][..],
            &["--task=embed"],
            &["vllm", "serve", "m", "--task=\"embed\""],
            &["sh", "-c", "exec vllm serve m --task embed;"],
            &["--Task", "EMBED"],
        ] {
            assert!(occurs("--task embed", command), "{command:?}");
        }
        for command in
            [&["--task", "generate"][..], &["--task"], &["embed", "--task"], &["--subtask", "embed"], &[]]
        {
            assert!(!occurs("--task embed", command), "{command:?}");
        }
    }

    #[test]
    fn a_program_is_found_by_name_or_path() {
        assert!(occurs("vllm serve", &["/opt/venv/bin/vllm", "serve", "m"]));
        assert!(occurs("-m vllm.entrypoints.*", &["python3", "-m", "vllm.entrypoints.openai.api_server"]));
        assert!(!occurs("vllm serve", &["vllm", "bench"]));
        assert!(!occurs("vllm serve", &["serve", "vllm"]));
    }

    #[test]
    fn wildcards_reach_over_a_model_s_path() {
        assert!(occurs("--model *whisper*", &["--model=/models/openai/Whisper-large-v3"]));
        assert!(occurs("*whisper* --port", &["openai/whisper", "--port"]));
        assert!(occurs("--served-model-name x", &["--served_model_name", "x"]));
    }
}
