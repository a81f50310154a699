//! Groups sentences that differ only in their figures.

/// A number before one of these is a figure; another may be part of a name or an address.
const UNITS: [&str; 6] = ["%", "s", "°C", "W", "V", "Hz"];

/// The sentences. Those that differ only in figures with a unit become equal, with the
/// least and the greatest of each figure: `drifts by +2.1 to +3.4 %`.
pub fn group_similar(sentences: &[(u32, &str)]) -> Vec<(u32, String)> {
    let shapes: Vec<SentencePattern<'_>> = sentences
        .iter()
        .map(|(_, s)| SentencePattern::of(s))
        .collect();
    let mut spans: Vec<(&SentencePattern<'_>, Vec<Span<'_>>)> = Vec::new();
    for shape in &shapes {
        match spans.iter_mut().find(|(known, _)| known.is_like(shape)) {
            Some((_, known)) => {
                for (span, figure) in known.iter_mut().zip(shape.figures()) {
                    span.widen(figure);
                }
            }
            None => spans.push((shape, shape.figures().map(Span::of).collect())),
        }
    }
    let with_ranges = |(shape, (number, sentence)): (&SentencePattern<'_>, &(u32, &str))| {
        let known = spans.iter().find(|(known, _)| known.is_like(shape));
        let words = known.map_or((*sentence).to_owned(), |(known, spans)| {
            known.with_ranges(spans)
        });
        (*number, words)
    };
    shapes.iter().zip(sentences).map(with_ranges).collect()
}

/// A sentence as words.
struct SentencePattern<'a>(Vec<PatternWord<'a>>);

/// A word, and its value where it is a figure.
type PatternWord<'a> = (&'a str, Option<f64>);

impl<'a> SentencePattern<'a> {
    fn of(sentence: &'a str) -> Self {
        let words: Vec<&str> = sentence.split(' ').collect();
        let figure = |(place, word): (usize, &&'a str)| {
            let next = words.get(place + 1).copied().unwrap_or_default();
            let is_unit = UNITS.contains(&next.trim_end_matches([',', ';', ':', '.', ')']));
            let value = word.parse().ok().filter(|v: &f64| is_unit && v.is_finite());
            (*word, value)
        };
        Self(words.iter().enumerate().map(figure).collect())
    }

    fn figures(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let words = self.0.iter();
        words.filter_map(|(word, value)| value.map(|v| (*word, v)))
    }

    fn is_like(&self, other: &Self) -> bool {
        let same = |(a, b): (&PatternWord<'_>, &PatternWord<'_>)| match (a.1, b.1) {
            (Some(_), Some(_)) => true,
            (None, None) => a.0 == b.0,
            _ => false,
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }

    fn with_ranges(&self, spans: &[Span<'_>]) -> String {
        let mut spans = spans.iter();
        let word = |(word, value): &PatternWord<'_>| match value.and_then(|_| spans.next()) {
            Some(span) if span.low.1 < span.high.1 => {
                format!("{} to {}", span.low.0, span.high.0)
            }
            _ => (*word).to_owned(),
        };
        self.0.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The least and the greatest of a figure, as they were written.
struct Span<'a> {
    low: (&'a str, f64),
    high: (&'a str, f64),
}

impl<'a> Span<'a> {
    fn of(figure: (&'a str, f64)) -> Self {
        Self {
            low: figure,
            high: figure,
        }
    }

    fn widen(&mut self, figure: (&'a str, f64)) {
        if figure.1 < self.low.1 {
            self.low = figure;
        }
        if figure.1 > self.high.1 {
            self.high = figure;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_joined_and_names_are_not() {
        let drifts = |by| format!("power is not stable: it drifts by {by} % over RUN (limit 2 %)");
        let (a, b, c) = (drifts("+2.1"), drifts("-8.0"), drifts("+3.4"));
        let joined = group_similar(&[
            (1, &a),
            (2, &b),
            (3, &c),
            (4, "element 1: silent"),
            (5, "element 2: silent"),
        ]);
        let words: Vec<&str> = joined.iter().map(|(_, w)| w.as_str()).collect();
        let drift = drifts("-8.0 to +3.4");
        assert_eq!(
            words,
            [
                &drift,
                &drift,
                &drift,
                "element 1: silent",
                "element 2: silent"
            ]
        );
        assert_eq!(group_similar(&[(7, &a)]), [(7, a.clone())]);
        assert!(group_similar(&[]).is_empty());
    }
}
