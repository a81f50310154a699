//! `productInfo`: what was tested.

use super::node::{Node, Value, YES_NO, count, field, free, group, line, list, number};

pub(super) const PRODUCT_INFO: Node = group(
    "productInfo",
    "Product information",
    "What was tested: the product, its parts, and how it was set up.",
    const {
        &[
            VENDOR_AND_PRODUCT,
            list(
                "sutBomList",
                "Configuration bill of materials",
                "Every part of the system under test that a buyer would need to build it again.",
                &BOM_ITEM,
                &["quantity", "vendor", "model"],
            ),
            list(
                "configDiagrams",
                "Configuration diagrams",
                "Diagrams of the configuration; the archive contains the files.",
                &DIAGRAM,
                &["name", "file"],
            )
            .optional(),
            SERVER_SOFTWARE,
            HARDWARE_TUNING,
            SERVER_TUNING,
            free(
                "slaNotes",
                "Service SLA notes",
                "Service level agreements of rented systems: what was agreed and paid for.",
            )
            .optional(),
            DISKS,
            NETWORK,
            BENCH_NETWORK,
            list(
                "processingElements",
                "Processing elements of the server",
                "Every processor of the server that does file, network or storage work.",
                &PROCESSING_ELEMENT,
                &["quantity", "type"],
            ),
            free(
                "processingNotes",
                "Processing elements notes",
                "Other information on the processors.",
            )
            .optional(),
            list(
                "memory",
                "Memory of the server",
                "Every kind of memory of the server that holds data, caches included.",
                &MEMORY,
                &["description", "sizeGib", "quantity"],
            ),
            free(
                "memoryNotes",
                "Memory notes",
                "Other information on the memory.",
            )
            .optional(),
            free(
                "stableStorage",
                "Stable storage",
                "How the server keeps acknowledged stable data when the power fails or a part breaks: where the data are then, for how long, and what protects them.",
            ),
            free(
                "sutConfigNotes",
                "System under test configuration notes",
                "How the system was built and configured, in enough detail to repeat it.",
            ),
            free(
                "otherSystemNotes",
                "Other system notes",
                "Other properties of the system that explain the result.",
            )
            .optional(),
            PRICE,
            POWER,
        ]
    },
);

const VENDOR_AND_PRODUCT: Node = group(
    "vendorAndProduct",
    "Product and test information",
    "Who made the product, who tested it, when, and when it is available.",
    const {
        &[
            line(
                "vendor",
                "Vendor",
                "The name of the company or person that publishes this report.",
            ),
            line(
                "productName",
                "Product name",
                "The name of the product as its maker sells or publishes it, with model and configuration.",
            ),
            line(
                "testedBy",
                "Tested by",
                "Who made the measurement: a company, a laboratory, a person.",
            ),
            line(
                "testLocation",
                "Location of the test",
                "Where the test was made, or the cloud's region.",
            ),
            field(
                "hardwareAvailable",
                "Hardware available",
                Value::Month,
                "When all of the hardware is generally available.",
            ),
            field(
                "softwareAvailable",
                "Software available",
                Value::Month,
                "When all of the software, in these versions, is generally available.",
            ),
            field(
                "dateTested",
                "Date tested",
                Value::Month,
                "When the measurement was made.",
            ),
            line(
                "registrationNumber",
                "Licence or registration number",
                "The tester's licence or registration number, if a programme requires one.",
            )
            .optional(),
            free(
                "otherMarketingInfo",
                "About the product",
                "What the product is, in a few sentences.",
            ),
        ]
    },
);

/// A part of the system under test or of the load generators.
pub(super) static BOM_ITEM: Node = group(
    "bomItem",
    "Part",
    "One kind of part.",
    const {
        &[
            count("quantity", "Qty", "The number of these parts."),
            line(
                "type",
                "Type",
                "What kind of part it is, for example \"Storage controller\".",
            ),
            line("vendor", "Vendor", "Who makes it."),
            line("model", "Model/Name", "Its model or part number."),
            free("description", "Description", "What it is and does."),
        ]
    },
);

static DIAGRAM: Node = group(
    "diagram",
    "Diagram",
    "One diagram.",
    const {
        &[
            line("name", "Title", "What the diagram shows."),
            field(
                "file",
                "File",
                Value::Image,
                "The file of the diagram, in the folder of the submission.",
            ),
        ]
    },
);

