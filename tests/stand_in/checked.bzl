"""Tests whose kernels are looked at access by access (access.h)."""

load("//third_party/cuda:nvcc.bzl", "STAND_IN_ONLY")

_COPTS = [
    "-fsanitize=thread",
    "-DSTAND_IN_CHECKS_ACCESS",
    # Parts of vectors may be moved one by one, so the calls do not see that.
    "-fsanitize=alignment",
    "-fsanitize-trap=alignment",
]

def _checked_impl(settings, _attr):
    return {"//command_line_option:copt": settings["//command_line_option:copt"] + _COPTS}

_checked = transition(
    implementation = _checked_impl,
    inputs = ["//command_line_option:copt"],
    outputs = ["//command_line_option:copt"],
)

def _checked_test_impl(ctx):
    test = ctx.attr.test[0]
    program = test[DefaultInfo].files_to_run.executable
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, "#!/bin/sh\nexec ./%s \"$@\"\n" % program.short_path, is_executable = True)
    runfiles = ctx.runfiles(files = [program]).merge(test[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

_checked_test = rule(
    implementation = _checked_test_impl,
    doc = "Runs a cuda_test that was built again, together with all that it uses, with the calls of access.h.",
    attrs = {
        "test": attr.label(cfg = _checked, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
    test = True,
)

def checked_test(name, **kwargs):
    _checked_test(name = name, target_compatible_with = STAND_IN_ONLY, **kwargs)
