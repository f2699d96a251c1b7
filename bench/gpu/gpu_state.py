"""Memory, clocks and power of the first GPU while something runs, as its driver tells them.

    with GpuState() as state:
        ...
    state.used()                                   # Bytes of memory, the most beyond what was taken before; or None.
"""
import ctypes
import os
import threading

import libraries

_PERIOD = 0.05  # Seconds.
_CLOCK_OF_MULTIPROCESSORS = 1


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Driver:
    """The functions of libnvidia-ml that are needed here. Each returns None where it is not answered."""

    def __init__(self):
        self._library = libraries.driver_library("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        if self._library is not None and self._library.nvmlInit_v2() != 0:
            self._library = None
        if self._library is not None:
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
            first = int(visible) if visible.isdigit() else 0
            if self._library.nvmlDeviceGetHandleByIndex_v2(first, ctypes.byref(self._device)) != 0:
                self._library = None

    def used(self):
        memory = _Memory()
        if self._library is None or self._library.nvmlDeviceGetMemoryInfo(self._device, ctypes.byref(memory)) != 0:
            return None
        return memory.used

    def _number(self, function, *arguments):
        number = ctypes.c_uint()
        if self._library is None or getattr(self._library, function)(self._device, *arguments, ctypes.byref(number)) != 0:
            return None
        return number.value

    def clock(self):
        """MHz."""
        return self._number("nvmlDeviceGetClockInfo", _CLOCK_OF_MULTIPROCESSORS)

    def power(self):
        """Milliwatts."""
        return self._number("nvmlDeviceGetPowerUsage")


class GpuState:
    _driver = None

    def __init__(self):
        if GpuState._driver is None:
            GpuState._driver = _Driver()
        self._samples = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._before = self._driver.used()
        if self._before is not None:
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self):
        while not self._ended.wait(_PERIOD):
            self._samples.append((self._driver.used(), self._driver.clock(), self._driver.power()))

    def used(self):
        known = [used for used, _, _ in self._samples if used is not None]
        return max(known) - self._before if known else None

    def _of_the_busy(self, index):
        """The median of the samples in the upper half of the power: starts and ends are left out."""
        known = sorted((power, sample[index]) for sample in self._samples for power in [sample[2]] if None not in sample)
        busy = sorted(value for _, value in known[len(known) // 2 :])
        return busy[len(busy) // 2] if busy else None

    def clock(self):
        return self._of_the_busy(1)

    def watts(self):
        milliwatts = self._of_the_busy(2)
        return None if milliwatts is None else milliwatts / 1000
