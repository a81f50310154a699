//! Free-form fields: text with fragments of HTML (manual M, 5.1.5), as safe HTML and
//! as plain text.
//!
//! The text is untrusted. The HTML output is built from a few known tags without
//! attributes and from escaped text: no script, event handler, style or address can
//! pass.

use crate::svg::escape;

/// A piece of a free-form text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Text with its white space collapsed; it may begin and end with a blank.
    Text(String),
    /// Text of `<pre>`, unchanged.
    Verbatim(String),
    /// `<p>`, or an empty line.
    Paragraph,
    /// `<br>`.
    Break,
    Open(Tag),
    Close(Tag),
}

/// The known tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Quote,
    List,
    Item,
    Pre,
    /// One that only changes the style of words.
    Inline(&'static str),
}

/// Deepest nesting; deeper elements stay at this level.
const DEPTH_MAX: usize = 20;
/// Tags that change the style of words, and are kept in HTML.
const INLINE: [&str; 11] = [
    "b", "i", "u", "em", "strong", "code", "tt", "sub", "sup", "small", "kbd",
];
/// Tags whose content is not text for readers.
const UNREAD: [&str; 5] = ["script", "style", "title", "template", "iframe"];

impl Tag {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "blockquote" => Self::Quote,
            "ul" | "ol" => Self::List,
            "li" => Self::Item,
            "pre" => Self::Pre,
            _ => Self::Inline(INLINE.iter().find(|known| **known == name)?),
        })
    }

    const fn html(self) -> &'static str {
        match self {
            Self::Quote => "blockquote",
            Self::List => "ul",
            Self::Item => "li",
            Self::Pre => "pre",
            Self::Inline(name) => name,
        }
    }
}

/// Splits a text into pieces.
fn pieces(source: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut is_verbatim = false;
    while !rest.is_empty() {
        let at = tag_start(rest).unwrap_or(rest.len());
        let (text, behind) = rest.split_at(at);
        push_text(&mut found, text, is_verbatim);
        let Some((name, is_end, behind)) = read_tag(behind) else {
            break;
        };
        rest = behind;
        match (name.as_str(), is_end) {
            ("p", false) => found.push(Piece::Paragraph),
            ("br", _) => found.push(Piece::Break),
            (name, false) if UNREAD.contains(&name) => rest = behind_end_of(rest, name),
            (name, _) => {
                if let Some(tag) = Tag::of(name) {
                    is_verbatim = match tag {
                        Tag::Pre => !is_end,
                        _ => is_verbatim,
                    };
                    found.push(match is_end {
                        true => Piece::Close(tag),
                        false => Piece::Open(tag),
                    });
                }
            }
        }
    }
    found
}

