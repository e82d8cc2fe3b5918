//! Numbers out of a metrics page in the Prometheus text format.

/// The sum of the series called `name` that carry all these labels; 0 where there is none.
pub fn sum(page: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    let wanted: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
    let values = page.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let (known, with) = series.split_once('{').unwrap_or((series, ""));
        let with = with.trim_end_matches('}');
        let carries = |wanted: &String| with.split(',').any(|label| label.trim() == wanted);
        (known == name && wanted.iter().all(carries)).then(|| value.parse::<f64>().ok())?
    });
    values.sum()
}
