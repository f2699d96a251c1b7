"""How the crates of runtime/ are built: in the language that generated programs are built in."""

load("//tests/stand_in:checked.bzl", "checked_test")
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

def _compiled_as_cpp(name, files):
    """A .cc file of the target `name` that includes its .cu files: Bazel compiles no other names."""
    if not files:
        return []
    wrapper = "as_cpp/%s.cu.cc" % name
    lines = ["#include \"%s/%s\"\\n" % (native.package_name(), file) for file in sorted(files)]
    native.genrule(
        name = name + "_as_cpp",
        outs = [wrapper],
        cmd = "printf '%s' > $@" % "".join(lines),
    )
    return [wrapper]

def cuda_library(name, srcs = [], hdrs = [], private_hdrs = [], deps = [], alwayslink = False):
    """A library of .cu files, compiled against //tests/stand_in, and a filegroup of its files that travel.

    Under Bazel only tests can depend on it.

    Args:
      name: of the library.
      srcs: .cu files, and .cc files that belong to them.
      hdrs: headers for others.
      private_hdrs: headers (.h, .cuh) for its own files and tests.
      deps: other libraries; //tests/stand_in is one.
      alwayslink: for an implementation that nothing else names: its interface stands in another crate.
    """
    kernels = _kernels(srcs)
    precompiled = include_precompiled("runtime-O1")
    native.cc_library(
        name = name,
        srcs = [file for file in srcs if not file.endswith(".cu")] + _compiled_as_cpp(name, kernels),
        hdrs = hdrs + private_hdrs,
        textual_hdrs = kernels,
        alwayslink = alwayslink,
        copts = RUNTIME_COPTS + ["-Wno-unknown-pragmas"] + precompiled.copts,
        linkopts = ["-fopenmp"],
        testonly = True,
        visibility = ["//:runtime_users"],
        deps = deps + ["//tests/stand_in"] + precompiled.deps,
    )
    if name == native.package_name().split("/")[-1]:
        native.filegroup(
            name = "sources",
            srcs = hdrs + private_hdrs + srcs,
            visibility = ["//runtime:__pkg__"],
        )

def _program(rule, name, srcs, deps, **kwargs):
    kernels = _kernels(srcs)
    if kernels:
        native.cc_library(
            name = name + "_kernels",
            testonly = True,
            textual_hdrs = kernels,
        )
    rule(
        name = name,
        srcs = [file for file in srcs if not file.endswith(".cu")] + _compiled_as_cpp(name, kernels),
        deps = deps + ["//tests/stand_in"] + ([":" + name + "_kernels"] if kernels else []),
        **kwargs
    )

def cuda_test(name, deps, srcs = [], checked = None, **kwargs):
    """A test of code for the device, compiled against //tests/stand_in: .cu files are tests too.

    Args:
      name: of the test.
      deps: libraries.
      srcs: .cc and .cu files.
      checked: tags of the same test with each access of its kernels looked at, which takes ten times as long; None: there
        is none.
      **kwargs: of runtime_test.
    """
    level = "-O1" if _kernels(srcs) else "-O0"
    _program(runtime_test, name, srcs, deps, level = level, **kwargs)
    if checked != None:
        checked_test(name = name.replace("_test", "_checked_test"), size = "large", tags = checked, test = ":" + name)

def cuda_binary(name, srcs, deps, **kwargs):
    """A program for tests, of .cu files, compiled against //tests/stand_in."""
    _program(native.cc_binary, name, srcs, deps, testonly = True, copts = RUNTIME_COPTS, linkopts = ["-fopenmp"], **kwargs)