/// The position of the next tag or comment. Any other `<` is text.
fn tag_start(text: &str) -> Option<usize> {
    text.match_indices('<').map(|(at, _)| at).find(|at| {
        let behind = text.get(at + 1..).unwrap_or_default();
        let name = behind.strip_prefix('/').unwrap_or(behind);
        behind.starts_with("!--") || name.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

/// The tag at the start of `text`: its name, whether it is an end, and what follows.
/// A comment has an empty name. If it does not end, it includes all the rest.
fn read_tag(text: &str) -> Option<(String, bool, &str)> {
    let inner = text.strip_prefix('<')?;
    if inner.starts_with("!--") {
        let behind = inner.split_once("-->").map_or("", |(_, behind)| behind);
        return Some((String::new(), false, behind));
    }
    let (inner, behind) = inner.split_once('>').unwrap_or((inner, ""));
    let is_end = inner.starts_with('/');
    let name = inner.trim_start_matches('/');
    let name: String = name
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    Some((name.to_ascii_lowercase(), is_end, behind))
}

/// What follows the end tag of `name`; empty if there is none.
fn behind_end_of<'a>(text: &'a str, name: &str) -> &'a str {
    let is_end = |at: &usize| {
        let behind = text.get(at + 2..at + 2 + name.len());
        behind.is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    let end = text.match_indices("</").map(|(at, _)| at).find(is_end);
    let behind = end.and_then(|at| text.get(at..));
    behind
        .and_then(|t| t.split_once('>'))
        .map_or("", |(_, behind)| behind)
}

fn push_text(found: &mut Vec<Piece>, text: &str, is_verbatim: bool) {
    if is_verbatim {
        if !text.is_empty() {
            found.push(Piece::Verbatim(decode(text)));
        }
        return;
    }
    // An empty line separates paragraphs, as users type them.
    for (number, paragraph) in text.split("\n\n").enumerate() {
        if number > 0 {
            found.push(Piece::Paragraph);
        }
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        let edge = |is_blank: bool| if is_blank { " " } else { "" };
        let text = match words.is_empty() {
            true => edge(!paragraph.is_empty()).to_owned(),
            false => format!(
                "{}{}{}",
                edge(paragraph.starts_with(char::is_whitespace)),
                words.join(" "),
                edge(paragraph.ends_with(char::is_whitespace))
            ),
        };
        if !text.is_empty() {
            found.push(Piece::Text(decode(&text)));
        }
    }
}

/// Decodes the four character references; each once, from left to right.
fn decode(text: &str) -> String {
    const KNOWN: [(&str, char); 4] = [
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&amp;", '&'),
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match KNOWN
            .iter()
            .find(|(sequence, _)| from.starts_with(sequence))
        {
            Some((sequence, c)) => {
                out.push(*c);
                rest = from.get(sequence.len()..).unwrap_or_default();
            }
            None => {
                out.push('&');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

/// A free-form text as safe HTML: every tag closed, no attributes.
pub(super) fn fragment_html(source: &str) -> String {
    let mut out = String::new();
    let mut open: Vec<Tag> = Vec::new();
    for piece in pieces(source) {
        match piece {
            Piece::Text(text) | Piece::Verbatim(text) => out.push_str(&escape(&text)),
            Piece::Paragraph => out.push_str("<span class=\"para\"></span>"),
            Piece::Break => out.push_str("<br>"),
            Piece::Open(tag) => {
                if open.len() < DEPTH_MAX && allowed_in(tag, &open) {
                    if tag == Tag::Item && open.last() != Some(&Tag::List) {
                        close_to(&mut out, &mut open, Tag::Item);
                    }
                    out.push_str(&format!("<{}>", tag.html()));
                    open.push(tag);
                }
            }
            Piece::Close(tag) => close_to(&mut out, &mut open, tag),
        }
    }
    while let Some(tag) = open.pop() {
        out.push_str(&format!("</{}>", tag.html()));
    }
    out
}

/// Items are in lists only; blocks are not allowed in inline or preformatted text.
fn allowed_in(tag: Tag, open: &[Tag]) -> bool {
    match tag {
        Tag::Item => open.contains(&Tag::List),
        Tag::Inline(_) => true,
        Tag::Quote | Tag::List | Tag::Pre => !open.contains(&Tag::Pre),
    }
}

/// Closes everything up to the innermost `tag`, if it is open. An item reaches
/// no further than its own list.
fn close_to(out: &mut String, open: &mut Vec<Tag>, tag: Tag) {
    let within = match tag {
        Tag::Item => open
            .iter()
            .rposition(|t| *t == Tag::List)
            .map_or(0, |at| at + 1),
        _ => 0,
    };
    let found = open.iter().skip(within).rposition(|t| *t == tag);
    let Some(at) = found.map(|at| at + within) else {
        return;
    };
    while open.len() > at {
        if let Some(tag) = open.pop() {
            out.push_str(&format!("</{}>", tag.html()));
        }
    }
}

/// A free-form text as lines of at most `width` columns (longer words stay whole).
pub(super) fn fragment_text(source: &str, width: usize) -> Vec<String> {
    let mut page = Page::new(width);
    for piece in pieces(source) {
        match piece {
            Piece::Text(text) => page.words(&text),
            Piece::Verbatim(text) => page.verbatim(&text),
            Piece::Paragraph => page.paragraph(),
            Piece::Break => page.end_line(),
            Piece::Open(Tag::Quote) => page.indent(4),
            Piece::Close(Tag::Quote) => page.outdent(4),
            Piece::Open(Tag::List) => page.open_list(),
            Piece::Close(Tag::List) => page.close_list(),
            Piece::Open(Tag::Item) => page.item(),
            Piece::Open(Tag::Pre) | Piece::Close(Tag::Pre) => page.fresh_line(),
            Piece::Close(Tag::Item)
            | Piece::Open(Tag::Inline(_))
            | Piece::Close(Tag::Inline(_)) => {}
        }
    }
    page.end()
}

/// Lines filled with words.
struct Page {
    width: usize,
    indent: usize,
    list_depth: usize,
    lines: Vec<String>,
    line: String,
    /// The text before the first word of the next line, for items.
    bullet: Option<&'static str>,
    has_blank: bool,
}

impl Page {
    const fn new(width: usize) -> Self {
        Self {
            width,
            indent: 0,
            list_depth: 0,
            lines: Vec::new(),
            line: String::new(),
            bullet: None,
            has_blank: false,
        }
    }

    fn words(&mut self, text: &str) {
        if text.starts_with(' ') {
            self.has_blank = true;
        }
        for word in text.split_whitespace() {
            self.word(word);
            self.has_blank = true;
        }
        self.has_blank = text.ends_with(' ') || (self.has_blank && text.trim().is_empty());
    }

    fn word(&mut self, word: &str) {
        let blank = usize::from(self.has_blank && !self.line.is_empty());
        let is_full = columns(&self.line) + blank + columns(word) > self.width;
        // A word directly after a word (`<b>a</b>b`) stays with it.
        if is_full && blank > 0 {
            self.end_line();
        }
        if self.line.is_empty() {
            let bullet = self.bullet.take();
            let lead = match bullet {
                Some(_) => self.indent.saturating_sub(2),
                None => self.indent,
            };
            self.line = " ".repeat(lead);
            self.line.push_str(bullet.unwrap_or_default());
        } else if self.has_blank {
            self.line.push(' ');
        }
        self.line.push_str(word);
        self.has_blank = false;
    }

    fn verbatim(&mut self, text: &str) {
        // The line break behind `<pre>` is not shown, as in browsers.
        let text = text.strip_prefix('\n').unwrap_or(text);
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
            }
            if self.line.is_empty() && !line.is_empty() {
                self.line = " ".repeat(self.indent);
            }
            self.line.push_str(line);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.lines.push(line.trim_end().to_owned());
        self.has_blank = false;
    }

    fn fresh_line(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.has_blank = false;
    }

    fn paragraph(&mut self) {
        self.fresh_line();
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn indent(&mut self, by: usize) {
        self.fresh_line();
        self.indent = (self.indent + by).min(4 * DEPTH_MAX).min(self.width / 2);
    }

    fn outdent(&mut self, by: usize) {
        self.fresh_line();
        self.indent = self.indent.saturating_sub(by);
    }

    fn open_list(&mut self) {
        self.indent(4);
        self.list_depth += 1;
    }

    fn close_list(&mut self) {
        if self.list_depth > 0 {
            self.list_depth -= 1;
            self.bullet = None;
            self.outdent(4);
        }
    }

    fn item(&mut self) {
        self.fresh_line();
        self.bullet = Some(if self.list_depth > 1 { "- " } else { "* " });
    }

    fn end(mut self) -> Vec<String> {
        self.fresh_line();
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        self.lines
    }
}

/// Columns of a text on a terminal, approximately.
fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(source: &str, width: usize) -> String {
        fragment_text(source, width).join("\n")
    }

    /// The example of manual M, 5.1.5.
    #[test]
    fn the_seeds_example_comes_out_in_both_forms() {
        let source = "Disk drive that contains <b><u>many</u></b> interesting\nfeatures including the fact that it holds bits of\ninformation.";
        assert_eq!(
            fragment_html(source),
            "Disk drive that contains <b><u>many</u></b> interesting features including the fact that it holds bits of information."
        );
        assert_eq!(
            text(source, 31),
            "Disk drive that contains many\ninteresting features including\nthe fact that it holds bits of\ninformation."
        );
    }

    #[test]
    fn every_tag_of_the_seeds_table_has_its_effect() {
        assert_eq!(text("one<p>two<br>three", 40), "one\n\ntwo\nthree");
        assert_eq!(
            text("a<blockquote>b<p>c</blockquote>d", 40),
            "a\n    b\n\n    c\nd"
        );
        let list = "x<ul><li>one<li>two two<ul><li>deep</ul></ul>y";
        assert_eq!(text(list, 40), "x\n  * one\n  * two two\n      - deep\ny");
        assert_eq!(text("<ul><li>a b c d</ul>", 8), "  * a b\n    c d");
        assert_eq!(text("a<pre>\n  x\n y</pre>b", 40), "a\n  x\n y\nb");
        assert_eq!(
            text("<font color=\"red\">red</font> <center>c</center>", 40),
            "red c"
        );
        assert_eq!(
            text("a &lt;b&gt; &quot;c&quot; &amp;lt; &nbsp;", 40),
            "a <b> \"c\" &lt; &nbsp;"
        );
        assert_eq!(text("one\n\ntwo", 40), "one\n\ntwo");
        assert_eq!(text("1 < 2 and 3<4", 40), "1 < 2 and 3<4");
        assert_eq!(text("<b>bo</b>ld", 40), "bold");
    }

    #[test]
    fn no_active_content_passes() {
        for source in [
            "<script>alert(1)</script>x",
            "<ScRiPt src=//attacker>alert(1)</sCrIpT >x",
            "<img src=x onerror=alert(1)>x",
            "<b onclick=alert(1)>x</b>",
            "<a href='javascript:alert(1)'>x</a>",
            "<style>@import 'http://attacker'</style>x",
            "<svg><script>alert(1)</script></svg>x",
            "<!-- <script> -->x",
            "<b <script>x",
            "&lt;script&gt;x",
            "<iframe src=//attacker></iframe>x",
        ] {
            let html = fragment_html(source);
            assert!(html.contains('x'), "{source}: {html}");
            for bad in [
                "<script",
                "onerror=",
                "onclick",
                "href",
                "src=",
                "<style",
                "<iframe",
                "<img",
                "alert(1)<",
            ] {
                assert!(!html.contains(bad), "{source}: {html}");
            }
        }
    }

    #[test]
    fn lists_are_closed_where_they_belong() {
        assert_eq!(
            fragment_html("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>"),
            "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"
        );
        assert_eq!(fragment_html("<li>a</ul></b><i>b"), "a<i>b</i>");
    }

    proptest! {
        /// For any input: known tags only, each closed in order.
        #[test]
        fn the_output_is_balanced(source in "(<|>|/|b|ul|li|pre|p|script| |x|=|\"|!--|-->|&|lt;|\n){0,60}") {
            let html = fragment_html(&source);
            let mut open = Vec::new();
            for tag in html.split('<').skip(1) {
                let name = tag.split('>').next().unwrap_or_default();
                match name.strip_prefix('/') {
                    Some(end) => prop_assert_eq!(open.pop(), Some(end.to_owned())),
                    None if name == "br" => {}
                    None if name == "span class=\"para\"" => open.push("span".into()),
                    None => {
                        prop_assert!(Tag::of(name).is_some(), "{} of {:?}", name, source);
                        open.push(name.to_owned());
                    }
                }
            }
            prop_assert!(open.is_empty());
            let _ = fragment_text(&source, 10);
        }
    }
}
