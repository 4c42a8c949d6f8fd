// swift-tools-version: 6.2
import PackageDescription

// The module graph of ARCHITECTURE.md. A module imports only what stands above it; the build checks that
// (`--explicit-target-dependency-import-check error` in Scripts/test).

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
]

func module(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let systemLibraries: [Target] = [
    .systemLibrary(
        name: "CQuic",
        providers: [.apt(["libngtcp2-dev", "libngtcp2-crypto-gnutls-dev", "libgnutls28-dev"])]),
    .systemLibrary(name: "CNghttp3", providers: [.apt(["libnghttp3-dev"])]),
    .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CWslay", providers: [.apt(["libwslay-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CQrencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(name: "CPortMapping", providers: [.apt(["libnatpmp-dev", "libminiupnpc-dev"])]),
    .target(name: "CSys", cSettings: [.treatAllWarnings(as: .error)]),
    .target(name: "CQuicShim", dependencies: ["CQuic"], cSettings: [.treatAllWarnings(as: .error)]),
]

let modules: [Target] = [
    module("MewBase", []),
    module("MewIdentity", ["MewBase", "CSodium"]),
    module("MewWire", ["MewBase", "MewIdentity", "CWslay"]),
    module("MewPath", ["MewBase", "MewIdentity", "MewWire"]),
    module("MewSession", ["MewBase", "MewIdentity", "MewWire"]),
    module("MewLoop", ["MewBase", "CSys"]),
    module("MewHTTP3", ["MewBase", "CNghttp3"]),
    module("MewMapping", ["MewBase", "MewLoop", "CPortMapping", "CSys"]),
    module("MewQUICCore", ["MewBase", "MewIdentity", "CQuic", "CQuicShim"]),
    module("MewQUIC", ["MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewQUICCore"]),
    module(
        "MewRelay",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewHTTP3", "MewQUICCore", "MewQUIC", "CQuic",
            "CQuicShim",
        ]),
    module("MewLookup", ["MewBase", "MewIdentity", "MewWire", "MewLoop", "MewRelay"]),
    module(
        "MewNode",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewMapping", "MewQUICCore", "MewQUIC",
            "MewRelay", "MewLookup",
        ]),
    module("MewHost", ["MewBase", "MewWire", "MewSession", "MewLoop", "CSys"]),
    module("MewStore", ["MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "CSQLite"]),
    module("MewAgent", ["MewBase", "MewWire", "MewSession", "MewLoop", "MewHost"]),
    module(
        "MewDaemon",
        [
            "MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "MewQUIC", "MewRelay", "MewLookup", "MewNode",
            "MewHost", "MewStore", "MewAgent", "MewMapping", "MewPath",
        ]),
    module("MewClient", ["MewBase", "MewIdentity", "MewWire", "MewSession"]),
    .executableTarget(
        name: "mew",
        dependencies: [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewSession", "MewLoop", "MewQUIC", "MewRelay", "MewNode",
            "MewStore", "MewDaemon", "MewClient", "CQrencode",
        ],
        swiftSettings: strict),
]

/// Our half of the connection-level interop scenarios; run by Interop/run.
let interop: [Target] = [
    .executableTarget(
        name: "interop-node",
        dependencies: ["MewBase", "MewIdentity", "MewWire", "MewLoop", "MewRelay", "MewNode"],
        path: "Interop/Node",
        swiftSettings: strict)
]

/// Thousands of simulated worlds in one run, built with optimization; run by Scripts/test.
let seeds: [Target] = [
    .executableTarget(
        name: "simulated-seeds",
        dependencies: ["MewBase", "MewSim", "MewSimQUIC", "MewSimNode", "MewSimSession"],
        path: "Tests/SimulatedSeeds",
        swiftSettings: strict)
]

let testSupport: [Target] = [
    // The example of the README: what an app has is MewClient and nothing else.
    module("ClientExample", ["MewClient"], path: "Tests/ClientExample"),
    module("MewSim", ["MewBase", "MewLoop", "CSys"], path: "Tests/MewSim"),
    module(
        "MewSimQUIC", ["MewBase", "MewIdentity", "MewLoop", "MewQUIC", "MewSim"], path: "Tests/MewSimQUIC"),
    module(
        "MewSimNode",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewMapping", "MewQUICCore", "MewRelay",
            "MewNode", "MewSim",
        ],
        path: "Tests/MewSimNode"),
    module(
        "MewTestSupport",
        [
            "MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "MewRelay", "MewAgent", "MewSim", "CSQLite",
            "CQuic",
        ],
        path: "Tests/MewTestSupport"),
    module(
        "MewSimSession",
        [
            "MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "MewNode", "MewHost", "MewStore", "MewDaemon",
            "MewClient", "MewSim", "MewTestSupport",
        ],
        path: "Tests/MewSimSession"),
]

