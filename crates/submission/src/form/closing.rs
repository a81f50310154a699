//! Notes, compliance, and who submits.

use super::node::{Node, Value, YES_NO, field, free, group, line};

pub(super) const OTHER_REPORT_NOTES: Node = free(
    "otherReportNotes",
    "Other notes",
    "Notes that belong nowhere else, trademarks for example.",
)
.optional();

pub(super) const RESULT_COMPLIANCE: Node = group(
    "resultCompliance",
    "Compliance of the result",
    "Whether the result keeps the rules of this benchmark.",
    const {
        &[
        field(
            "isCompliant",
            "Compliant",
            Value::Choice(YES_NO),
            "Whether the result keeps the rules. Set to no by subedit -n.",
        ),
        free(
            "reason",
            "Why not",
            "Which rule is not kept, and why; has to be there when the result is not compliant.",
        )
        .optional(),
    ]
    },
);

pub(super) const SUBMISSION_INFO: Node = group(
    "submissionInfo",
    "Submission information",
    "Who sends this in. It is in the reviewer's edition only.",
    const {
        &[
            line(
                "submitterName",
                "Name",
                "Who answers questions about this submission.",
            ),
            field(
                "submitterEmail",
                "E-mail",
                Value::Mail,
                "Where questions go to.",
            ),
            field(
                "submissionDate",
                "Date",
                Value::Day,
                "When it is handed in.",
            ),
            free(
                "reviewersComments",
                "Comments for reviewers",
                "What a reviewer should know and a reader need not.",
            )
            .optional(),
        ]
    },
);
