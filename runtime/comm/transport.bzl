"""What the ways in which ranks are connected have in common: how they are built, and the test that all of them pass."""

load("//runtime:runtime.bzl", "runtime_library")

def host_transport(name, srcs, hdrs = [], private_hdrs = [], deps = []):
    """Two libraries: `transport` connects ranks, `name` connects ranks that compute on CPUs.

    Args:
      name: of the way to connect.
      srcs: .cc files.
      hdrs: headers for others.
      private_hdrs: headers for its own files.
      deps: libraries besides those that every transport uses.
    """
    runtime_library(
        name = "transport",
        srcs = srcs,
        hdrs = hdrs,
        private_hdrs = private_hdrs,
        alwayslink = True,
        deps = deps + [
            "//runtime/comm",
            "//runtime/device",
            "//runtime/error",
            "//runtime/mesh",
            "//runtime/trace",
        ],
    )
    native.cc_library(
        name = name,
        visibility = ["//:runtime_users"],
        deps = [
            ":transport",
            "//runtime/comm/host",
        ],
    )

ON_CPUS = [
    "//runtime/device/cpu",
    "//runtime/kernels/cpu",
    "//runtime/random",
]

def collectives_test(deps, script = "//runtime/comm:collectives_on_threads.sh", programs = []):
    """The test of collectives on 1 to 8 ranks.

    Args:
      deps: what connects the ranks, and the device that they compute on.
      script: starts the ranks of the program that is its first argument.
      programs: further arguments of the script.
    """
    native.cc_binary(
        name = "collectives_on_ranks",
        testonly = True,
        linkopts = ["-fopenmp"],
        deps = deps + ["//runtime/comm:on_ranks"],
    )
    arguments = [":collectives_on_ranks"] + programs
    native.sh_test(
        name = "collectives_test",
        srcs = [script],
        args = ["$(location %s)" % argument for argument in arguments],
        data = arguments,
    )
