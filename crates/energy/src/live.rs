//! The state of a collection as lines: watts, temperatures, traffic, the busiest
//! interfaces, the last problem. Pure: the same snapshot gives the same text.

use filermark_cli_kit::companion::Status;
use filermark_cli_kit::view::{
    Charset, Content, DrawTime, Line, Paint, Style, clock, columns, number,
};
use filermark_energy_meters::collect::{PortNow, Snapshot};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use std::time::Duration;

/// Interfaces that are shown.
const PORTS_SHOWN: usize = 5;
/// Most lines of a problem.
const FAILURE_ROWS: usize = 3;
/// Columns of a label at the beginning of a line.
const LABEL: usize = 9;
/// Columns of a bar of utilisation.
const BAR: usize = 10;
/// Longest name of an interface or a source that is shown whole.
const NAME_COLUMNS: usize = 28;

/// A collection without a run, as the view shows it.
pub struct CollectionContent {
    log: String,
    now: Box<Snapshot>,
    ending: bool,
}

impl CollectionContent {
    /// By the name of its log.
    pub fn new(log: String) -> Self {
        Self {
            log,
            now: Box::default(),
            ending: false,
        }
    }

    /// Replaces the state that is shown.
    pub fn update(&mut self, snapshot: Snapshot) {
        *self.now = snapshot;
    }
}

impl Content for CollectionContent {
    fn stop(&mut self) {
        self.ending = true;
    }

    fn lines(&self, now: &DrawTime, style: Style) -> Vec<String> {
        view(&self.log, self.ending, now.passed, &self.now, style)
    }
}

/// A collection without a run: its title, and its state.
fn view(log: &str, ending: bool, passed: Duration, now: &Snapshot, style: Style) -> Vec<String> {
    let mut title = Line::default();
    title
        .add(Paint::Strong, format!(" energy {}", one_line(log)))
        .add(Paint::Plain, format!("   {}", clock(passed)));
    if ending {
        title.add(Paint::Plain, "   ending");
    }
    let mut drawn = vec![title.render(style.width, style.colour)];
    drawn.extend(lines(now, style));
    drawn
}

/// A collection during a run, as the view of the run shows it.
pub struct CollectionStatus(pub Snapshot);

impl Status for CollectionStatus {
    fn lines(&self, style: Style) -> Vec<String> {
        lines(&self.0, style)
    }

    fn line(&self) -> String {
        format!("energy: {}", status_line(&self.0))
    }
}

/// The lines of a snapshot.
fn lines(now: &Snapshot, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(power(now));
    lines.extend(sources(now));
    lines.extend(traffic(now));
    lines.extend(ports(&now.ports, style));
    let failures = now.last_problem.iter();
    lines.extend(failures.flat_map(|sentence| problem_lines(&one_line(sentence), style)));
    let text = lines
        .iter()
        .map(|line| line.render(style.width, style.colour));
    text.collect()
}

/// The state in one sentence, for output that is not a terminal.
pub fn status_line(now: &Snapshot) -> String {
    let mut parts = Vec::new();
    if !now.sources.is_empty() {
        parts.extend(now.power_w.map(|w| format!("{} W", number(w, 1))));
        parts.extend(
            now.client_power_w
                .map(|w| format!("clients {} W", number(w, 1))),
        );
        parts.extend(now.sources.iter().map(|source| {
            let value = source.value.as_deref().unwrap_or("silent");
            format!(
                "{} {value}{}",
                one_line(&source.name),
                mark(source.simulated)
            )
        }));
    }
    parts.extend(
        now.traffic_mib_per_s
            .map(|rate| format!("{} MiB/s", number(rate, 1))),
    );
    let (came, lost) = now.datagrams;
    if came == 0
        && now.ports.is_empty()
        && let Some(listens) = now.listens
    {
        parts.push(format!("traffic: nothing yet on {listens}"));
    }
    if came > 0 || !now.ports.is_empty() {
        parts.push(counted(came, "datagram"));
    }
    if lost > 0 {
        parts.push(format!("{lost} lost"));
    }
    match parts.is_empty() {
        true => "nothing has come yet".into(),
        false => parts.join(", "),
    }
}

const fn mark(simulated: bool) -> &'static str {
    if simulated { " (simulated)" } else { "" }
}

