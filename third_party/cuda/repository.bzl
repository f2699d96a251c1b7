"""The CUDA toolkit, cuDNN, cudnn-frontend and NCCL, where they are installed.

Each is looked for as the Makefile of a generated program does it (codegen/cuda/makefile.cc): where a variable says, then
with the toolkit, then where pip puts it. What is not there is a target that cannot be built, whose message says how to
install it.
"""

_PIP = "import sys; print('\\n'.join(sys.path[1:]))"

# Name, header, variable, name of pip's package, its folder, libraries.
_OTHERS = [
    ("cudnn", "cudnn.h", "CUDNN_HOME", "nvidia-cudnn-cu13", "nvidia/cudnn", ["cudnn"]),
    ("cudnn_frontend", "cudnn_frontend_version.h", "CUDNN_FRONTEND_HOME", "nvidia-cudnn-frontend", ".", []),
    ("nccl", "nccl.h", "NCCL_HOME", "nvidia-nccl-cu13", "nvidia/nccl", ["nccl"]),
]

# What is compiled by another version of nvcc is compiled again: this file is an input.
_COMPILER = """#!/bin/sh
exec %s "$@"
%s"""

_NO_COMPILER = """#!/bin/sh
echo "%s" >&2
exit 1
"""

def _which(ctx, path, program):
    """The first file `program` of the folders `path`, or None."""
    for folder in path:
        if folder and ctx.path(folder + "/" + program).exists:
            return ctx.path(folder + "/" + program)
    return None

def _toolkit(ctx, path):
    """The folder of the toolkit, or None."""
    named = ctx.os.environ.get("CUDA_HOME")
    nvcc = _which(ctx, path, "nvcc")
    for home in [named] if named else ([str(nvcc.realpath.dirname.dirname)] if nvcc else []) + ["/usr/local/cuda"]:
        if ctx.path("%s/bin/nvcc" % home).exists:
            return home
    return None

def _pip(ctx, path):
    """The folders of packages of the python3 of `path`."""
    python = _which(ctx, path, "python3")
    return ctx.execute([python, "-c", _PIP]).stdout.split("\n") if python else []

def _home(ctx, variable, header, toolkit, pip, folder):
    """The folder whose include/ has `header`, or None. `folder`: its name among pip's."""
    named = ctx.os.environ.get(variable)
    for home in ([named] if named else [toolkit, "/usr"] + ["%s/%s" % (path, folder) for path in pip]):
        if home and ctx.path("%s/include/%s" % (home, header)).exists:
            return home
    return None

def _library_file(ctx, home, name):
    """The path of lib<name>.so: pip leaves it without the name that -l looks for."""
    for folder in ["lib64", "lib", "lib/x86_64-linux-gnu"]:
        path = ctx.path("%s/%s" % (home, folder))
        if not path.exists:
            continue
        files = sorted([str(file) for file in path.readdir() if file.basename.startswith("lib%s.so" % name)])
        if files:
            return files[0]
    return None

def _missing(name, what):
    """A target that says `what` is missing when it is built."""
    return """
genrule(
    name = "{name}_is_there",
    outs = ["{name}/missing.h"],
    cmd = "echo '{what}' >&2; exit 1",
)

cc_library(
    name = "{name}",
    hdrs = [":{name}_is_there"],
)
""".format(name = name, what = what)

def _library(ctx, name, home, what, libraries = [], toolkit = None):
    """A target of the headers and `libraries` of the folder `home`; where that or one of them is missing, as _missing."""
    if not home:
        return _missing(name, what)
    files = []
    for library in libraries:
        file = _library_file(ctx, home, library)
        if not file:
            return _missing(name, what)
        files.append(file)
    folders = {file.rpartition("/")[0]: True for file in files}
    own_headers = home not in [toolkit, "/usr"]
    if own_headers:
        ctx.symlink("%s/include" % home, "%s/include" % name)

    # cccl: two thousand headers of a library that the runtime does not use.
    return """
cc_library(
    name = "{name}",
    hdrs = glob(["{name}/include/**"], exclude = ["**/cccl/**"]),
    includes = {includes},
    linkopts = {linkopts},
    deps = {deps},
)
""".format(
        name = name,
        deps = [":cuda_runtime"] if home == toolkit else [],
        includes = ["%s/include" % name] if own_headers else [],
        # Shared libraries of this tree need them, which the linker does not see where a test is linked.
        linkopts = ["-Wl,--push-state,--no-as-needed"] +
                   [flag % folder for folder in folders for flag in ["-L%s", "-Wl,-rpath,%s"]] +
                   ["-l:" + file.rpartition("/")[2] for file in files] +
                   ["-Wl,--pop-state"],
    )

def _cuda_repository_impl(ctx):

    # Bazel's own PATH is always the same (.bazelrc); ./bazelw says which one its caller has.
    path = ctx.os.environ.get("CALLERS_PATH", ctx.os.environ["PATH"]).split(":")
    toolkit = _toolkit(ctx, path)
    pip = _pip(ctx, path)
    no_toolkit = "The CUDA toolkit is not there: install it (Debian: nvidia-cuda-toolkit), or say where it is by CUDA_HOME."
    text = "package(default_visibility = [\"//visibility:public\"])\n"
    text += _library(ctx, "cuda_runtime", toolkit, no_toolkit, ["cudart"])
    text += _library(ctx, "cublas_lt", toolkit, no_toolkit, ["cublasLt", "cublas"], toolkit)
    text += _library(ctx, "nvrtc", toolkit, no_toolkit, ["nvrtc"], toolkit)
    for name, header, variable, package, folder, libraries in _OTHERS:
        text += _library(
            ctx,
            name,
            _home(ctx, variable, header, toolkit, pip, folder),
            "%s is not there: pip install %s, or say where it is by %s." % (name, package, variable),
            libraries,
            toolkit,
        )
    ctx.file("BUILD.bazel", text + "exports_files([\"nvcc\"])\n")
    nvcc = "%s/bin/nvcc" % toolkit
    ctx.file("nvcc", _COMPILER % (nvcc, ctx.execute([nvcc, "--version"]).stdout) if toolkit else _NO_COMPILER % no_toolkit)

cuda_repository = repository_rule(
    implementation = _cuda_repository_impl,
    configure = True,
    environ = [
        "CALLERS_PATH",
        "CUDA_HOME",
        "CUDNN_FRONTEND_HOME",
        "CUDNN_HOME",
        "NCCL_HOME",
    ],
    local = True,
)