const SERVER_SOFTWARE: Node = group(
    "serverSoftware",
    "Server software",
    "The software of the server, with versions.",
    const {
        &[
            line(
                "osName",
                "OS name and version",
                "The server's operating system and its version.",
            ),
            line(
                "fsSoftware",
                "File system software",
                "The file system and its version, or None.",
            ),
            free(
                "otherSoftware",
                "Other software",
                "Other required software, or None.",
            ),
            list(
                "componentSoftware",
                "Component software",
                "Software and firmware by component, where there are many.",
                &COMPONENT_SOFTWARE,
                &["component", "nameAndVersion"],
            )
            .optional(),
        ]
    },
);

static COMPONENT_SOFTWARE: Node = group(
    "softwareItem",
    "Software item",
    "The software of one component.",
    const {
        &[
            line("component", "Component", "The component it runs on."),
            line(
                "type",
                "Type",
                "Operating system, firmware, file system, driver ...",
            ),
            line(
                "nameAndVersion",
                "Name and version",
                "Its name and version.",
            ),
            free("description", "Description", "What it does there."),
        ]
    },
);

static TUNING: Node = group(
    "tuningItem",
    "Tuning parameter",
    "One setting that differs from the product's default.",
    const {
        &[
            line(
                "name",
                "Name",
                "The parameter's name, with the component it belongs to.",
            ),
            line("value", "Value", "Its value in the test."),
            free(
                "description",
                "Description",
                "What it does, and why it was set.",
            ),
        ]
    },
);

const HARDWARE_TUNING: Node = group(
    "hardwareTuning",
    "Hardware configuration and tuning",
    "Settings of hardware and firmware that differ from their defaults.",
    const {
        &[
            field(
                "environmentType",
                "Environment",
                Value::Choice(&["physical", "virtual", "cloud"]),
                "Whether the server runs on physical hardware, in virtual machines, or in a cloud.",
            ),
            list(
                "hardwareSettings",
                "Hardware settings",
                "The settings, one by one.",
                &TUNING,
                &["name", "value"],
            )
            .optional(),
            free(
                "notes",
                "Hardware tuning notes",
                "Other information on them.",
            )
            .optional(),
        ]
    },
);

const SERVER_TUNING: Node = group(
    "serverTuning",
    "Server tuning",
    "Settings of the server's software that differ from its defaults.",
    const {
        &[
            list(
                "tuningList",
                "Server tuning",
                "The settings, one by one.",
                &TUNING,
                &["name", "value"],
            )
            .optional(),
            free(
                "notes",
                "Server tuning notes",
                "What was tuned and why, or None.",
            ),
        ]
    },
);

const DISKS: Node = group(
    "disksAndFilesystems",
    "Disks and file systems",
    "The storage of the data.",
    const {
        &[
            list(
                "diskSets",
                "Disks",
                "Every set of disks or other storage devices.",
                &DISK_SET,
                &["description", "diskCount"],
            ),
            count(
                "filesystemCount",
                "Number of file systems",
                "How many file systems were tested.",
            ),
            number(
                "exportedCapacityGib",
                "Total exported capacity, GiB",
                "The capacity that the clients see, all file systems together, in GiB.",
            ),
            line(
                "filesystemType",
                "File system type",
                "The type of the file systems.",
            ),
            free(
                "creationOptions",
                "File system creation options",
                "Options that differ from the default when they were made, or Default.",
            ),
            free(
                "filesystemConfig",
                "File system configuration",
                "How the file systems are laid out on the disks.",
            ),
            number(
                "filesetSizeGib",
                "File set size, GiB",
                "Size of the file set at the highest load point, in GiB.",
            )
            .of_run(),
            free(
                "notes",
                "Storage and file systems notes",
                "Other information on them.",
            )
            .optional(),
        ]
    },
);

static DISK_SET: Node = group(
    "diskSet",
    "Set of disks",
    "One set of disks.",
    const {
        &[
            free(
                "description",
                "Description",
                "What they are and what they store.",
            ),
            count("diskCount", "Number of disks", "How many of them."),
            number(
                "usableGib",
                "Usable size, GiB",
                "Their size after protection and spares, in GiB.",
            ),
            line(
                "dataProtection",
                "Data protection",
                "RAID, erasure code, replicas, or None.",
            ),
        ]
    },
);