let testTargets: [Target] = [
    tests("MewBaseTests", ["MewBase"]),
    tests("MewIdentityTests", ["MewBase", "MewIdentity"]),
    tests("MewMappingTests", ["MewBase", "MewLoop", "MewMapping", "MewSim"]),
    tests("MewWireTests", ["MewBase", "MewIdentity", "MewWire", "MewTestSupport"]),
    tests("MewPathTests", ["MewBase", "MewIdentity", "MewWire", "MewPath", "MewTestSupport"]),
    tests("MewSessionTests", ["MewBase", "MewIdentity", "MewWire", "MewSession", "MewSim", "MewTestSupport"]),
    tests("MewLoopTests", ["MewBase", "MewLoop", "MewSim"]),
    tests(
        "MewSimTests",
        ["MewBase", "MewIdentity", "MewPath", "MewLoop", "MewQUICCore", "MewQUIC", "MewSim", "MewSimQUIC"]),
    tests(
        "MewWorldTests",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewQUIC", "MewRelay", "MewNode", "MewSim",
            "MewMapping", "MewSimNode",
        ]),
    tests("MewSessionWorldTests", ["MewBase", "MewWire", "MewSim", "MewSimSession"]),
    tests("MewHTTP3Tests", ["MewBase", "MewHTTP3", "MewSim"]),
    tests("MewQUICCoreTests", ["MewBase", "MewIdentity", "MewQUICCore", "MewSim"]),
    tests("MewQUICTests", ["MewBase", "MewIdentity", "MewPath", "MewLoop", "MewQUICCore", "MewQUIC"]),
    tests(
        "MewRelayTests",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewHTTP3", "MewQUICCore", "MewQUIC",
            "MewRelay", "MewSim", "MewTestSupport", "CQuic",
        ]),
    tests(
        "MewLookupTests",
        ["MewBase", "MewIdentity", "MewWire", "MewLoop", "MewRelay", "MewLookup", "MewSim", "MewTestSupport"]),
    tests(
        "MewNodeTests",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewLoop", "MewQUICCore", "MewQUIC", "MewRelay",
            "MewLookup", "MewNode", "MewSim", "MewTestSupport",
        ]),
    tests("MewHostTests", ["MewBase", "MewWire", "MewSession", "MewLoop", "MewHost", "MewTestSupport"]),
    tests(
        "MewStoreTests",
        [
            "MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "MewStore", "MewSim", "MewTestSupport",
            "CSQLite",
        ]),
    tests(
        "MewAgentTests",
        ["MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "MewHost", "MewAgent", "MewTestSupport"]),
    tests(
        "MewDaemonTests",
        [
            "MewBase", "MewIdentity", "MewWire", "MewSession", "MewLoop", "MewQUICCore", "MewQUIC", "MewNode",
            "MewHost", "MewStore",
            "MewAgent", "MewDaemon", "MewClient", "MewSim", "MewTestSupport",
        ]),
    tests(
        "MewClientTests",
        ["MewBase", "MewIdentity", "MewWire", "MewSession", "MewClient", "MewTestSupport", "ClientExample"]),
    tests(
        "MewHostileTests",
        [
            "CQuic", "MewBase", "MewIdentity", "MewWire", "MewPath", "MewSession", "MewLoop", "MewQUICCore", "MewQUIC",
            "MewRelay", "MewNode", "MewDaemon", "MewSim", "MewTestSupport",
        ]),
    tests(
        "MewCommandTests",
        [
            "MewBase", "MewIdentity", "MewWire", "MewPath", "MewSession", "MewLoop", "MewQUIC", "MewNode", "MewDaemon",
            "MewClient", "MewTestSupport", "mew",
        ]),
]

/// `MEW_TESTS="MewNodeTests MewPathTests" swift build --build-tests` builds those alone: for quick turns while writing.
let wantedTests = Context.environment["MEW_TESTS"]?.split(separator: " ").map(String.init)
let chosenTests = testTargets.filter { wantedTests?.contains($0.name) ?? true }

let package = Package(
    name: "mew",
    products: [
        .library(name: "MewClient", targets: ["MewClient"]),
        .executable(name: "mew", targets: ["mew"]),
    ],
    targets: systemLibraries + modules + interop + testSupport + seeds + chosenTests
)

// The libFuzzer targets of Fuzz/README.md. They need the fuzzer's own `main`, so an ordinary build must not see them.
if Context.environment["MEW_FUZZ"] != nil {
    func fuzz(_ name: String, _ dependencies: [Target.Dependency], path: String) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, path: path,
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])])
    }
    package.targets += [
        fuzz("fuzz-json", ["MewWire"], path: "Fuzz/JSON"),
        fuzz("fuzz-messages", ["MewWire"], path: "Fuzz/Messages"),
        fuzz("fuzz-framings", ["MewIdentity", "MewWire"], path: "Fuzz/Framings"),
        fuzz("fuzz-upgrade", ["MewIdentity", "MewWire"], path: "Fuzz/Upgrade"),
        fuzz("fuzz-http3", ["MewBase", "MewHTTP3", "MewWire"], path: "Fuzz/HTTP3"),
        fuzz("fuzz-payload", ["MewIdentity", "MewWire"], path: "Fuzz/Payload"),
        fuzz("fuzz-stun", ["MewBase", "MewPath"], path: "Fuzz/Stun"),
    ]
}