/// Watts of the server and of the clients.
fn power(now: &Snapshot) -> Option<Line> {
    let mut line = Line::new("power");
    let any_simulated = now.sources.iter().any(|source| source.simulated);
    match (now.power_w, now.client_power_w) {
        (None, None) if now.sources.is_empty() => return None,
        (None, None) => line.add(Paint::Faint, "no figure of every meter"),
        (Some(w), _) => line.add(Paint::Strong, format!("{} W", number(w, 1))),
        (None, Some(_)) => line.add(Paint::Bad, "server silent"),
    };
    if let Some(w) = now.client_power_w {
        line.add(Paint::Plain, format!("   clients {} W", number(w, 1)));
    }
    if any_simulated {
        line.add(Paint::Bad, "   SIMULATED");
    }
    Some(line)
}

/// Every meter and sensor with its last figure.
fn sources(now: &Snapshot) -> Option<Line> {
    let mut line = Line::new("meters");
    for (at, source) in now.sources.iter().enumerate() {
        let space = if at > 0 { "   " } else { "" };
        line.add(Paint::Faint, format!("{space}{} ", one_line(&source.name)));
        match &source.value {
            Some(value) => line.add(Paint::Plain, value.clone()),
            None => line.add(Paint::Bad, "silent"),
        };
    }
    (!now.sources.is_empty()).then_some(line)
}

/// The traffic of the chosen interfaces, and the datagrams received and lost.
fn traffic(now: &Snapshot) -> Option<Line> {
    let (came, lost) = now.datagrams;
    let mut line = Line::new("traffic");
    if came == 0 && now.ports.is_empty() && now.traffic_mib_per_s.is_none() {
        let listens = now.listens?;
        line.add(Paint::Bad, format!("nothing yet on {listens}"));
        return Some(line);
    }
    match now.traffic_mib_per_s {
        Some(rate) => line.add(Paint::Strong, format!("{} MiB/s", number(rate, 1))),
        None => line.add(Paint::Faint, "no chosen interface has a rate"),
    };
    let datagrams = if came == 1 { "" } else { "s" };
    line.add(
        Paint::Plain,
        format!("   {} datagram{datagrams}", number(came as f64, 0)),
    );
    if lost > 0 {
        line.add(Paint::Bad, format!(", {} lost", number(lost as f64, 0)));
    }
    Some(line)
}

/// The busiest interfaces, a line each; the chosen ones have a mark.
fn ports(ports: &[PortNow], style: Style) -> Vec<Line> {
    let shown = ports.get(..PORTS_SHOWN).unwrap_or(ports);
    let names = shown.iter().map(|port| columns(&name(port)));
    let widest = names.max().unwrap_or(0).min(NAME_COLUMNS);
    let line = |(at, port): (usize, &PortNow)| {
        let mut line = Line::new(if at == 0 { "ports" } else { "" });
        let (mark, paint) = match port.chosen {
            true => ("* ", Paint::Strong),
            false => ("  ", Paint::Plain),
        };
        let name = name(port);
        let space = widest.saturating_sub(columns(&name));
        line.add(paint, format!("{mark}{name}{}", " ".repeat(space)));
        line.add(Paint::Plain, "  ");
        match port.utilisation {
            Some(share) => {
                let (full, empty) = style.charset.bar(share, BAR);
                let paint = if share > 0.9 { Paint::Bad } else { Paint::Good };
                line.add(paint, full).add(Paint::Faint, empty);
                line.add(Paint::Plain, format!(" {:>3.0} %", share * 100.0));
            }
            None => {
                line.add(Paint::Faint, format!("{:<BAR$}      ", "speed ?"));
            }
        }
        let rates = format!(
            "  in {} out {} MiB/s",
            number(port.in_mib_per_s, 1),
            number(port.out_mib_per_s, 1)
        );
        line.add(Paint::Plain, rates);
        line
    };
    shown.iter().enumerate().map(line).collect()
}

/// The last problem. It begins with the source and ends with what to try, so it takes
/// several lines where one is too short.
fn problem_lines(sentence: &str, style: Style) -> Vec<Line> {
    let mut rows = vec![String::new()];
    let width_left = style.width.saturating_sub(LABEL).max(1);
    for word in sentence.split(' ') {
        let last = rows.last_mut();
        match last.filter(|row| row.is_empty() || columns(row) + 1 + columns(word) <= width_left) {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) => {
                row.push(' ');
                row.push_str(word);
            }
            None => rows.push(word.to_owned()),
        }
    }
    let dots = match style.charset {
        Charset::Unicode => "…",
        Charset::Ascii => "...",
    };
    let all = rows.len();
    rows.truncate(FAILURE_ROWS);
    for (at, row) in rows.iter_mut().enumerate() {
        let cut = columns(row) > width_left || all > FAILURE_ROWS && at + 1 == FAILURE_ROWS;
        if cut {
            while columns(row) + columns(dots) > width_left && row.pop().is_some() {}
            row.push_str(dots);
        }
    }
    let line = |(at, row): (usize, String)| {
        let mut line = Line::new(if at == 0 { "problem" } else { "" });
        line.add(Paint::Bad, row);
        line
    };
    rows.into_iter().enumerate().map(line).collect()
}

