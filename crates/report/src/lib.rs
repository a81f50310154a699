//! Renderings for people: the HTML report and the terminal summary.
