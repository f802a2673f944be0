"""Handwritten digits that scikit-learn's wheel carries -> digits_calib and digits_test."""

import gzip

import numpy as np
from PIL import Image

from thinwire_prepare.wheels import PackagedFile, take_files

TABLE = PackagedFile(
    "scikit-learn==1.5.2",
    "sklearn/datasets/data/digits.csv.gz",
    "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
)
SIDE = 8  # of a digit as it is stored, in pixels with values 0 to 16
BRIGHTEST = 16
TEST_PICTURES = 500
SEED = 0  # of the order before the split
METADATA = {
    "task": "image classification",
    "classes": "0,1,2,3,4,5,6,7,8,9",
    "source": "PyPI scikit-learn 1.5.2, sklearn/datasets/data/digits.csv.gz: the test set of UCI's "
    "Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak, 1998)",
    "licence": "scikit-learn: BSD 3-Clause; UCI data set: CC BY 4.0",
}


def load_digits(downloads, side):
    """(calibration, test), each tensors by name: image uint8 [n, side, side, 3], label int32 [n].

    One random order with a fixed seed is cut: 1,297 to train and calibrate on, 500 to score.
    """
    (content,) = take_files([TABLE], downloads)
    rows = np.loadtxt(gzip.decompress(content).decode("ascii").splitlines(), delimiter=",")
    rows = rows[np.random.default_rng(SEED).permutation(len(rows))]
    grey = np.round(rows[:, :-1] * (255 / BRIGHTEST)).astype(np.uint8).reshape(-1, SIDE, SIDE)
    images = np.stack([_resized(picture, side) for picture in grey])
    labels = rows[:, -1].astype(np.int32)
    cut = len(rows) - TEST_PICTURES
    return (
        {"image": images[:cut], "label": labels[:cut]},
        {"image": images[cut:], "label": labels[cut:]},
    )


def _resized(grey, side):
    picture = Image.fromarray(grey).resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(picture.convert("RGB"))
