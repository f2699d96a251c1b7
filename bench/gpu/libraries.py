"""Where this machine has the libraries that the programs load, and which versions they are.

    python3 libraries.py                # Prints the versions as JSON.
"""
import ctypes
import glob
import json
import os
import site
import sys

# As the dynamic linker asks for them.
NAMES = ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libnvrtc.so.13", "libcudnn.so.9", "libnccl.so.2"]


def _candidates():
    for packages in [*sys.path[1:], *site.getsitepackages(), site.getusersitepackages()]:
        yield from sorted(glob.glob(os.path.join(packages, "nvidia", "*", "lib")))
    toolkits = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
    for toolkit in filter(None, toolkits):
        yield from (os.path.join(toolkit, folder) for folder in ("lib64", "lib", "targets/x86_64-linux/lib"))
    yield from ["/usr/lib/x86_64-linux-gnu", "/usr/local/nvidia/lib64"]


def places():
    """The first file of each name, by name."""
    candidates = list(_candidates())
    found = {}
    for name in NAMES:
        path = next((path for path in (os.path.join(folder, name) for folder in candidates) if os.path.exists(path)), None)
        if path is not None:
            found[name] = path
    return found


def search_path():
    """For LD_LIBRARY_PATH: the folders of these files, before those that are there already."""
    folders = [os.path.dirname(path) for path in places().values()]
    # A system folder would hide nothing that the linker does not find itself.
    folders = [folder for folder in dict.fromkeys(folders) if not folder.startswith("/usr/lib/")]
    return ":".join(folders + list(filter(None, [os.environ.get("LD_LIBRARY_PATH")])))


def driver_library(name):
    """A library of the driver, which may lie in a folder of its own."""
    for path in [name, f"/usr/local/nvidia/lib64/{name}", f"/usr/lib/x86_64-linux-gnu/{name}"]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _number_by_pointer(function):
    number = ctypes.c_int()
    return number.value if function(ctypes.byref(number)) == 0 else None


def _size(function):
    function.restype = ctypes.c_size_t
    return function()


def _dotted(number, *units):
    return None if not number else ".".join(str(number // unit % (units[i - 1] // unit if i else 10**6)) for i, unit in enumerate(units))


def versions():
    found = places()
    known = {}

    def ask(what, library, read):
        try:
            known[what] = read(ctypes.CDLL(found[library]))
        except (KeyError, OSError, AttributeError) as error:
            known[what] = f"not known: {error}"

    ask("CUDA runtime", "libcudart.so.13", lambda lib: _dotted(_number_by_pointer(lib.cudaRuntimeGetVersion), 1000, 10))
    ask("CUDA of the driver", "libcudart.so.13", lambda lib: _dotted(_number_by_pointer(lib.cudaDriverGetVersion), 1000, 10))
    ask("cuBLASLt", "libcublasLt.so.13", lambda lib: _dotted(_size(lib.cublasLtGetVersion), 10000, 100, 1))
    ask("cuDNN", "libcudnn.so.9", lambda lib: _dotted(_size(lib.cudnnGetVersion), 10000, 100, 1))
    ask("NCCL", "libnccl.so.2", lambda lib: _dotted(_number_by_pointer(lib.ncclGetVersion), 10000, 100, 1))
    known["folders"] = ", ".join(dict.fromkeys(os.path.dirname(path) for path in found.values()))
    return known


if __name__ == "__main__":
    print(json.dumps(versions()))
