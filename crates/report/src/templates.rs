//! The templates of pages and texts: in Jinja's language, in the
//! build, and each replaceable by a user's file of the same name.
//!
//! A template gets finished texts and markup, and has no access to anything else: no
//! file, no network, no function with such access. Endless ones are stopped. The memory
//! for texts inside of a template is not limited: users choose the templates that they
//! use.

use crate::svg::escape;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, Output, State, UndefinedBehavior};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Templates of a crate: (name, text). Output of `.html` templates is escaped automatically,
/// other output is not.
pub type Shipped = &'static [(&'static str, &'static str)];

/// The templates of this crate.
const SHIPPED: Shipped = &[
    ("report.html", include_str!("../templates/report.html")),
    ("record.html", include_str!("../templates/record.html")),
    ("report.txt", include_str!("../templates/report.txt")),
    ("report.css", include_str!("../templates/report.css")),
    (
        "submission.html",
        include_str!("../templates/submission.html"),
    ),
    (
        "submission.css",
        include_str!("../templates/submission.css"),
    ),
    (
        "submission.txt",
        include_str!("../templates/submission.txt"),
    ),
    ("compare.html", include_str!("../templates/compare.html")),
    ("chart.css", include_str!("../templates/chart.css")),
];

/// Steps that one rendering may take; a page of a hundred load points takes some
/// hundred thousand.
const STEPS_MAX: u64 = 20_000_000;
/// Deepest nesting of templates.
const DEPTH_MAX: usize = 50;
/// Largest output of one rendering, in bytes.
const OUTPUT_BYTES_MAX: usize = 256 << 20;
/// Largest template of a user, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Most files that are read in a user's directory.
const FILES_MAX: usize = 200;
/// Extensions of a user's templates; other files of the directory are ignored.
const EXTENSIONS: [&str; 4] = ["html", "txt", "css", "svg"];

/// A template cannot be read or rendered: `file:line: why`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct TemplateError {
    /// The file, with the line where one is known.
    pub place: String,
    /// What is wrong with it, and what to do.
    pub reason: String,
}

/// The templates in use.
#[derive(Clone, Debug)]
pub struct Templates {
    env: Environment<'static>,
    /// The paths of templates that are not shipped.
    files: BTreeMap<String, PathBuf>,
}

impl Templates {
    /// The shipped templates.
    pub fn builtin() -> Self {
        Self::builtin_and(&[])
    }

    /// The shipped templates, and those of another crate for its reports.
    pub fn builtin_and(more: Shipped) -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_fuel(Some(STEPS_MAX));
        env.set_recursion_limit(DEPTH_MAX);
        env.set_formatter(write_value);
        env.set_loader(move |name| {
            let mut all = SHIPPED.iter().chain(more);
            let shipped = all.find(|(known, _)| *known == name);
            Ok(shipped.map(|(_, text)| (*text).to_owned()))
        });
        Self {
            env,
            files: BTreeMap::new(),
        }
    }

    /// The templates of a directory, and the shipped ones for names that it lacks. Files
    /// of other names may be included by them.
    ///
    /// # Errors
    /// The directory or a file cannot be read, or a file is not a template: the message names
    /// the file and the line.
    pub fn with_dir(dir: &Path) -> Result<Self, TemplateError> {
        Self::builtin().and_dir(dir)
    }

    /// These templates, replaced by those of a directory with the same names: see [`Self::with_dir`].
    ///
    /// # Errors
    /// As [`Self::with_dir`].
    pub fn and_dir(self, dir: &Path) -> Result<Self, TemplateError> {
        let mut templates = self;
        let failed = |path: &Path, reason: String| TemplateError {
            place: path.display().to_string(),
            reason,
        };
        let entries = std::fs::read_dir(dir)
            .map_err(|e| failed(dir, format!("the templates cannot be read: {e}")))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.retain(|path| is_template(path));
        paths.sort();
        if paths.is_empty() {
            let reason =
                "there is no template in this directory: export the shipped ones and change those";
            return Err(failed(dir, reason.into()));
        }
        if paths.len() > FILES_MAX {
            let reason = format!("more than {FILES_MAX} templates: use a separate directory");
            return Err(failed(dir, reason));
        }
        for path in paths {
            let text = read(&path).map_err(|reason| failed(&path, reason))?;
            let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
                continue;
            };
            let name = name.to_owned();
            templates.files.insert(name.clone(), path);
            let added = templates.env.add_template_owned(name.clone(), text);
            added.map_err(|e| templates.explain(&name, &e))?;
        }
        Ok(templates)
    }

    /// Renders a template with the fields of `context`. Fields with markup must be
    /// marked `|safe` by the template; everything else is escaped in `.html`.
    ///
    /// # Errors
    /// There is no such template, it uses a field that does not exist, or it does not
    /// end.
    pub fn render(&self, name: &str, context: &impl Serialize) -> Result<String, TemplateError> {
        let mut out = Limited(Vec::new());
        let rendered = self.env.get_template(name).and_then(|template| {
            let context = Value::from(Serde(context));
            template.render_captured_to(context, &mut out).map(|_| ())
        });
        rendered.map_err(|e| self.explain(name, &e))?;
        String::from_utf8(out.0).map_err(|_| TemplateError {
            place: name.into(),
            reason: "produces output that is not text".into(),
        })
    }

    /// The names and texts of the shipped templates, to be exported and
    /// changed.
    pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
        SHIPPED.iter().copied()
    }

    /// The innermost of the errors, by file and line.
    fn explain(&self, name: &str, error: &minijinja::Error) -> TemplateError {
        let mut error = error;
        let inner = |e: &minijinja::Error| e.kind() == ErrorKind::BadInclude || e.line().is_none();
        while let Some(source) = std::error::Error::source(error) {
            match source.downcast_ref::<minijinja::Error>() {
                Some(deeper) if inner(error) => error = deeper,
                _ => break,
            }
        }
        let name = error.name().unwrap_or(name);
        let file = self.files.get(name).map_or_else(
            || format!("template {name}"),
            |path| path.display().to_string(),
        );
        let reason = match (error.kind(), error.detail()) {
            (ErrorKind::OutOfFuel, _) => {
                "the template takes too many steps; check it for endless loops".into()
            }
            (ErrorKind::WriteFailure, _) => format!(
                "the template produces more than {} MiB; check it for endless loops",
                OUTPUT_BYTES_MAX >> 20
            ),
            (ErrorKind::TemplateNotFound, _) => "there is no template of this name".into(),
            (kind, Some(detail)) => format!("{kind}: {detail}"),
            (kind, None) => kind.to_string(),
        };
        TemplateError {
            place: error
                .line()
                .map_or(file.clone(), |line| format!("{file}:{line}")),
            reason,
        }
    }
}

