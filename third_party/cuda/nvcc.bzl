"""How nvcc compiles .cu files under --config=cuda."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# For target_compatible_with of tests of the stand-in.
STAND_IN_ONLY = select({
    "//third_party/cuda:toolkit": ["//third_party/cuda:stand_in_only"],
    "//conditions:default": [],
})

ArchitecturesInfo = provider(
    doc = "The GPUs for which code is made.",
    fields = {"flags": "of nvcc"},
)

def _architectures_impl(ctx):
    names = ctx.build_setting_value
    if names == "native":
        return ArchitecturesInfo(flags = ["-arch=native"])
    flags = []
    for arch in names.split(","):
        flags += ["-gencode", "arch=compute_%s,code=sm_%s" % (arch, arch)]
    last = names.split(",")[-1]
    return ArchitecturesInfo(flags = flags + ["-gencode", "arch=compute_%s,code=compute_%s" % (last, last)])

architectures = rule(
    implementation = _architectures_impl,
    build_setting = config.string(flag = True),
    doc = "`native`, or numbers with commas, as in --//third_party/cuda:archs=80,90.",
)

def _nvcc_object_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    object = ctx.actions.declare_file(ctx.label.name + ".pic.o")
    arguments = ctx.actions.args()
    arguments.add_all(["-x", "cu", "-ccbin", toolchain.compiler_executable, "-Xcompiler", "-fPIC"])
    arguments.add_all(ctx.attr.copts)
    arguments.add_all(ctx.attr._archs[ArchitecturesInfo].flags)
    for context in contexts:
        arguments.add_all(context.quote_includes, before_each = "-I")
        arguments.add_all(context.includes, before_each = "-I")
        arguments.add_all(context.system_includes, before_each = "-isystem")
    arguments.add_all(["-I.", "-I" + ctx.genfiles_dir.path, "-c", ctx.file.src, "-o", object])
    ctx.actions.run(
        executable = ctx.executable._nvcc,
        arguments = [arguments],
        # The compiler that nvcc starts is named without its folder.
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        inputs = depset(
            [ctx.file.src] + ctx.files.textual_hdrs,
            transitive = [context.headers for context in contexts] + [toolchain.all_files],
        ),
        outputs = [object],
        mnemonic = "NvccCompile",
        progress_message = "Compiling %s by nvcc" % ctx.label,
    )
    return [DefaultInfo(files = depset([object]))]

nvcc_object = rule(
    implementation = _nvcc_object_impl,
    doc = "An object of a .cu file, for `srcs` of a cc_library or cc_binary.",
    attrs = {
        "copts": attr.string_list(doc = "Flags of nvcc, besides those of the architectures."),
        "deps": attr.label_list(doc = "Libraries whose headers it includes.", providers = [CcInfo]),
        "src": attr.label(doc = "What is compiled, whatever its name ends with.", allow_single_file = True, mandatory = True),
        "textual_hdrs": attr.label_list(doc = "Other files that it includes.", allow_files = True),
        "_archs": attr.label(default = "//third_party/cuda:archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_nvcc": attr.label(default = "@cuda//:nvcc", allow_single_file = True, cfg = "host", executable = True),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
