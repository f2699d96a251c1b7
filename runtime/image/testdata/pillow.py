"""Writes images and what Pillow and torchvision make of them: python3 pillow.py, in this folder.

cases.txt: a file, its channels, the shorter side after resizing (0: as it is), and the size of the crop from its middle; the bytes of all
crops are in cases.pixels, one after another. The files here are from Pillow 13.0.0 with torchvision 0.29.2.
"""
import math
import struct
import zlib

from PIL import Image
from torchvision import transforms

HEIGHT, WIDTH = 19, 23


def value(y, x, c):
    return int(127.5 + 90 * math.sin(0.4 * y + 0.9 * c) + 37 * math.cos(0.7 * x - 0.3 * y * c)) % 256


def pixels(channels):
    return bytes(value(y, x, c) for y in range(HEIGHT) for x in range(WIDTH) for c in range(channels))


def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))


def png(name, bits, color, rows, interlace=0, extra=b''):
    header = struct.pack('>IIBBBBB', WIDTH, HEIGHT, bits, color, 0, 0, interlace)
    data = b''.join(b'\0' + row for row in rows)
    with open(name, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + extra + chunk(b'IDAT', zlib.compress(data, 9)) + chunk(b'IEND', b''))


def adam7(channels):
    rows = []
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, HEIGHT, dy):
            row = bytes(value(y, x, c) for x in range(x0, WIDTH, dx) for c in range(channels))
            if row:
                rows.append(row)
    return rows


def packed(bits):
    for y in range(HEIGHT):
        row, byte, free = [], 0, 8
        for x in range(WIDTH):
            byte, free = byte << bits | value(y, x, 0) >> 8 - bits, free - bits
            if free == 0:
                row, byte, free = row + [byte], 0, 8
        yield bytes(row + ([byte << free] if free < 8 else []))


def wide(channels):
    for y in range(HEIGHT):
        yield b''.join(struct.pack('>H', 251 * value(y, x, c) + x) for x in range(WIDTH) for c in range(channels))


def main():
    size = (WIDTH, HEIGHT)
    images = {c: Image.frombytes(mode, size, pixels(c)) for c, mode in ((1, 'L'), (2, 'LA'), (3, 'RGB'), (4, 'RGBA'))}
    inks = Image.frombytes('CMYK', size, pixels(4))
    for channels, name in ((1, 'grey'), (2, 'grey_alpha'), (3, 'color'), (4, 'color_alpha')):
        images[channels].save(name + '.png')
    images[3].quantize(16).save('palette.png', transparency=3)
    png('color_interlaced.png', 8, 2, adam7(3), interlace=1, extra=chunk(b'gAMA', struct.pack('>I', 45455)))
    png('color_16.png', 16, 2, wide(3))
    for bits in (1, 2, 4):
        png(f'grey_{bits}.png', bits, 0, packed(bits))
    images[1].save('grey.jpg', quality=90)
    images[3].save('color.jpg', quality=90)
    images[3].save('color_whole.jpg', quality=95, subsampling=0)
    images[3].save('color_progressive.jpg', quality=80, progressive=True)
    inks.save('inks.jpg', quality=90)

    names = ['grey.png', 'grey_alpha.png', 'color.png', 'color_alpha.png', 'palette.png', 'color_interlaced.png', 'color_16.png',
             'grey_1.png', 'grey_2.png', 'grey_4.png', 'grey.jpg', 'color.jpg', 'color_whole.jpg', 'color_progressive.jpg', 'inks.jpg']
    cases = [(name, channels, 0, HEIGHT, WIDTH) for name in names for channels in (1, 3)]
    cases += [('color.png', 3, 0, 14, 16), ('color.png', 3, 8, 8, 8), ('color.png', 3, 11, 10, 11), ('color.png', 1, 11, 10, 11),
              ('color.png', 3, 31, 31, 31), ('color.png', 3, 19, 15, 16), ('color.png', 3, 5, 3, 4)]
    with open('cases.txt', 'w') as list_of_cases, open('cases.pixels', 'wb') as bytes_of_cases:
        for name, channels, side, rows, columns in cases:
            with Image.open(name) as image:
                result = image.convert('L' if channels == 1 else 'RGB')
            if side:
                result = transforms.Resize(side)(result)
            result = transforms.CenterCrop((rows, columns))(result)
            bytes_of_cases.write(result.tobytes())
            list_of_cases.write(f'{name} {channels} {side} {rows} {columns}\n')


main()
