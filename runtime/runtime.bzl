"""How the crates of runtime/ are built: in the language that generated programs are built in."""

load("//tests/stand_in:checked.bzl", "checked_test")
load("//third_party/cuda:nvcc.bzl", "nvcc_object")
load("//tools/build:crate.bzl", "crate_library", "include_precompiled")

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
    precompiled = include_precompiled("runtime-O1")
    crate_library(
        name = name,
        srcs = srcs + private_hdrs,
        hdrs = hdrs,
        alwayslink = alwayslink,
        copts = RUNTIME_COPTS + precompiled.copts,
        linkopts = linkopts + ["-fopenmp"],
        visibility = ["//:runtime_users"],
        deps = deps + precompiled.deps,
    )
    native.filegroup(
        name = "sources",
        srcs = hdrs + private_hdrs + srcs,
        visibility = ["//runtime:__pkg__"],
    )

def runtime_test(name, deps, srcs = [], data = [], level = "-O0", **kwargs):
    """A cc_test in the language of the runtime, optimized at a `level`."""
    precompiled = include_precompiled("runtime_test" + level)
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = RUNTIME_COPTS + [level] + precompiled.copts,
        data = data,
        linkopts = ["-fopenmp"],
        deps = deps + ["//third_party/googletest:gtest_main"] + precompiled.deps,
        **kwargs
    )

def _kernels(srcs):
    return [file for file in srcs if file.endswith(".cu")]

def _nvcc_flags(level):
    """As in the Makefile of a generated program."""
    return [level, "-std=c++17", "-lineinfo", "-Xcompiler", "-fopenmp"]

def _sources(name, srcs, hdrs, deps, level):
    """For `srcs` of the target `name`: its .cc files, and a unit of its .cu files.

    The unit is a .cc file that includes them, for Bazel compiles no other names, or the object that nvcc makes of it.
    They include `hdrs` of the same target. `level`: how nvcc optimizes.
    """
    hosts = [file for file in srcs if not file.endswith(".cu")]
    kernels = _kernels(srcs)
    if not kernels:
        return hosts
    unit = "as_cpp/%s.cu.cc" % name
    lines = ["#include \"%s/%s\"\\n" % (native.package_name(), file) for file in sorted(kernels)]
    native.genrule(
        name = name + "_as_cpp",
        outs = [unit],
        cmd = "printf '%s' > $@" % "".join(lines),
    )
    headers = [":%s_headers" % name]
    native.cc_library(
        name = name + "_headers",
        testonly = True,
        textual_hdrs = kernels + hdrs + [file for file in hosts if not file.endswith(".cc")],
        deps = deps,
    )
    nvcc_object(
        name = name + "_object",
        testonly = True,
        src = unit,
        copts = _nvcc_flags(level),
        deps = headers,
        tags = ["manual"],
    )
    return hosts + select({
        "//third_party/cuda:toolkit": [":%s_object" % name],
        "//conditions:default": [unit],
    })

def cuda_library(name, srcs = [], hdrs = [], private_hdrs = [], deps = [], alwayslink = False):
    """A library of .cu files, and a filegroup of its files that travel.

    They are compiled by nvcc under --config=cuda, else as C++ against //tests/stand_in. Under Bazel only tests can depend
    on it.

    Args:
      name: of the library.
      srcs: .cu files, and .cc files that belong to them.
      hdrs: headers for others.
      private_hdrs: headers (.h, .cuh) for its own files and tests.
      deps: other libraries.
      alwayslink: for an implementation that nothing else names: its interface stands in another crate.
    """
    precompiled = include_precompiled("runtime-O1")
    deps = deps + ["//third_party/cuda"]
    native.cc_library(
        name = name,
        srcs = _sources(name, srcs, hdrs + private_hdrs, deps, "-O3"),
        hdrs = hdrs + private_hdrs,
        textual_hdrs = _kernels(srcs),
        alwayslink = alwayslink,
        copts = RUNTIME_COPTS + ["-Wno-unknown-pragmas"] + precompiled.copts,
        linkopts = ["-fopenmp"],
        testonly = True,
        visibility = ["//:runtime_users"],
        deps = deps + precompiled.deps,
    )
    if name == native.package_name().split("/")[-1]:
        native.filegroup(
            name = "sources",
            srcs = hdrs + private_hdrs + srcs,
            visibility = ["//runtime:__pkg__"],
        )

def _program(rule, name, srcs, deps, nvcc_level, **kwargs):
    deps = deps + ["//third_party/cuda"]
    rule(
        name = name,
        srcs = _sources(name, srcs, [], deps, nvcc_level),
        deps = deps + ([":%s_headers" % name] if _kernels(srcs) else []),
        **kwargs
    )

def cuda_test(name, deps, srcs = [], checked = None, **kwargs):
    """A test of code for the device: .cu files are tests too. Compiled as a cuda_library is.

    Args:
      name: of the test.
      deps: libraries.
      srcs: .cc and .cu files.
      checked: tags of the same test with each access of its kernels looked at, which takes ten times as long; None: there
        is none.
      **kwargs: of runtime_test.
    """
    level = "-O1" if _kernels(srcs) else "-O0"
    _program(runtime_test, name, srcs, deps, level, level = level, **kwargs)
    if checked != None:
        checked_test(name = name.replace("_test", "_checked_test"), size = "large", tags = checked, test = ":" + name)

def cuda_binary(name, srcs, deps, **kwargs):
    """A program for tests, of .cu files. Compiled as a cuda_library is."""
    _program(native.cc_binary, name, srcs, deps, "-O3", testonly = True, copts = RUNTIME_COPTS, linkopts = ["-fopenmp"], **kwargs)
