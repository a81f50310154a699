//! The definition files that ship with the program.

macro_rules! workloads {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each file; the order is that of `workload list`.
        pub(super) const FILES: &[(&str, &str)] = &[
            $((
                concat!("workloads/", $name, ".toml"),
                include_str!(concat!("../../definitions/workloads/", $name, ".toml")),
            ),)*
            ("composites.toml", include_str!("../../definitions/composites.toml")),
        ];
    };
}

// The default comes first.
workloads!(
    "METADATA",
    "BACKUP",
    "HOMEDIR",
    "SWBUILD",
    "DB_TABLE",
    "DB_LOG",
    "VDA1",
    "VDA2",
    "VDS",
    "VDI",
    "USERDEF",
    "EDA_FRONTEND",
    "EDA_BACKEND",
    "GENOMICS",
    "AI_SF",
    "AI_TF",
    "AI_TR",
    "AI_CP",
);
