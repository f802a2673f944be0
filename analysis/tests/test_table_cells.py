import json

import pytest

from synthetic import table_cells
from thinwire_analysis.errors import InputError
from thinwire_analysis.table_cells import check_cells, load_cells


def failing(cells):
    return [check.name for check in check_cells(cells) if not check.passed]


def test_33_equal_totals_and_5_within_the_tolerance_pass():
    totals, *columns = check_cells(table_cells(unequal_totals=5))

    assert totals.passed
    assert totals.detail.startswith("33 of 38")
    assert all(check.passed for check in columns)


def test_32_equal_totals_fail():
    assert failing(table_cells(unequal_totals=6)) == ["GFLOPs totals equal to the printed digit"]


def test_a_total_beyond_the_tolerance_fails():
    cells = table_cells(unequal_totals=1)
    cells[0]["ours"] = "45.97"  # printed 46.00: 0.065 %

    assert failing(cells) == ["GFLOPs totals equal to the printed digit"]


def test_a_total_that_was_not_reproduced_fails():
    cells = table_cells()
    cells[0].update(ours=None, equal=None)

    assert failing(cells) == ["GFLOPs totals equal to the printed digit"]


@pytest.mark.parametrize("column", ["pdplc_tokens", "cr", "comm_speedup_percent"])
def test_any_other_cell_that_differs_is_named(column):
    cells = table_cells()
    wrong = next(cell for cell in cells if cell["column"] == column)
    wrong.update(ours="11", equal=False)

    check = next(check for check in check_cells(cells) if not check.passed)

    assert check.name == f"{column} cells equal"
    assert check.detail == "2 of 3; not vit row 0"


def test_columns_without_cells_fail():
    assert len(failing([])) == 4


def test_other_tables_and_what_the_paper_does_not_print_do_not_count():
    cells = table_cells()
    cells[0]["table"] = "duplicates"
    cells[1]["published"] = None

    assert check_cells(cells)[0].detail.startswith("36 of 36")


def test_a_file_that_is_no_list_of_cells_is_refused(tmp_path):
    path = tmp_path / "tables.json"
    path.write_text(json.dumps([{"table": "vit"}]), encoding="utf-8")

    with pytest.raises(InputError, match="tables.json: a cell without"):
        load_cells(path)
