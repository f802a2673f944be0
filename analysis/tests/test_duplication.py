import pytest

from synthetic import duplication_sweep
from thinwire_analysis.duplication import duplication_table
from thinwire_analysis.errors import InputError
from thinwire_analysis.frame import links_frame


def test_shows_time_beside_operations():
    table = duplication_table(links_frame(duplication_sweep()))

    assert table["P"].tolist() == [2, 3]
    assert table["operations, duplicate / on"].tolist() == ["1.250"] * 2
    assert table["time, duplicate / on"].tolist() == ["1.200"] * 2
    assert table["time, off / on"].tolist() == ["1.010"] * 2


def test_a_missing_form_is_named():
    records = [r for r in duplication_sweep() if r["spec"]["scaling"] != "off"]

    with pytest.raises(InputError, match="P=2 L=10: no point with scaling off"):
        duplication_table(links_frame(records))
