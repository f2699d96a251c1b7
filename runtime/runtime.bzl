"""How the crates of runtime/ are built: in the language that generated programs are built in."""

# As in the Makefile of a generated program, which has no Bazel's include paths and only C++17.
RUNTIME_COPTS = [
    "-std=c++17",
    "-fopenmp",
]

def runtime_library(name, srcs = [], hdrs = [], private_hdrs = [], deps = [], linkopts = [], alwayslink = False):
    """A cc_library, and a filegroup of its files for the generated programs that they travel with.

    Args:
      name: of the library.
      srcs: .cc files.
      hdrs: headers for others.
      private_hdrs: headers for its own files and tests.
      deps: other libraries.
      linkopts: flags for the linker.
      alwayslink: for an implementation that nothing else names: its interface stands in another crate.
    """
    native.cc_library(
        name = name,
        srcs = srcs + private_hdrs,
        hdrs = hdrs,
        alwayslink = alwayslink,
        copts = RUNTIME_COPTS,
        linkopts = linkopts + ["-fopenmp"],
        visibility = ["//:runtime_users"],
        deps = deps,
    )
    native.filegroup(
        name = "sources",
        srcs = hdrs + private_hdrs + srcs,
        visibility = ["//runtime:__pkg__"],
    )

def runtime_test(name, srcs, deps, data = [], **kwargs):
    """A cc_test in the language of the runtime."""
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = RUNTIME_COPTS,
        data = data,
        linkopts = ["-fopenmp"],
        deps = deps + ["//third_party/googletest:gtest_main"],
        **kwargs
    )
