"""The command for systems without its libraries: an archive, and a wheel whose name says which C library it needs."""

def _portable_impl(ctx):
    archive = ctx.actions.declare_file(ctx.label.name + ".tar.gz")
    wheel = ctx.actions.declare_directory("wheel")
    inputs = [ctx.file.binary, ctx.file.version, ctx.file.notice, ctx.file.license, ctx.file.readme] + ctx.files.texts
    ctx.actions.run(
        outputs = [archive, wheel],
        inputs = inputs,
        executable = ctx.executable._script,
        arguments = [archive.path, wheel.path] + [file.path for file in inputs],
        use_default_shell_env = True,
    )
    return [
        DefaultInfo(files = depset([archive, wheel]), runfiles = ctx.runfiles([archive, wheel])),
        OutputGroupInfo(archive = depset([archive]), wheel = depset([wheel])),
    ]

portable = rule(
    implementation = _portable_impl,
    attrs = {
        "binary": attr.label(allow_single_file = True),
        "version": attr.label(allow_single_file = True),
        "notice": attr.label(allow_single_file = True),
        "license": attr.label(allow_single_file = True),
        "readme": attr.label(allow_single_file = True),
        "texts": attr.label_list(allow_files = True, doc = "Completion for bash and zsh, and the manual page."),
        "_script": attr.label(default = "portable.sh", allow_single_file = True, executable = True, cfg = "host"),
    },
)
