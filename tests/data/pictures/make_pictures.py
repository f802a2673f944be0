"""Writes the pictures of this folder and what Pillow makes of them (expected.safetensors).

Needs numpy, Pillow and safetensors. Run it in this folder; the last lines go into resize_test.cpp.
"""

import numpy as np
from PIL import Image
from safetensors.numpy import save_file

rng = np.random.default_rng(0)
pictures = {
    "noise_37x23": rng.integers(0, 256, (23, 37, 3), dtype=np.uint8),
    "noise_5x7": rng.integers(0, 256, (7, 5, 3), dtype=np.uint8),
    "stripes_64x48": np.kron(rng.integers(0, 2, (6, 8, 3)), np.full((8, 8, 1), 255)).astype(np.uint8),
}
sizes = {  # width, height
    "noise_37x23": [(32, 32), (37, 10), (11, 23), (80, 50), (1, 1)],
    "noise_5x7": [(16, 16), (3, 9)],
    "stripes_64x48": [(32, 32), (33, 31)],
}

expected = {}
for name, pixels in pictures.items():
    picture = Image.fromarray(pixels)
    picture.save(f"{name}.png", optimize=True)
    expected[name] = pixels
    for width, height in sizes[name]:
        small = picture.resize((width, height), Image.Resampling.BILINEAR)
        expected[f"{name}.{width}x{height}"] = np.asarray(small)

# The other ways a PNG stores colours, as Pillow converts them to RGB.
grey = Image.fromarray(rng.integers(0, 256, (6, 9), dtype=np.uint8))
grey.save("grey_9x6.png", optimize=True)
expected["grey_9x6"] = np.asarray(grey.convert("RGB"))
palette = Image.fromarray(pictures["stripes_64x48"]).convert("P", palette=Image.Palette.ADAPTIVE)
palette.save("palette_64x48.png", optimize=True)
expected["palette_64x48"] = np.asarray(palette.convert("RGB"))
alpha = Image.fromarray(rng.integers(0, 256, (6, 9, 4), dtype=np.uint8), "RGBA")
alpha.save("alpha_9x6.png", optimize=True)
expected["alpha_9x6"] = np.asarray(alpha.convert("RGB"))

# Decoders of JPEG differ by rounding: a smooth picture, to be compared with a tolerance.
y, x = np.mgrid[0:40, 0:56]
smooth = np.stack([x * 4, y * 6, 255 - x * 2 - y], axis=-1).clip(0, 255).astype(np.uint8)
Image.fromarray(smooth).save("smooth_56x40.jpg", quality=90)
expected["smooth_56x40"] = np.asarray(Image.open("smooth_56x40.jpg").convert("RGB"))

save_file(expected, "expected.safetensors", {"made_by": "make_pictures.py"})

# A large picture by formula, summarised by FNV-1a of its bytes.
y, x, c = np.mgrid[0:480, 0:640, 0:3]
large = ((x * x * 7 + y * 131 + c * 57 + x * y) % 256).astype(np.uint8)
for width, height in [(224, 224), (384, 384), (800, 1000)]:
    small = np.asarray(Image.fromarray(large).resize((width, height), Image.Resampling.BILINEAR))
    digest = 0xCBF29CE484222325
    for byte in small.tobytes():
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    print(f"{{{width}, {height}, 0x{digest:016x}}},")
