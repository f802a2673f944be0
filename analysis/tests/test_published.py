import json

import pytest

from thinwire_analysis.cli import DEFAULT_PUBLISHED
from thinwire_analysis.errors import InputError
from thinwire_analysis.published import load_published_latency


def test_the_repositorys_file_has_the_papers_figures():
    published = load_published_latency(DEFAULT_PUBLISHED)

    assert published.rate_mbps == 200
    assert published.cuts == {(2, 10): 43.3, (3, 10): 52.6}
    assert published.voltage_crossing == {2: "about 400"}


@pytest.mark.parametrize(
    "document", [{}, {"schema": "other/1"}, {"schema": "thinwire.published/1", "tables": []}]
)
def test_another_document_is_refused_by_name(document, tmp_path):
    path = tmp_path / "paper.json"
    path.write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(InputError, match="paper.json"):
        load_published_latency(path)