impl Default for Templates {
    fn default() -> Self {
        Self::builtin()
    }
}

fn is_template(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| EXTENSIONS.contains(&e)) && path.is_file()
}

fn read(path: &Path) -> Result<String, String> {
    let length = std::fs::metadata(path).map_or(0, |m| m.len());
    if length > FILE_BYTES_MAX {
        let most = FILE_BYTES_MAX >> 20;
        return Err(format!("longer than {most} MiB: this is not a template"));
    }
    std::fs::read_to_string(path).map_err(|e| format!("cannot be read as text: {e}"))
}

/// Writes a value; markup characters are escaped as [`escape`] does, which
/// leaves the slashes of paths alone.
fn write_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), minijinja::Error> {
    let plain = value.is_safe() || !matches!(state.auto_escape(), AutoEscape::Html);
    match value.as_str() {
        Some(text) if !plain => Ok(out.write_str(&escape(text))?),
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// Accepts bytes up to a limit.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > OUTPUT_BYTES_MAX {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    fn own(files: &[(&str, &str)]) -> Result<String, String> {
        let dir = dir_with(files);
        let context = serde_json::json!({"a": "<b>/x", "list": [1, 2], "gone": null});
        let templates = Templates::with_dir(dir.path()).map_err(|e| e.to_string());
        let rendered =
            templates.and_then(|t| t.render("x.html", &context).map_err(|e| e.to_string()));
        let shown = dir.path().join("").display().to_string();
        rendered.map_err(|e| e.replace(&shown, ""))
    }

    #[test]
    fn shipped_templates_are_sound() {
        let templates = Templates::builtin();
        for (name, _) in Templates::shipped() {
            assert!(templates.env.get_template(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn texts_are_escaped_and_markup_is_not() {
        let text =
            "{{ a }} {{ a|safe }} {{ list }}{% if gone is none %}!{% endif %}{% include 'y.txt' %}";
        let out = own(&[("x.html", text), ("y.txt", "{{ a }}")]);
        assert_eq!(out.as_deref(), Ok("&lt;b&gt;/x <b>/x [1, 2]!<b>/x"));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            ("\n{{ b }}", "x.html:2: undefined value"),
            ("\n\n{% if %}", "x.html:3: syntax error"),
            (
                "{% include 'none.html' %}",
                "x.html:1: there is no template",
            ),
            ("{% include 'y.txt' %}", "y.txt:2: undefined value"),
            ("{{ a|nonsense }}", "x.html:1: unknown filter"),
        ] {
            let error = own(&[("x.html", text), ("y.txt", "\n{{ list.none.more }}")]).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let error = own(&[("x.pdf", "")]).unwrap_err();
        assert!(
            error.contains("there is no template in this directory"),
            "{error}"
        );
        let error = Templates::builtin().render("none.html", &()).unwrap_err();
        assert!(error.to_string().contains("no template of this name"));
    }

    #[test]
    fn templates_without_end_are_cut_off() {
        let r = "{% for i in range(9999) %}";
        let end = "{% endfor %}";
        for text in [
            format!("{r}{r}{r}x{end}{end}{end}"),
            "{% include 'x.html' %}".to_owned(),
            "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
        ] {
            assert!(own(&[("x.html", &text)]).is_err(), "{text}");
        }
    }

    #[test]
    fn other_names_keep_the_shipped_ones() {
        let dir = dir_with(&[("report.css", "body { color: red }")]);
        let templates = Templates::with_dir(dir.path()).unwrap();
        let record = filermark_results::testing::record();
        let options = crate::ReportOptions::new(&templates);
        let page = crate::html(&record, &options).unwrap();
        assert!(page.contains("<style>body { color: red }</style>"));
    }
}
