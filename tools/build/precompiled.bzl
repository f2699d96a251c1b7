"""Precompiled headers: what many files include is read once, which GCC finds as HEADER.gch beside a header.

GCC takes it for files with the same flags, above all the same level of optimization.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_CPP_COMPILE = "c++-compile"

def _precompiled_header_impl(ctx):
    header = ctx.actions.declare_file(ctx.label.name + "/header.h")
    ctx.actions.symlink(output = header, target_file = ctx.file.header)
    compiled = ctx.actions.declare_file(header.basename + ".gch", sibling = header)
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = compiled.path,
        quote_include_directories = depset(["."]),
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts + ["-x", "c++-header"],
        use_pic = True,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = _CPP_COMPILE),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = _CPP_COMPILE,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = _CPP_COMPILE,
            variables = variables,
        ),
        inputs = depset([header] + ctx.files.includes, transitive = [toolchain.all_files]),
        outputs = [compiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % ctx.label,
    )
    files = depset([header, compiled] + ctx.files.includes)
    return [
        DefaultInfo(files = files),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = files)),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "A header for those that include_precompiled (crate.bzl).",
    attrs = {
        "copts": attr.string_list(doc = "The flags of those that read it, besides those of the command line."),
        "header": attr.label(allow_single_file = True, mandatory = True),
        "includes": attr.label_list(allow_files = True, doc = "Headers that it includes."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
