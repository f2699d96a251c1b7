"""Crates: a folder with a library and a test, each compiled in a few large pieces.

The files of a crate include the same headers, which take most of the time of a compilation. Read together, as a unity
build does it, ten files take about a quarter of the time that they take one by one. Names in unnamed namespaces are
therefore unique within a crate.

What most of them include is precompiled, too.

`--define=units=files` compiles each file for itself, which shows whether it includes what it uses.
"""

# With more of them an edit of one file would take long to compile.
_FILES_OF_UNIT = 12

def _unit_impl(ctx):
    ctx.actions.write(ctx.outputs.out, "".join(["#include \"%s\"\n" % file.short_path for file in ctx.files.srcs]))

_unit = rule(
    implementation = _unit_impl,
    doc = "A source file that includes others.",
    attrs = {
        "out": attr.output(),
        "srcs": attr.label_list(allow_files = True),
    },
)

def _units(name, srcs):
    """As few source files as possible that include `srcs`, in parts of about equal length."""
    sources = sorted([file for file in srcs if file.endswith(".cc")])
    if len(sources) < 2:
        return sources
    count = -(-len(sources) // _FILES_OF_UNIT)
    units = []
    for i in range(count):
        part = sources[i * len(sources) // count:(i + 1) * len(sources) // count]
        unit = "%s_unit_%d.cc" % (name, i)
        _unit(name = unit[:-len(".cc")], srcs = part, out = unit)
        units.append(unit)
    return units

def _headers(srcs):
    return [file for file in srcs if not file.endswith(".cc")]

def _by_choice(files, units):
    return select({
        "//tools/build:files_are_units": files,
        "//conditions:default": units,
    })

def include_precompiled(name):
    """With what a target includes the precompiled headers `name` of this package: copts and deps."""
    return struct(
        copts = _by_choice([], ["-include-pch", "$(GENDIR)/tools/build/%s.pch" % name, "-Xclang", "-module-file-deps"]),
        deps = _by_choice([], ["//tools/build:" + name]),
    )

def _is_in(folders):
    return any([(native.package_name() + "/").startswith(folder + "/") for folder in folders])

def _level():
    """How the code of this package is optimized: most is compiled for longer than it runs."""
    if _is_in(["tests"]) and not _is_in(["tests/properties"]):
        return "-O0"

    # What plans and proves decides how long the compiler takes.
    if _is_in(["ir/tensor", "ir/sharding", "ir/proof", "ir/program", "search"]):
        return "-O2"
    return "-O1"

def _passes():
    """What the optimizer leaves out in code that plans do not wait for.

    To inline short functions alone takes a sixth of a compilation away.
    """
    if _is_in(["base", "ir", "search"]):
        return []
    return ["-mllvm", "-inline-threshold=30"]

# What is freed says how large it is, which the allocator would otherwise look up, and no header asserts anything: the
# compiler checks by CLEAVE_CHECK. Sanitizers want all of this.
QUICK = select({
    "//third_party/jemalloc:sanitized": [],
    "//conditions:default": ["-DNDEBUG", "-fomit-frame-pointer", "-fsized-deallocation"],
})

def _flags(level):
    """Those of a target of this package that is optimized at `level`."""

    # ANTLR and CLI11 throw, and so does a thread that cannot begin. Nothing else does, and what could pass an exception
    # on takes a sixth longer to compile.
    return [level] + ([] if _is_in(["base/parallel", "dsl/parse", "tools"]) else ["-fno-exceptions"])

def crate_library(
        name,
        srcs = None,
        hdrs = [],
        exclude = [],
        textual_hdrs = [],
        deps = [],
        copts = None,
        **kwargs):
    """The library of a crate.

    Args:
      name: that of the folder.
      srcs: .cc files, and headers for these files alone; by default all of the folder but tests and testing.*.
      hdrs: headers for others.
      exclude: files of the folder that belong to other targets.
      textual_hdrs: as in cc_library.
      deps: as in cc_library.
      copts: as in cc_library, instead of those of a part of the compiler.
      **kwargs: as in cc_library.
    """
    if srcs == None:
        srcs = native.glob(["*.cc", "*.h"], exclude = hdrs + textual_hdrs + exclude + ["*_test.cc", "testing.*"])
    sources = [file for file in srcs if file.endswith(".cc")]
    flags = _flags(_level())
    precompiled = include_precompiled("library" + "".join(flags))
    native.cc_library(
        name = name,
        srcs = _headers(srcs) + _by_choice(sources, _units(name, sources)),
        hdrs = hdrs,
        textual_hdrs = textual_hdrs + (sources if len(sources) > 1 else []),
        deps = deps + (precompiled.deps if copts == None else []),
        copts = flags + _passes() + QUICK + precompiled.copts if copts == None else copts,
        **kwargs
    )

def crate_binary(name, srcs, deps = [], **kwargs):
    """A program. Its arguments are those of cc_binary."""
    flags = _flags(_level())
    precompiled = include_precompiled("library" + "".join(flags))
    sources = [file for file in srcs if file.endswith(".cc")]
    native.cc_library(
        name = name + "_files",
        testonly = kwargs.get("testonly", False),
        textual_hdrs = srcs,
        visibility = ["//visibility:private"],
    )
    native.cc_binary(
        name = name,
        srcs = _headers(srcs) + _by_choice(sources, _units(name, sources)),
        deps = deps + precompiled.deps + ([":%s_files" % name] if len(sources) > 1 else []),
        copts = flags + _passes() + QUICK + precompiled.copts,
        **kwargs
    )

def crate_test(name, srcs = None, exclude = [], deps = [], **kwargs):
    """The tests of a crate.

    Args:
      name: that of the folder with "_test".
      srcs: .cc files; by default all files *_test.cc of the folder. All headers of the folder may be included.
      exclude: tests of the folder that belong to other targets.
      deps: libraries besides GoogleTest and the allocator.
      **kwargs: as in cc_test.
    """
    if srcs == None:
        srcs = native.glob(["*_test.cc"], exclude = exclude)
    native.cc_library(
        name = name + "_files",
        testonly = True,
        textual_hdrs = srcs + native.glob(["*.h"]),
        visibility = ["//visibility:private"],
    )
    flags = _flags("-O0")
    precompiled = include_precompiled("test" + "".join(flags))
    native.cc_test(
        name = name,
        srcs = _by_choice(srcs, _units(name, srcs)),
        deps = deps + precompiled.deps + [
            ":%s_files" % name,
            "//third_party/googletest:gtest_main",
            "//third_party/jemalloc",
        ],
        copts = flags + QUICK + precompiled.copts,
        **kwargs
    )
