import pandas as pd

from thinwire_analysis.markdown import to_markdown


def test_a_frame_becomes_a_pipe_table():
    table = pd.DataFrame({"name": ["a|b"], "value": ["1.0"]})

    assert to_markdown(table) == "| name | value |\n| --- | ---: |\n| a\\|b | 1.0 |\n"
