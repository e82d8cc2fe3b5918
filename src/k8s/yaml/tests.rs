use serde_json::json;

use super::*;

fn read(text: &str) -> Vec<Document<'_>> {
    documents(text).map(|document| document.unwrap_or_else(|fault| panic!("{fault} in {text}"))).collect()
}

fn values(text: &str) -> Vec<Value> {
    read(text).into_iter().map(|document| document.value).collect()
}

fn fault(text: &str) -> Fault {
    documents(text).find_map(Result::err).unwrap_or_else(|| panic!("no fault in {text}"))
}

#[test]
fn scalars_are_what_kubectl_makes_of_them() {
    for (text, want) in [
        ("yes", json!(true)),
        ("y", json!(true)),
        ("on", json!(true)),
        ("NO", json!(false)),
        ("tRUE", json!("tRUE")),
        ("0755", json!(493)),
        ("0o755", json!(493)),
        ("0O17", json!(15)),
        ("0o8", json!("0o8")),
        ("+0755", json!(493)),
        ("-0755", json!(-493)),
        ("0777_7", json!(4095)),
        ("08", json!(8)),
        ("09_9", json!(99)),
        ("1_000", json!(1000)),
        ("1__0", json!(10)),
        ("_1", json!("_1")),
        ("0x1F", json!(31)),
        ("0X1F", json!(31)),
        ("-0x1F", json!(-31)),
        ("0xFFFFFFFFFFFFFFFFFF", json!("0xFFFFFFFFFFFFFFFFFF")),
        ("0b11", json!(3)),
        ("0b", json!("0b")),
        ("+1", json!(1)),
        ("-0", json!(0)),
        ("1e3", json!(1000)),
        ("12e03", json!(12000)),
        ("-.5e+3", json!(-500)),
        ("1E-2", json!(0.01)),
        ("1.0", json!(1)),
        ("1.10", json!(1.1)),
        (".5", json!(0.5)),
        (".5_0", json!(0.5)),
        ("1.", json!(1)),
        ("+12.5", json!(12.5)),
        ("1e400", json!("1e400")),
        ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
        ("190:20:30", json!("190:20:30")),
        ("2001-01-01", json!("2001-01-01")),
        ("~", Value::Null),
        ("Null", Value::Null),
        ("500m", json!("500m")),
        ("1Gi", json!("1Gi")),
        ("NaN", json!("NaN")),
        ("=", json!("=")),
        ("\"0755\"", json!("0755")),
        ("'yes'", json!("yes")),
        ("!!str 5", json!("5")),
        ("!!str", json!("")),
        ("!!int \"5\"", json!(5)),
        ("!!float 3", json!(3)),
        ("!!bool yes", json!(true)),
        ("!!binary aGVsbG8=", json!("hello")),
        ("!custom 5", json!("5")),
        ("|\n    a\n    b", json!("a\nb\n")),
        (">-\n    a\n    b", json!("a b")),
    ] {
        assert_eq!(values(&format!("a: 1\nx: {text}\n")), [json!({"a": 1, "x": want})], "{text}");
    }
}

#[test]
fn what_kubectl_cannot_read_is_a_fault() {
    for text in
        [".inf", "+.Inf", ".nan", "!!int 3.5", "!!int yes", "!!null x", "!!binary \"%%%\"", "a: b", "*nope"]
    {
        assert_eq!(fault(&format!("a: 1\nx: {text}\n")).line, 2, "{text}");
    }
    fault("x: &a [*a]\n");
    fault("? [a, b]\n: c\n");
    fault("null: x\n");
    fault("x: {<<: 5}\n");
    fault("x:\n\ty: 1\n");
}

#[test]
fn keys_are_texts_and_the_last_of_equal_ones_wins() {
    assert_eq!(
        values("1: a\nyes: b\n1.50: c\n0x10: d\nk: 1\nk: 2\n"),
        [json!({"1": "a", "true": "b", "1.5": "c", "16": "d", "k": 2})]
    );
}

#[test]
fn merge_keys_lie_over_what_stands_before_them() {
    let base = "b: &b {p: 1, q: 2}\nc: &c {q: 5, r: 6}\n";
    for (mapping, want) in [
        ("{<<: *b, q: 3}", json!({"p": 1, "q": 3})),
        ("{q: 3, <<: *b}", json!({"p": 1, "q": 2})),
        ("{<<: [*b, *c]}", json!({"q": 2, "r": 6, "p": 1})),
        ("{\"<<\": {a: 1}}", json!({"<<": {"a": 1}})),
    ] {
        assert_eq!(values(&format!("{base}m: {mapping}\n"))[0]["m"], want, "{mapping}");
    }
}

