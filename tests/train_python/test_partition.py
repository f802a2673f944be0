"""The policy `paper`, and segments within it, by hand."""

from thinwire_train.partition import owners, partition, segments


def test_the_last_device_takes_the_remainder():
    assert partition(11, 3) == [(0, 3), (3, 3), (6, 5)]
    assert owners(5, 2).tolist() == [0, 0, 1, 1, 1]


def test_the_last_segment_of_each_device_takes_its_remainder():
    assert segments(11, 2, 2) == [(0, 2), (2, 3), (5, 3), (8, 3)]


def test_partitions_and_segments_tile_the_tokens():
    for tokens, devices, count in ((17, 3, 2), (65, 10, 6), (9, 9, 1), (197, 2, 10)):
        for slices in (partition(tokens, devices), segments(tokens, devices, count)):
            ends = [begin + size for begin, size in slices]
            assert [0, *ends[:-1]] == [begin for begin, _ in slices]
            assert ends[-1] == tokens
