//! Image references and patterns for their repositories.

use crate::policy::scope::wildcard;

/// The repository of an image: registry host, tag and digest left out, lower case.
///
/// What stands before the first `/` is a host if it has a dot, a colon, or is `localhost`
/// (distribution/reference, `splitDockerDomain`).
#[must_use]
pub fn repository(image: &str) -> String {
    let image = image.trim();
    let name = image.split('@').next().unwrap_or(image);
    let after_slash = name.rfind('/').map_or(0, |slash| slash + 1);
    let name = match name[after_slash..].find(':') {
        Some(colon) => &name[..after_slash + colon],
        None => name,
    };
    let path = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => name,
    };
    path.to_lowercase()
}

/// A pattern for repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImagePattern {
    pattern: String,
    /// The last path component, where it has no wildcard.
    last: Option<String>,
}

impl ImagePattern {
    pub fn new(written: &str) -> Self {
        let pattern = repository(written);
        let last = pattern.rsplit('/').next().filter(|last| !last.contains('*')).map(str::to_owned);
        Self { pattern, last }
    }

    /// Only a repository with this last component can match.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Whether the repository, or its end from some `/` on, matches: mirrors and pull-through caches put
    /// their own path in front.
    pub fn matches(&self, repository: &str) -> bool {
        let ends = repository.match_indices('/').map(|(slash, _)| &repository[slash + 1..]);
        std::iter::once(repository).chain(ends).any(|end| wildcard(&self.pattern, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_tag_and_digest_are_not_part_of_a_repository() {
        for (image, expected) in [
            ("vllm/vllm-openai", "vllm/vllm-openai"),
            ("docker.io/vllm/vllm-openai:v0.11.0", "vllm/vllm-openai"),
            ("registry:5000/team/App:1@sha256:00", "team/app"),
            ("localhost/app", "app"),
            ("ghcr.io/ggml-org/llama.cpp:server-cuda", "ggml-org/llama.cpp"),
            ("ubuntu:24.04", "ubuntu"),
            ("", ""),
        ] {
            assert_eq!(repository(image), expected, "{image}");
        }
    }

    #[test]
    fn a_mirror_s_prefix_does_not_matter_and_a_longer_name_does() {
        let pattern = ImagePattern::new("vllm/vllm-openai");
        assert!(pattern.matches(&repository("vllm/vllm-openai:latest")));
        assert!(pattern.matches(&repository("harbor.example/docker-hub/vllm/vllm-openai@sha256:1")));
        assert!(!pattern.matches(&repository("vllm/vllm-openai-metrics")));
        assert!(!pattern.matches(&repository("example/other-vllm/vllm-openai-x")));
        assert!(!pattern.matches(&repository("notvllm/vllm-openai")));
    }

    #[test]
    fn wildcards_stand_within_names_and_across_slashes() {
        let pattern = ImagePattern::new("nim/*embed*");
        assert_eq!(pattern.last(), None);
        assert!(pattern.matches(&repository("nvcr.io/nim/nvidia/nv-embedqa-e5-v5:1")));
        assert!(!pattern.matches(&repository("nvcr.io/nim/meta/llama-3.1-8b-instruct:1")));
    }

    #[test]
    fn a_pattern_may_be_written_as_an_image() {
        assert!(ImagePattern::new("docker.io/vllm/vllm-openai:latest").matches("vllm/vllm-openai"));
    }
}