#[test]
fn documents_are_counted_where_they_hold_something_and_know_their_line() {
    let text =
        "# first\n---\n---\n# only a comment\n---\na: 1\n...\n---\nb: 1\n--- # more\n\nc: 1\n---\nnull\n";
    let found: Vec<_> = read(text).iter().map(|d| (d.index, d.line, d.value.clone())).collect();
    assert_eq!(found, [(1, 6, json!({"a": 1})), (2, 9, json!({"b": 1})), (3, 12, json!({"c": 1}))]);
    assert_eq!(values("\u{feff}a: 1\r\n---\r\nb: 2\r\n"), [json!({"a": 1}), json!({"b": 2})]);
    assert_eq!(values(""), Vec::<Value>::new());
}

#[test]
fn json_documents_may_follow_one_another_and_mix_with_yaml() {
    let text = "{\"a\": 1}\n\n{\"a\":\n 2}\n---\na: 3\n---\n{a: 4, b: }\n";
    let found: Vec<_> = read(text).iter().map(|d| (d.index, d.line, d.value["a"].clone())).collect();
    assert_eq!(found, [(1, 1, json!(1)), (2, 3, json!(2)), (3, 6, json!(3)), (4, 8, json!(4))]);
}

#[test]
fn a_broken_document_does_not_take_the_next_ones_with_it() {
    let read: Vec<_> = documents("a: 1\n---\nb: [\nc: 2\n---\nd: 3\n").collect();
    assert_eq!(read.len(), 3);
    let broken = read[1].as_ref().expect_err("a flow sequence without end");
    assert_eq!((broken.document, broken.line), (2, 3), "{broken}");
    assert_eq!(read[2].as_ref().map(|d| (d.index, d.value.clone())), Ok((3, json!({"d": 3}))));
    assert!(fault("a: 1\n...\nb: 2\n").what.contains("without `---`"));
}

#[test]
fn aliases_cannot_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let alias = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", vec![alias; 10].join(", "));
    }
    assert!(fault(&text).what.contains("more than a million values"));
}

#[test]
fn places_are_lines_of_the_whole_text() {
    let text =
        "---\na: 1\n---\nkind: List\nitems:\n- kind: Pod\n  spec:\n    x: 5\n- kind: Pod\n  spec: {x: 6}\n";
    let documents = read(text);
    let places = documents[1].places();
    assert_eq!(places.line([]), 4);
    assert_eq!(places.line(["items", "0", "spec"]), 7);
    assert_eq!(places.line(["items", "0", "spec", "x"]), 8);
    assert_eq!(places.line(["items", "1", "spec", "x"]), 10);
    assert_eq!(places.line(["items", "0", "spec", "absent"]), 7);
    assert_eq!(places.item_lines(["items"]).collect::<Vec<_>>(), [6, 9]);
    assert_eq!(places.item_lines(["nothing"]).count(), 0);

    let json = read("{\"a\": 1}\n{\n \"items\": [\n  {\"b\": 2}\n ]\n}\n");
    assert_eq!(json[1].places().line(["items", "0", "b"]), 4);
}

#[test]
fn what_is_written_is_read_back_the_same() {
    let words: Vec<&str> = vec![
        "yes",
        "y",
        "off",
        "0755",
        "1_000",
        "1e3",
        "1.0",
        "~",
        "null",
        "",
        "190:20:30",
        "2001-01-01",
        ".inf",
        "<<",
        "=",
        "a: b",
        "# c",
        "- d",
        "'",
        "\"",
        "@x",
        "*x",
        "&x",
        "!x",
        "%x",
        "|",
        ">",
        " x ",
        "x\n",
        "x\ny\n\n",
        "\n",
        "\ttab",
        "ü \u{7f}\u{85}",
        "0o17",
        "0b1",
        "+1",
        "{{ x }}",
        "500m",
        "true",
        "-",
        "?",
        "a,b",
        "[x]",
        "---",
        "...",
        "\u{feff}x",
    ];
    let long = "word ".repeat(100);
    let value = json!({
        "words": words, "long": long, "keys": {"yes": 1, "1": 2, "": 3, "a: b": 4, "~": 5},
        "numbers": [0, -1, 1.5, 1e30, u64::MAX], "empty": [{}, []], "deep": [[{"a": [null, true]}]],
    });
    let text = to_text(&value).expect("JSON can be YAML");
    assert_eq!(values(&text), [value], "{text}");
    assert!(text.lines().any(|line| line.ends_with("word word") || line.contains(long.trim_end())), "{text}");
}
