"""Precompiled headers: what many files include is read once.

Clang takes them for files with the same flags, above all the same level of optimization. They are headers of the system,
by name: Clang keeps the paths of all that it reads, and those of this tree differ in each sandbox. It refuses what was
precompiled of other versions of them, so this is made again when packages are installed; what was the same before is the
same then, to the last byte.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# Standard headers that most of the runtime includes.
RUNTIME_HEADERS = [
    "algorithm",
    "array",
    "cinttypes",
    "cmath",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "fstream",
    "functional",
    "limits",
    "map",
    "memory",
    "optional",
    "random",
    "set",
    "string",
    "thread",
    "utility",
    "variant",
    "vector",
]

_CPP_COMPILE = "c++-compile"

# The file that is precompiled, before which the others are included.
_FIRST = "/usr/include/stdc-predef.h"

def _precompiled_headers_impl(ctx):
    compiled = ctx.actions.declare_file(ctx.label.name + ".pch")
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    flags = ["-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp", "-x", "c++-header"]
    for header in ctx.attr.headers:
        flags += ["-include", header]
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = _FIRST,
        output_file = compiled.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + flags,
        use_pic = True,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = _CPP_COMPILE),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = _CPP_COMPILE,
            variables = variables,
        ),
        # Clang keeps the name of the working directory, which is another one in each sandbox, unless it has this one.
        env = dict(cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = _CPP_COMPILE,
            variables = variables,
        ), PWD = "/proc/self/cwd"),
        inputs = depset([ctx.file._packages], transitive = [toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % ctx.label,
    )
    files = depset([compiled])
    return [
        DefaultInfo(files = files),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = files)),
    ]

precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    doc = "Headers for those that include_precompiled (crate.bzl).",
    attrs = {
        "copts": attr.string_list(doc = "The flags of those that read them, besides those of the command line."),
        "headers": attr.string_list(doc = "As in #include <…>."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_packages": attr.label(default = "@packages//:status", allow_single_file = True),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
