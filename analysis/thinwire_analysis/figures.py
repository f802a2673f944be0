"""Makes and saves figures: without a display, one look for all."""

from contextlib import contextmanager

import matplotlib

matplotlib.use("Agg")  # writes files; there may be no display

from matplotlib import pyplot as plt  # noqa: E402


@contextmanager
def panels(path, title, count, *, size=(4.6, 3.8), share_y=False):
    """Yields a row of `count` axes; writes a PNG with one legend below when they are drawn."""
    figure, axes = plt.subplots(
        1, count, figsize=(size[0] * count, size[1]), sharey=share_y, squeeze=False
    )
    yield axes[0]
    entries = {}
    for axis in axes[0]:
        handles, labels = axis.get_legend_handles_labels()
        entries.update(zip(labels, handles))
    if entries:
        columns = min(len(entries), 3 * count)
        figure.legend(
            entries.values(), entries.keys(), loc="lower center", ncol=columns, fontsize=8,
            frameon=False,
        )  # fmt: skip
    figure.suptitle(title, fontsize=11)
    rows = -(-len(entries) // max(1, 3 * count)) if entries else 0
    figure.tight_layout(rect=(0, 0.06 * rows, 1, 1))
    figure.savefig(path, dpi=160)
    plt.close(figure)
