//! Notes, compliance, and submitter.

use super::node::{Node, Value, YES_NO, field, free, group, line};

pub(super) const OTHER_REPORT_NOTES: Node = free(
    "otherReportNotes",
    "Other notes",
    "Other notes, for example on trademarks.",
)
.optional();

pub(super) const RESULT_COMPLIANCE: Node = group(
    "resultCompliance",
    "Compliance of the result",
    "Whether the result complies with the rules of this benchmark.",
    const {
        &[
            field(
                "isCompliant",
                "Compliant",
                Value::Choice(YES_NO),
                "Whether the result complies with the rules. Set to no by subedit -n.",
            ),
            free(
                "reason",
                "Why not",
                "Which rule is violated, and why; required if the result is not compliant.",
            )
            .optional(),
        ]
    },
);

pub(super) const SUBMISSION_INFO: Node = group(
    "submissionInfo",
    "Submission information",
    "Who submits the result. It is in the reviewer's edition only.",
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
                "The address for questions.",
            ),
            field(
                "submissionDate",
                "Date",
                Value::Day,
                "The day of the submission.",
            ),
            free(
                "reviewersComments",
                "Comments for reviewers",
                "Information for reviewers only.",
            )
            .optional(),
        ]
    },
);