const NETWORK: Node = group(
    "network",
    "Network configuration",
    "The server's connections that took part in the test.",
    const {
        &[
            list(
                "networks",
                "Networks",
                "Every kind of connection.",
                &NETWORK_ITEM,
                &["type", "portCount"],
            ),
            free(
                "notes",
                "Network configuration notes",
                "Bonding, frame sizes, offloads ...",
            )
            .optional(),
        ]
    },
);

static NETWORK_ITEM: Node = group(
    "networkItem",
    "Network",
    "One kind of connection.",
    const {
        &[
            line(
                "type",
                "Network type",
                "For example \"25 Gbit/s Ethernet\".",
            ),
            count(
                "portCount",
                "Number of ports used",
                "How many ports carried load.",
            ),
            free("notes", "Notes", "What they are for.").optional(),
        ]
    },
);

const BENCH_NETWORK: Node = group(
    "benchNetwork",
    "Benchmark network",
    "The network between server and load generators.",
    const {
        &[
            free(
                "description",
                "Benchmark network",
                "How clients and server are connected; frame size and any sharing included.",
            ),
            list(
                "switches",
                "Switches",
                "Every switch or router in between.",
                &SWITCH,
                &["name", "portCount"],
            )
            .optional(),
        ]
    },
);

static SWITCH: Node = group(
    "switch",
    "Switch",
    "One switch.",
    const {
        &[
            line("name", "Name", "Maker, model and name."),
            line("type", "Type", "For example \"100 Gbit/s Ethernet\"."),
            count("portCount", "Ports", "How many ports it has."),
            count("usedPortCount", "Ports used", "How many of them were used."),
            free("notes", "Notes", "Other information on it.").optional(),
        ]
    },
);

static PROCESSING_ELEMENT: Node = group(
    "processingElement",
    "Processing element",
    "One kind of processor.",
    const {
        &[
            count("quantity", "Qty", "The number of these chips."),
            line("type", "Type", "CPU, GPU, FPGA, ASIC ..."),
            line("location", "Location", "The component it is in."),
            line(
                "description",
                "Description",
                "Maker, model, clock rate, cores.",
            ),
            line(
                "processingFunction",
                "Processing function",
                "What it does: networking, NFS protocol, file system, storage ...",
            ),
        ]
    },
);

static MEMORY: Node = group(
    "memoryItem",
    "Memory",
    "One kind of memory.",
    const {
        &[
            line("description", "Description", "What it is and where."),
            number("sizeGib", "Size, GiB", "The size of one unit, in GiB."),
            count(
                "quantity",
                "Number of instances",
                "The number of these units.",
            ),
            field(
                "isNonvolatile",
                "Nonvolatile",
                Value::Choice(YES_NO),
                "Whether it keeps its content without power, by a battery for example.",
            ),
        ]
    },
);

const PRICE: Node = group(
    "price",
    "Price",
    "What the system costs. Not required.",
    const {
        &[
            line("currency", "Currency", "ISO 4217, for example EUR."),
            number(
                "total",
                "Total price",
                "List price of all parts, or of one year where it is rented.",
            ),
            field(
                "asOf",
                "Price as of",
                Value::Day,
                "The day of the price list.",
            ),
            free(
                "notes",
                "Price notes",
                "What the price includes: support, discounts, the period of rent.",
            )
            .optional(),
        ]
    },
)
.optional();

const POWER: Node = group(
    "power",
    "Power",
    "The power that the system draws. Not required.",
    const {
        &[
            number(
                "ratedW",
                "Rated power, W",
                "According to its name plates, in watts.",
            )
            .optional(),
            number(
                "idleW",
                "Idle power, W",
                "Measured when ready and without load, in watts.",
            )
            .optional(),
            number(
                "peakLoadW",
                "Power at the peak, W",
                "Measured at the peak, in watts.",
            )
            .optional(),
            free(
                "method",
                "How it was measured",
                "Meter, class, place in the wiring, interval.",
            ),
        ]
    },
)
.optional();
