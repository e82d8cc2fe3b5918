//! The words of a container's command line as its program gets them: references of Kubernetes replaced, scripts
//! of `sh -c` taken apart, variables of the shell replaced where they are known here.
//!
//! No shell: what a script computes (`$(nvidia-smi -L | wc -l)`) stays as it is written, and is then unknown to
//! whoever reads it as a number.

use crate::k8s::{
    expansion::{expand, value_of},
    object::Container,
};

/// Most words of one command line that are looked at: real ones have tens.
const MOST_WORDS: usize = 4096;

/// Variables and their values; `None` for one whose value cannot be seen here.
pub(super) type Environment = Vec<(String, Option<String>)>;

/// The words of command and arguments, flags cut at `=`.
pub(super) fn words(container: &Container, environment: &Environment) -> Vec<String> {
    let parts: Vec<String> = container
        .command
        .iter()
        .chain(&container.args)
        .map(|part| expand(part, |name| value_of(environment, name)))
        .collect();
    let mut words = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 && is_script_flag(&parts[index - 1]) && parts[..index].iter().any(|part| is_shell(part))
        {
            words.extend(script(part, environment));
        } else {
            words.extend(part.split_whitespace().flat_map(cut));
        }
        words.truncate(MOST_WORDS);
    }
    words
}

/// The name of the program without its folder: `/usr/bin/python3` is `python3`.
pub(super) fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// `-c`, also among other letters: `-lc`, `-ec`.
fn is_script_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.ends_with('c'))
}

fn is_shell(word: &str) -> bool {
    matches!(program(word), "sh" | "bash" | "ash" | "dash" | "zsh" | "ksh" | "busybox")
}

/// The words of a script. Assignments are followed in the order in which they are written.
fn script(text: &str, environment: &Environment) -> Vec<String> {
    let mut known = environment.clone();
    let mut words = Vec::new();
    for written in text.split_whitespace().take(MOST_WORDS) {
        let word = shell_expand(written.trim_matches(AROUND), &known);
        match assignment(&word) {
            Some((name, value)) => known.push((name.to_owned(), readable(value))),
            // A variable may hold several words.
            None => words.extend(word.split_whitespace().flat_map(cut)),
        }
    }
    words
}

/// What stands around a word in a script and is no part of it.
const AROUND: [char; 6] = ['"', '\'', ';', '\\', '&', '`'];

/// `NAME=value`, as it stands before a command or after `export`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(letter) && !name.starts_with(|c: char| c.is_ascii_digit()))
        .then_some((name, value))
}

/// What the shell would have to compute is not known here.
fn readable(value: &str) -> Option<String> {
    (!value.contains(['$', '`'])).then(|| value.trim_matches(AROUND).to_owned())
}

/// `$NAME`, `${NAME}`, `${NAME:-otherwise}` and `${NAME-otherwise}`; everything else stays.
fn shell_expand(word: &str, known: &Environment) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let (reference, after) = reference(&rest[at..]);
        match reference.and_then(|reference| value(reference, known)) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[at..rest.len() - after.len()]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// What a `$` refers to, and the rest behind it.
fn reference(text: &str) -> (Option<&str>, &str) {
    let inner = &text[1..];
    if let Some((inside, after)) = inner.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
        return (Some(inside), after);
    }
    let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
    if end == 0 { (None, inner) } else { (Some(&inner[..end]), &inner[end..]) }
}

fn value(reference: &str, known: &Environment) -> Option<String> {
    let (name, otherwise) = match reference.split_once(":-").or_else(|| reference.split_once('-')) {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (reference, None),
    };
    match known.iter().rfind(|(own, _)| own == name) {
        Some((_, Some(value))) if !value.is_empty() => Some(value.clone()),
        // It has a value, and nobody here knows which.
        Some((_, None)) => None,
        _ => otherwise.map(|text| text.trim_matches(AROUND).to_owned()),
    }
}

/// `--flag=value` as two words; `_` in flags as `-`, because the engines' parsers take both.
fn cut(word: &str) -> Vec<String> {
    let word = word.trim_matches(AROUND);
    if !word.starts_with('-') {
        return if word.is_empty() { Vec::new() } else { vec![word.to_owned()] };
    }
    match word.split_once('=') {
        Some((flag, value)) => vec![flag.replace('_', "-"), value.trim_matches(AROUND).to_owned()],
        // A negative number is a value, not a flag.
        None if word[1..].starts_with(|c: char| c.is_ascii_digit()) => vec![word.to_owned()],
        None => vec![word.replace('_', "-")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &[&str], environment: &[(&str, Option<&str>)]) -> Vec<String> {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        let environment =
            environment.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect();
        words(&Container { command, ..Container::default() }, &environment)
    }

    #[test]
    fn a_script_is_taken_apart_as_the_shell_would() {
        for (script, want) in [
            ("exec vllm serve m -tp 2", "2"),
            ("vllm serve m \\\n  --port 80 \\\n -tp \"2\"; echo", "2"),
            ("vllm serve m -tp $TP", "4"),
            ("vllm serve m -tp ${TP}", "4"),
            ("vllm serve m -tp ${OTHER:-8}", "8"),
            ("vllm serve m -tp ${TP:-8}", "4"),
            ("TP=2 && vllm serve m -tp $TP", "2"),
            ("export TP=${TP:-2}; vllm serve m -tp $TP", "4"),
            ("vllm serve $MORE", "16"),
            // Nobody here knows.
            ("vllm serve m -tp ${HIDDEN:-8}", "${HIDDEN:-8}"),
            ("TP=`nvidia-smi -L`; vllm serve m -tp $TP", "$TP"),
        ] {
            let known = [("TP", Some("4")), ("HIDDEN", None), ("MORE", Some("m -tp 16"))];
            let words = read(&["/bin/bash", "-lc", script], &known);
            let at = words.iter().position(|word| word == "-tp").expect(script);
            assert_eq!(words[at + 1], want, "{script}");
        }
    }

    #[test]
    fn only_a_shell_replaces_its_variables() {
        assert_eq!(read(&["vllm", "-tp", "$TP"], &[("TP", Some("2"))]), ["vllm", "-tp", "$TP"]);
        assert_eq!(read(&["vllm", "-tp=$(TP)"], &[("TP", Some("2"))]), ["vllm", "-tp", "2"]);
        assert_eq!(
            read(&["python", "-c", "x = $TP"], &[("TP", Some("2"))]),
            ["python", "-c", "x", "=", "$TP"]
        );
    }
}
