use serde_json::json;

use super::*;

fn places(input: &Input) -> Vec<(String, usize, usize)> {
    let place = |object: &Object| {
        let name = object.value["metadata"]["name"].as_str().unwrap_or("?").to_owned();
        (name, object.source.document, object.source.line)
    };
    input.objects.iter().map(place).collect()
}

fn read_text(name: &str, text: &str) -> Input {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    fs::write(&file, text).expect("written");
    read(&[file], "default").expect("named files are read")
}

fn found(entries: &[(&str, usize, usize)]) -> Vec<(String, usize, usize)> {
    entries.iter().map(|(name, document, line)| ((*name).to_owned(), *document, *line)).collect()
}

#[test]
fn every_form_of_input_gives_objects_with_their_place() {
    let pod = |name: &str| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n");
    let json =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}).to_string();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n", json("a"), json("b"));
    let typed = format!("apiVersion: v1\nkind: PodList\nitems:\n- metadata:\n    name: a\n- {}\n", json("b"));
    let nested = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {{kind: List, items: [{}, {}]}}\n",
        json("a"),
        json("b")
    );
    for (name, text, want) in [
        ("one.yaml", pod("a"), found(&[("a", 1, 1)])),
        (
            "many.yaml",
            format!("# x\n---\n{}---\n\n---\n{}", pod("a"), pod("b")),
            found(&[("a", 1, 3), ("b", 2, 9)]),
        ),
        ("one.json", json("a"), found(&[("a", 1, 1)])),
        ("many.json", format!("{}\n{}\n", json("a"), json("b")), found(&[("a", 1, 1), ("b", 2, 2)])),
        ("list.yaml", list, found(&[("a", 1, 4), ("b", 1, 5)])),
        ("typed-list.yaml", typed, found(&[("a", 1, 4), ("b", 1, 6)])),
        ("nested-lists.yaml", nested, found(&[("a", 1, 1), ("b", 1, 1)])),
        ("crlf.yml", pod("a").replace('\n', "\r\n"), found(&[("a", 1, 1)])),
        ("empty.yaml", "# nothing\n---\n".into(), vec![]),
    ] {
        let input = read_text(name, &text);
        assert_eq!(places(&input), want, "{name}");
        assert_eq!((input.others, input.faults.as_slice()), (0, [].as_slice()), "{name}");
    }
}

#[test]
fn a_folder_is_read_with_all_below_it_and_nothing_hidden() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, name) in
        [("b.yaml", "b"), ("a/a.yml", "a"), ("a/c.json", "c"), (".git/d.yaml", "d"), ("e.txt", "e")]
    {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("made");
        fs::write(path, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}).to_string())
            .expect("written");
    }
    let input = read(&[folder.path().to_owned()], "default").expect("read");
    assert_eq!(places(&input), found(&[("a", 1, 1), ("c", 1, 1), ("b", 1, 1)]));
}

#[test]
fn what_is_no_object_is_counted_and_what_is_broken_is_told_with_its_place() {
    let input = read_text("values.yaml", "replicas: 1\n---\napiVersion: v1\nkind: Pod\n---\na: [\n");
    assert_eq!((input.objects.len(), input.others, input.faults.len()), (1, 1, 1));
    assert!(input.faults[0].contains("values.yaml:6:4: "), "{:?}", input.faults);
    let helm = read_text("pod.yaml", "kind: Pod\nname: {{ .Values.name }}\n  x\n");
    assert!(helm.faults[0].contains("helm template"), "{:?}", helm.faults);
    let absent = read(&[PathBuf::from("/absent.yaml")], "default").expect("told as a fault");
    assert!(absent.faults[0].starts_with("/absent.yaml cannot be read: "), "{:?}", absent.faults);
}

#[test]
fn quantities_keep_their_type_and_namespaces_are_filled_in() {
    let input = read_text(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nvidia.com/gpu: 1, cpu: 500m, on: \"1\"}\n---\n\
         apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: ml}\n",
    );
    let values: Vec<&Value> = input.objects.iter().map(|object| &*object.value).collect();
    assert_eq!(values[0]["spec"], json!({"nvidia.com/gpu": 1, "cpu": "500m", "true": "1"}));
    assert_eq!(values[0]["metadata"]["namespace"], "default");
    assert_eq!(values[1]["metadata"].get("namespace"), None);
    assert_eq!(values[2]["metadata"]["namespace"], "ml");
}

#[test]
fn a_field_path_leads_to_its_line_within_lists_too() {
    let input = read_text(
        "list.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec:\n    containers:\n    - name: a\n      \
         resources:\n        limits:\n          nvidia.com/gpu: 1\n",
    );
    let places = input.objects[0].places();
    assert_eq!(places.line("spec.containers[0].name"), 8);
    assert_eq!(places.line("spec.containers[0].resources.limits[\"nvidia.com/gpu\"]"), 11);
    assert_eq!(places.line("spec.containers[0].resources.limits['nvidia.com/gpu']"), 11);
    assert_eq!(places.line("spec.containers[0].resources.requests"), 9);
    assert_eq!(places.line("metadata.labels"), 4);
}
