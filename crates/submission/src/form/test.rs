//! `testInfo`: the load generators and their configuration.

use super::node::{Node, Value, count, field, free, group, line, list, number};
use super::product::BOM_ITEM;

pub(super) const TEST_INFO: Node = group(
    "testInfo",
    "Test information",
    "The load generators, and how they were connected to the server.",
    const {
        &[
            list(
                "testEnvBomList",
                "Test environment bill of materials",
                "Every part of the load generators and of the network.",
                &BOM_ITEM,
                &["quantity", "vendor", "model"],
            ),
            list(
                "loadGeneratorTypes",
                "Load generators",
                "Every kind of host that made load.",
                &LG_TYPE,
                &["name", "processorName"],
            ),
            BENCHMARK_PARAMETERS,
            TESTBED,
            free(
                "dataflow",
                "Dataflow",
                "The path of the data from the load generators to the disks.",
            )
            .optional(),
            free(
                "uniformAccessRule",
                "Uniform access rule compliance",
                "How all load generators access all file systems uniformly: which network ports, nodes and file systems each of them used.",
            ),
            free(
                "otherTestNotes",
                "Other test notes",
                "Other properties of the test that explain the result.",
            )
            .optional(),
        ]
    },
);

static LG_TYPE: Node = group(
    "lgType",
    "Load generator type",
    "One kind of load generator.",
    const {
        &[
            line(
                "name",
                "LG type name",
                "A name for this kind, for example LG1.",
            ),
            line(
                "bomItem",
                "BOM item",
                "Its number in the bill of materials of the test environment.",
            )
            .optional(),
            line(
                "processorName",
                "Processor name",
                "Maker and model of the processor.",
            ),
            number(
                "processorSpeedGhz",
                "Processor speed, GHz",
                "Its clock rate, in GHz.",
            )
            .optional(),
            count(
                "processorCount",
                "Number of processors (chips)",
                "The number of chips.",
            )
            .optional(),
            count(
                "coreCount",
                "Cores",
                "Cores of the host that the load generator may use.",
            ),
            number(
                "memoryGib",
                "Memory size, GiB",
                "The host's memory, in GiB.",
            ),
            line(
                "operatingSystem",
                "Operating system",
                "Operating system and kernel, with versions.",
            ),
            line(
                "networkType",
                "Network type",
                "How it is connected, for example \"25 Gbit/s Ethernet\".",
            ),
        ]
    },
);

const BENCHMARK_PARAMETERS: Node = group(
    "benchmarkParameters",
    "Benchmark parameters",
    "How the load was made: the parameters of the rc file.",
    const {
        &[
        line(
            "attachedStorageType",
            "Network attached storage type",
            "The protocol between load generators and server, for example NFS V3.",
        )
        .of_run(),
        count(
            "lgCount",
            "Number of load generators",
            "Hosts that made load.",
        )
        .of_run(),
        line(
            "procsPerLg",
            "Number of processes per LG",
            "Load-generating processes on each of them; a range where it differs by load point.",
        )
        .of_run(),
        count(
            "biodMaxReads",
            "Biod max read setting",
            "Reads of one process in flight.",
        )
        .optional()
        .of_run(),
        count(
            "biodMaxWrites",
            "Biod max write setting",
            "Writes of one process in flight.",
        )
        .optional()
        .of_run(),
        line("blockSize", "Block size", "Largest transfer, or AUTO.")
            .optional()
            .of_run(),
        list(
            "rcParameters",
            "All parameters",
            "Every parameter of the rc file and of the command line.",
            &RC_PARAMETER,
            &["name", "value"],
        )
        .optional(),
    ]
    },
);

static RC_PARAMETER: Node = group(
    "parameter",
    "Parameter",
    "One parameter.",
    const {
        &[
            line("name", "Name", "The parameter's name in the rc file.").of_run(),
            line("value", "Value", "Its value. Secrets are not shown.")
                .optional()
                .of_run(),
        ]
    },
);

const TESTBED: Node = group(
    "testbed",
    "Testbed configuration",
    "Which load generator used which file systems over which network.",
    const {
        &[
            list(
                "testbedItems",
                "Testbed configuration",
                "Every load generator.",
                &TESTBED_ITEM,
                &["lgNumber", "targetFilesystems"],
            ),
            free(
                "notes",
                "Load generator configuration notes",
                "Other information on them.",
            )
            .optional(),
        ]
    },
);

static TESTBED_ITEM: Node = group(
    "testbedItem",
    "Load generator",
    "One load generator, or several of the same kind.",
    const {
        &[
            line("lgNumber", "LG no", "Its number, or a range such as 1..3."),
            line(
                "lgType",
                "LG type",
                "Its type, by its name under loadGeneratorTypes.",
            ),
            line(
                "network",
                "Network",
                "The network over which it reaches the server.",
            ),
            field(
                "targetFilesystems",
                "Target file systems",
                Value::FreeForm,
                "The file systems that it used.",
            ),
            free("notes", "Notes", "Other information on it.").optional(),
        ]
    },
);
