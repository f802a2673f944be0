"""What check.py reads from callgrind's dumps, and that it finds a regression: made up, and made."""

import copy
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import check
from callgrind import read_dump

DUMP = """\
# callgrind format
version: 1
part: 7

desc: Trigger: Client Request: vit, single

events: Ir
summary: 999

ob=/build/program
fl=???
fn=softmax(float*)
0 100
cob=/usr/lib/libdnnl.so.2
cfi=???
cfn=dnnl_primitive_execute
calls=6 0
0 5000
0 20
cfn=exponentiate(float*)
calls=3 0
0 60

fn=exponentiate(float*)'2
0 60

fn=0x000000000001a2b0
0 3

ob=/usr/lib/libdnnl.so.2
fl=???
fn=jit_kernel
0 5000
cob=/usr/lib/libgomp.so.1
cfn=GOMP_parallel
calls=3 0
0 40
"""


LOOP = "void thinwire::ops::(anonymous namespace)::multiply<6l>(thinwire::ops::ProductTile const&)"


def case(instructions=1000, calls=4.0, products=0, **functions):
    return {
        "instructions": instructions,
        "products": products,
        "functions": functions or {"softmax": instructions},
        "calls": {"dnnl_primitive_execute": calls},
    }


def document(compiler="GCC 12", **cases):
    built_from = {"compiler": compiler, "onednn": "2.6.3", "flags": "-O3"}
    return {"schema": check.SCHEMA, "built_from": built_from, "cases": cases}


class ReadsDumps(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "dump.7")
            path.write_text(DUMP, encoding="utf-8")
            self.dump = read_dump(path, "/build/program")

    def test_takes_the_instructions_of_the_program_without_those_of_callees(self):
        self.assertEqual(
            self.dump.functions,
            {"softmax(float*)": 120, "exponentiate(float*)": 60, "(no symbol)": 3},
        )

    def test_takes_the_calls_that_leave_the_program(self):
        self.assertEqual(self.dump.calls, {"dnnl_primitive_execute": 6})

    def test_knows_the_dump(self):
        self.assertEqual((self.dump.number, self.dump.name), (7, "vit, single"))

    def test_tells_the_loops_of_products_and_the_playback_from_the_rest(self):
        self.dump.functions[LOOP] = 900
        self.dump.functions["thinwire::validation::ReplayTransport::meet()"] = 600

        found = check.case_of(self.dump)

        self.assertEqual((found["instructions"], found["products"]), (61, 300))
        self.assertNotIn("thinwire::validation::ReplayTransport::meet()", found["functions"])

    def test_states_figures_of_one_pass(self):
        found = check.case_of(self.dump)

        self.assertEqual((found["instructions"], found["products"]), (61, 0))
        self.assertEqual(found["functions"]["softmax(float*)"], 40)
        self.assertEqual(found["calls"], {"dnnl_primitive_execute": 2})


class Compares(unittest.TestCase):
    def judge(self, counted, reference):
        status, lines = check.compare(counted, reference)
        return status, "\n".join(lines)

    def test_passes_within_the_tolerance(self):
        status, text = self.judge(document(a=case(1029)), document(a=case(1000)))

        self.assertEqual(status, check.GOOD, text)

    def test_names_the_functions_that_grew(self):
        now = case(1100, softmax=700, norm=400)
        status, text = self.judge(document(a=now), document(a=case(1000, softmax=600, norm=400)))

        self.assertEqual(status, check.BAD)
        self.assertIn("+10.0 %", text)
        self.assertIn("+100  softmax", text)
        self.assertNotIn("norm", text)

    def test_holds_the_loops_of_products_by_themselves(self):
        now, then = case(1050, products=90_000), case(1000, products=90_000)
        status, text = self.judge(document(a=now), document(a=then))
        self.assertEqual(status, check.BAD)
        self.assertIn("instructions: +5.0 %", text)
        self.assertNotIn("products:", text)

        now["functions"][LOOP], then["functions"][LOOP] = 99_000, 90_000
        now.update(instructions=1000, products=99_000)
        status, text = self.judge(document(a=now), document(a=then))
        self.assertEqual(status, check.BAD)
        self.assertIn("products: +10.0 %", text)
        self.assertIn(f"+9000  {LOOP}", text)
        self.assertNotIn("instructions: ", text)

    def test_asks_to_take_a_gain_in(self):
        status, text = self.judge(document(a=case(900)), document(a=case(1000)))

        self.assertEqual(status, check.BAD)
        self.assertIn("--update", text)

    def test_finds_one_more_product(self):
        status, text = self.judge(document(a=case(calls=5.0)), document(a=case(calls=4.0)))

        self.assertEqual(status, check.BAD)
        self.assertIn("dnnl_primitive_execute is called 5 times a pass, reference 4", text)

    def test_finds_a_case_on_one_side_alone(self):
        one, none = document(a=case()), document()
        for counted, reference in ((one, none), (none, one)):
            status, text = self.judge(counted, reference)
            self.assertEqual(status, check.BAD)
            self.assertIn("case is not in the", text)

    def test_says_that_other_builds_do_not_compare(self):
        status, text = self.judge(document("GCC 13", a=case(2000)), document(a=case(1000)))

        self.assertEqual(status, check.INCOMPARABLE)
        self.assertIn("SKIPPED the instructions", text)
        self.assertIn("compiler GCC 13, reference GCC 12", text)

    def test_compares_products_whatever_the_build(self):
        status, _ = self.judge(document("GCC 13", a=case(calls=5.0)), document(a=case(calls=4.0)))

        self.assertEqual(status, check.BAD)

    def test_refuses_a_file_that_is_no_reference(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "reference.json")
            for text in ("", "{}", '{"schema": "other"}', "[]"):
                path.write_text(text, encoding="utf-8")
                with self.assertRaises(SystemExit) as stop:
                    check.main(["--reference", str(path)])
                self.assertEqual(stop.exception.code, 2)

    def test_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            status = check.main(["--program", str(Path(folder, "none"))])

        self.assertEqual(status, check.INCOMPARABLE)


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
@unittest.skipUnless(check.PROGRAM.exists(), f"{check.PROGRAM} is not built")
class CountsARealRegression(unittest.TestCase):
    def test_waste_in_every_pass_is_found_and_named(self):
        reference = check.load_reference(check.REFERENCE)
        counted = check.count(check.PROGRAM, wasted=100_000)
        reference["built_from"] = copy.deepcopy(counted["built_from"])

        status, lines = check.compare(counted, reference)

        text = "\n".join(lines)
        self.assertEqual(status, check.BAD)
        self.assertEqual(text.count("thinwire::instructions::waste(int)"), len(reference["cases"]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        check.PROGRAM = Path(sys.argv.pop())
    unittest.main()
