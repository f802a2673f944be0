"""experiments/prepare/pictures.py: folders and tables of pictures, and what it refuses."""

import shutil

import numpy as np
import pytest
from places import REPOSITORY, VIT_TINY

pytest.importorskip("safetensors", reason="the package safetensors is missing")
Image = pytest.importorskip("PIL.Image", reason="the package Pillow is missing")
PICTURES = REPOSITORY / "tests" / "data" / "pictures"


@pytest.fixture
def folder(script):
    """Two classes: grey (one picture) and noise (two)."""
    place = script.folder / "pictures"
    for name, file in (("noise", "noise_37x23"), ("noise", "noise_5x7"), ("grey", "grey_9x6")):
        (place / name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PICTURES / f"{file}.png", place / name / f"{file}.png")
    return place


def test_sub_folders_are_classes_and_pictures_are_resized_as_pillow_does(script, folder):
    data = script.tensors("pictures.py", folder, "--size", "32", "--licence", "CC0")

    assert data["image"].shape == (3, 32, 32, 3)
    assert data["image"].dtype == np.uint8
    assert data["label"].dtype == np.int32
    assert data["label"].tolist() == [0, 1, 1]
    with Image.open(PICTURES / "noise_37x23.png") as picture:
        wanted = picture.convert("RGB").resize((32, 32), Image.Resampling.BILINEAR)
    assert np.array_equal(data["image"][1], np.asarray(wanted))
    assert script.metadata()["classes"] == "grey,noise"
    assert script.metadata()["licence"] == "CC0"


def test_thinwire_gives_a_sample_the_answer_of_its_picture(script, folder):
    script.tensors("pictures.py", folder, "--size", "32")

    from_data = script.run_thinwire(
        "--model", VIT_TINY, "--input", "data.safetensors", "--sample", 1
    )
    from_file = script.run_thinwire(
        "--model", VIT_TINY, "--input", PICTURES / "noise_37x23.png"
    )

    assert from_data["answer"]["label"] == 1
    assert from_data["answer"]["classes"] == from_file["answer"]["classes"]


def test_a_table_numbers_names_in_order_and_keeps_numbers(script, folder):
    table = folder / "index.csv"
    table.write_text("file,label\nnoise/noise_5x7.png,zebra\ngrey/grey_9x6.png,ape\n")
    named = script.tensors("pictures.py", table, "--size", "8x4")
    table.write_text("label,file\n7,noise/noise_5x7.png\n2,grey/grey_9x6.png\n")
    numbered = script.tensors("pictures.py", table, "--size", "8x4")

    assert named["image"].shape == (2, 4, 8, 3)
    assert named["label"].tolist() == [1, 0]
    assert numbered["label"].tolist() == [7, 2]


def test_crop_keeps_the_middle(script):
    wide = np.zeros((4, 12, 3), np.uint8)
    wide[:, 4:8] = 200
    (script.folder / "in" / "one").mkdir(parents=True)
    Image.fromarray(wide).save(script.folder / "in" / "one" / "wide.png")

    data = script.tensors("pictures.py", "in", "--size", "4", "--crop")

    assert np.all(data["image"] == 200)


def test_a_seed_draws_a_random_part(script, folder):
    options = ("pictures.py", folder, "--size", "8", "--limit", "2", "--seed")
    orders = {tuple(script.tensors(*options, seed)["label"]) for seed in range(6)}

    assert all(len(order) == 2 for order in orders)
    assert len(orders) > 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "--size", "8"), ["nowhere", "folder"]),
        (("empty", "--size", "8"), ["empty", "sub-folders"]),
        (("pictures", "--size", "0"), ["--size=0", "224"]),
        (("broken", "--size", "8"), ["text.png", "not a picture"]),
        (("table.csv", "--size", "8"), ["table.csv, line 3", "gone.png"]),
        (("header.csv", "--size", "8"), ["header.csv", "file,label"]),
    ],
)
def test_refuses_with_one_line(script, folder, arguments, said):
    (script.folder / "empty").mkdir()
    (script.folder / "broken" / "one").mkdir(parents=True)
    (script.folder / "broken" / "one" / "text.png").write_text("no picture")
    (script.folder / "table.csv").write_text(
        "file,label\npictures/grey/grey_9x6.png,a\ngone.png,b\n"
    )
    (script.folder / "header.csv").write_text("picture,class\nx.png,1\n")

    message = script.refusal("pictures.py", *arguments)

    for word in said:
        assert word in message


def test_refuses_a_place_that_cannot_be_written(script, folder):
    done = script("pictures.py", folder, "--size", "8", "--out", "missing/data.safetensors")

    assert done.returncode == 2
    assert "--out=missing/data.safetensors" in done.stderr
