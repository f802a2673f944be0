"""The accuracy study: what every strategy costs on real models and real data.

Reads the folder that experiments/accuracy.sh wrote (its layout: accuracy_study.py), the papers'
cells from results/published and the single devices' reference scores from
experiments/accuracy/references.json.
"""

from dataclasses import dataclass
from pathlib import Path

from thinwire_analysis import accuracy_figures, accuracy_report, accuracy_tables
from thinwire_analysis.accuracy_checks import check_all, load_references
from thinwire_analysis.accuracy_comparisons import compare, paired_change
from thinwire_analysis.accuracy_padding import padding_finding, padding_table
from thinwire_analysis.accuracy_study import load_study
from thinwire_analysis.errors import InputError
from thinwire_analysis.published import load_documents


@dataclass(frozen=True)
class Study:
    """What was found; `checks` are in the order of the summary.

    padding: {task: sentences}
    """

    tasks: list
    references: list
    documents: list
    findings: list
    padding_tables: dict
    padding: dict
    checks: list
    environment: dict


def judge(results, references_file, published_folder, schema):
    """Loads the folder's records and judges them. Raises InputError when a file is unusable."""
    tasks = load_study(results, schema)
    references = load_references(references_file)
    findings = [f for task in tasks for f in compare(task.name, task.points(), task.scores)]
    padding_tables = {
        task.name: padding_table(task, lambda a, b, task=task: paired_change(a, b, task.scores))
        for task in tasks
        if task.lengths
    }
    records = [record for task in tasks for found in task.records.values() for record in found]
    environment = next((r["environment"] for r in records if r.get("environment")), None)
    if environment is None:
        raise InputError(f"{results}: no record names its environment")
    return Study(
        tasks=tasks,
        references=references,
        documents=load_documents(published_folder),
        findings=findings,
        padding_tables=padding_tables,
        padding={name: padding_finding(table) for name, table in padding_tables.items()},
        checks=check_all(tasks, references, findings),
        environment=environment,
    )


def write_outputs(found, results, out):
    """Writes figures, CSV tables and report.md into `out`."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    tasks = [task for task in found.tasks if not task.grid().empty]
    for name, draw in _figures(tasks).items():
        draw(tasks, out / f"{name}.png")
    tables = _tables(found)
    for name, table in tables.items():
        table.to_csv(out / f"{name}.csv", index=False)
    accuracy_tables.points_table(found.tasks).to_csv(out / "points.csv", index=False)
    accuracy_tables.comparisons_table(found.findings).to_csv(out / "comparisons.csv", index=False)
    (out / "report.md").write_text(accuracy_report.assemble(found, tables), encoding="utf-8")


def summary(found):
    """The lines that end the study: checks, then the verdict on each ordering and task."""
    lines = [str(check) for check in found.checks]
    for finding in found.findings:
        lines.append(f"info  {finding.ordering.text}: {accuracy_report.finding_text(finding)}")
    return "\n".join(lines)


def _figures(tasks):
    """{name: function} of the figures that the tasks can fill."""
    made = {"pareto-bits": accuracy_figures.draw_pareto_bits}
    if any(not task.part("prism").empty for task in tasks):
        made["prism"] = accuracy_figures.draw_rates
    if any(not task.part("trace").empty for task in tasks):
        made |= {"levels": accuracy_figures.draw_levels, "devices": accuracy_figures.draw_devices}
    if any(not task.latency.empty for task in tasks):
        made["pareto-latency"] = accuracy_figures.draw_pareto_latency
    return made if tasks else {}


def _tables(found):
    tables = {"reference": accuracy_tables.reference_table(found.tasks, found.references)}
    scaling = {f.task: f for f in found.findings if f.ordering.key == "scaling"}
    for task in found.tasks:
        made = {"exact": accuracy_tables.exact_table(task)} if len(task.part("exact")) else {}
        if len(task.part("prism")):
            made["prism"] = accuracy_tables.prism_table(
                task, scaling.get(task.name), found.documents
            )
        if len(task.part("trace")):
            made["levels"] = accuracy_tables.levels_table(task)
            made["placement"] = accuracy_tables.placement_table(task, found.documents)
            made["devices"] = accuracy_tables.devices_table(task)
        if len(task.part("bf16")):
            made["bf16"] = accuracy_tables.bf16_table(task)
        if len(task.part("variants")):
            made["hierarchy"] = accuracy_tables.hierarchy_table(task)
            made["update"] = accuracy_tables.update_table(task, found.documents)
        if task.name in found.padding_tables:
            made["padding"] = found.padding_tables[task.name]
        tables |= {f"{task.name}-{key}": table for key, table in made.items()}
    return tables