/// Its label, cut to the space of a line.
fn name(port: &PortNow) -> String {
    let mut name = one_line(&port.label);
    while columns(&name) > NAME_COLUMNS {
        name.pop();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_energy_meters::collect::SourceNow;

    fn style(width: usize, charset: Charset) -> Style {
        Style {
            width,
            colour: false,
            charset,
        }
    }

    fn source(name: &str, value: Option<&str>) -> SourceNow {
        SourceNow {
            name: name.into(),
            value: value.map(str::to_owned),
            simulated: false,
        }
    }

    fn port(label: &str, chosen: bool, rate: f64, utilisation: Option<f64>) -> PortNow {
        PortNow {
            label: label.into(),
            chosen,
            in_mib_per_s: rate,
            out_mib_per_s: rate / 8.0,
            utilisation,
        }
    }

    fn snapshot() -> Snapshot {
        Snapshot {
            power_w: Some(535.24),
            client_power_w: None,
            traffic_mib_per_s: Some(1_012.3),
            sources: vec![
                source("wt310", Some("535.2 W")),
                source("inlet", Some("23.4 °C")),
                source("rack", None),
            ],
            ports: vec![
                port("10.0.0.248 filer-e0a", true, 512.0, Some(0.43)),
                port("10.0.0.248 interface 3", false, 1.5, None),
            ],
            datagrams: (1234, 3),
            listens: None,
            last_problem: Some("rack: no answer\x1b[2J".into()),
        }
    }

    #[test]
    fn the_view_of_a_collection() {
        let style = style(90, Charset::Unicode);
        let passed = Duration::from_secs(65);
        let seen = view("lab.energy.jsonl", false, passed, &snapshot(), style);
        assert_eq!(
            seen,
            [
                " energy lab.energy.jsonl   1:05",
                " power   535.2 W",
                " meters  wt310 535.2 W   inlet 23.4 °C   rack silent",
                " traffic 1,012.3 MiB/s   1,234 datagrams, 3 lost",
                " ports   * 10.0.0.248 filer-e0a    ████░░░░░░  43 %  in 512.0 out 64.0 MiB/s",
                "           10.0.0.248 interface 3  speed ?           in 1.5 out 0.2 MiB/s",
                " problem rack: no answer\u{fffd}[2J",
            ]
        );
    }

    #[test]
    fn lines_fit_and_figures_that_are_made_up_state_so() {
        let mut now = snapshot();
        now.sources[0].simulated = true;
        now.ports = vec![port(&"x".repeat(200), true, 1e9, Some(f64::NAN)); 12];
        let seen = lines(&now, style(40, Charset::Ascii));
        assert!(seen.iter().all(|line| columns(line) <= 40), "{seen:?}");
        assert_eq!(seen.len(), 3 + PORTS_SHOWN + 1);
        assert!(seen[0].contains("SIMULATED"));
        assert!(status_line(&now).contains("wt310 535.2 W (simulated)"));
    }

    #[test]
    fn a_long_failure_takes_lines_and_ends_in_dots() {
        let now = Snapshot {
            last_problem: Some("wt310: connect: Connection refused; is it the line port?".into()),
            listens: "127.0.0.1:6343".parse().ok(),
            ..Snapshot::default()
        };
        assert_eq!(
            lines(&now, style(34, Charset::Ascii)),
            [
                " traffic nothing yet on 127.0.0.1:",
                " problem wt310: connect:",
                "         Connection refused; is it",
                "         the line port?",
            ]
        );
        let seen = lines(&now, style(24, Charset::Unicode));
        assert_eq!(
            seen.last().map(String::as_str),
            Some("         refused; is it…")
        );
        assert!(seen.iter().all(|line| columns(line) <= 24), "{seen:?}");
        assert_eq!(status_line(&now), "traffic: nothing yet on 127.0.0.1:6343");
    }

    #[test]
    fn nothing_is_reported_of_what_is_not_there() {
        let now = Snapshot::default();
        assert_eq!(lines(&now, style(80, Charset::Ascii)), Vec::<String>::new());
        assert_eq!(status_line(&now), "nothing has come yet");
        let mut now = snapshot();
        now.power_w = None;
        let seen = lines(&now, style(80, Charset::Ascii));
        assert_eq!(seen[0], " power   no figure of every meter");
        assert_eq!(
            status_line(&now),
            "wt310 535.2 W, inlet 23.4 °C, rack silent, 1,012.3 MiB/s, 1234 datagrams, 3 lost"
        );
    }
}
