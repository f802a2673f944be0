"""check_includes.py finds each kind of violation, and only these."""

import tempfile
import unittest
from pathlib import Path

from check_includes import check_tree


def check(files: dict) -> list:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check_tree(Path(folder))


class CheckIncludes(unittest.TestCase):
    def test_accepts_what_the_table_allows(self):
        self.assertEqual(
            check(
                {
                    "include/thinwire/ops/a.hpp": '#include "thinwire/tensor/matrix.hpp"\n',
                    "src/ops/a.cpp": "#include <dnnl.hpp>\n#include <vector>\n",
                    "src/ops/private.hpp": "#include <dnnl.hpp>\n",
                    "src/fabric/a.cpp": "#include <mpi.h>\n",
                    "src/fabric/private.hpp": "#include <mpi.h>\n",
                    "src/cost/a.cpp": '#include "thinwire/fabric/link.hpp"\n',
                    "src/link_shim/a.cpp": "#include <mpi.h>\n",
                }
            ),
            [],
        )

    def test_names_file_line_and_reason(self):
        found = check({"src/base/a.cpp": '\n#include "thinwire/tensor/half.hpp"\n'})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].endswith("a.cpp:2: base may not include tensor/half.hpp"))

    def test_refuses_each_kind(self):
        for name, line in {
            "include/thinwire/compress/a.hpp": '#include "thinwire/fabric/fabric.hpp"',
            "include/thinwire/fabric/a.hpp": "#include <mpi.h>",
            "include/thinwire/ops/a.hpp": "#include <dnnl.hpp>",
            "src/strategy/a.cpp": "#include <mpi.h>",
            "src/model/a.cpp": '#include "oneapi/dnnl/dnnl.hpp"',
            "src/cost/a.cpp": '#include "thinwire/fabric/fabric.hpp"',
            "include/thinwire/fabric/link.hpp": '#include "thinwire/fabric/fabric.hpp"',
            "src/cli/a.cpp": '#include "thinwire/strategy/strategy.hpp"',
            "src/link_shim/a.cpp": '#include "thinwire/fabric/fabric.hpp"',
            "src/attic/a.cpp": "",
        }.items():
            with self.subTest(name):
                self.assertEqual(len(check({name: line + "\n"})), 1)

    def test_refuses_an_empty_tree(self):
        self.assertEqual(len(check({})), 1)


if __name__ == "__main__":
    unittest.main()
