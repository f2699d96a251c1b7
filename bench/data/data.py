# Makes the data and measures both; prints the table of data.sh.
import os
import statistics
import subprocess
import sys
import time

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms

folder, repetitions, images = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
BATCH, SIDE, LENGTH, WINDOWS = 64, 224, 1024, 20000
torch.set_num_threads(1)


def make_images(path, count):
    """Photographs have smooth parts, edges and noise; so have these."""
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[0:256, 0:256] / 256
    for i in range(count):
        f = random.uniform(2, 30, 6)
        pixels = numpy.stack([numpy.sin(f[k] * y + f[k + 3] * x) for k in range(3)], -1) * 80 + 127
        pixels[int(f[0]) * 7:, int(f[1]) * 7:] += 40 * random.uniform(-1, 1, 3)
        pixels += random.normal(0, 10, pixels.shape)
        own = f"{path}/{i % 10}"
        os.makedirs(own, exist_ok=True)
        Image.fromarray(pixels.clip(0, 255).astype(numpy.uint8)).save(f"{own}/{i}.jpg", quality=85)


class Tokens(Dataset):
    """As nanoGPT reads them."""

    def __init__(self, path):
        self.tokens = numpy.memmap(path, dtype=numpy.uint16, mode="r")

    def __len__(self):
        return (len(self.tokens) - 1) // LENGTH * 9 // 10

    def __getitem__(self, i):
        window = torch.from_numpy(self.tokens[i * LENGTH:(i + 1) * LENGTH + 1].astype(numpy.int64))
        return window[:-1], window[1:]


def pytorch(dataset):
    """Samples in a second of processor time of a loader that works in the one thread of this process."""
    start, samples = time.process_time(), 0
    for first, _ in DataLoader(dataset, batch_size=BATCH, shuffle=True, drop_last=True):
        samples += len(first)
    return samples / (time.process_time() - start)


def pictures(side):
    return datasets.ImageFolder(folder + "/images", transforms.Compose([
        *([transforms.Resize(side)] if side != 256 else []),
        transforms.RandomCrop(SIDE), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]))


def here(*arguments):
    return float(subprocess.run([folder + "/read", *arguments], check=True, capture_output=True, text=True).stdout)


def row(name, ours, theirs):
    pairs = [(ours(), theirs()) for _ in range(repetitions)]
    a, b = (statistics.median(column) for column in zip(*pairs))
    print("| %s | %.0f | %.0f | %.2f |" % (name, a, b, statistics.median(x / y for x, y in pairs)))


make_images(folder + "/images", images)
tokens = folder + "/tokens.bin"
numpy.random.default_rng(1).integers(0, 50257, WINDOWS * LENGTH + 1, dtype=numpy.uint16).tofile(tokens)
for file in (os.path.join(where, name) for where, _, names in os.walk(folder + "/images") for name in names):
    open(file, "rb").read()
print("| | here, samples/s | DataLoader, samples/s | ratio |")
print("|---|---|---|---|")
row("JPEG 256x256, crop 224", lambda: here("images", folder + "/images", "256"), lambda: pytorch(pictures(256)))
row("JPEG 256x256, resized to 240, crop 224", lambda: here("images", folder + "/images", "240"), lambda: pytorch(pictures(240)))
row("windows of 1024 tokens", lambda: here("tokens", tokens), lambda: pytorch(Tokens(tokens)))
