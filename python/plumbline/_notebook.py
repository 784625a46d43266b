# SPDX-License-Identifier: Apache-2.0
"""A result as pandas and as notebooks show it."""
from html import escape

_COLOURS = {"pass": "#2e7d32", "fail": "#c62828", "inconclusive": "#f9a825", "not_compared": "#757575"}
_COLUMNS = ("cosine", "rel_euclid", "max_abs", "max_rel")


def _side(row, name):
    side = getattr(row, name)
    words = ("operator", "type", "slot", "dtype", "shape")
    return {f"{name}_{word}": getattr(side, word) if side else None for word in words}


def to_pandas(result):
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("to_pandas() needs pandas: install python3-pandas, or pandas by pip") from missing
    lines = []
    for row in result.rows:
        line = {"id": row.id, "operator": row.operator, "slot": row.slot, "step": row.step, "rank": row.rank}
        line.update(verdict=row.verdict, suspicious=row.suspicious, reasons=", ".join(row.reasons))
        line.update(row.metrics)
        line.update(_side(row, "target"), **_side(row, "golden"))
        line.update(pairing_rule=row.pairing_rule, own_error=row.own_error, message=row.message)
        lines.append(line)
    return pandas.DataFrame(lines)


def _number(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def html(result, most=50):
    """The answer, the rows worth a look, and the causes."""
    title, totals = result._headline()
    colour = _COLOURS[result.verdict]
    parts = [f'<div><b style="color:{colour}">{escape(title)}</b><br><small>{escape(totals)}</small>']
    rows = result._rows_to_show(most)
    if rows:
        cells = "".join(f"<th>{name}</th>" for name in ("operator", "slot", "verdict") + _COLUMNS + ("why",))
        parts.append(f"<table><thead><tr>{cells}</tr></thead><tbody>")
        for row in rows:
            numbers = "".join(f"<td>{_number(row.metrics.get(name))}</td>" for name in _COLUMNS)
            parts.append(
                f"<tr><td>{escape(row.operator)}</td><td>{escape(row.slot)}</td>"
                f'<td style="color:{_COLOURS[row.verdict]}">{row.verdict}</td>{numbers}'
                f"<td>{escape(row.message or ', '.join(row.reasons))}</td></tr>"
            )
        parts.append("</tbody></table>")
    for finding in result.findings:
        evidence = "".join(f"<li>{escape(text)}</li>" for text in finding.evidence)
        where = f" at {escape(finding.operator)}" if finding.operator else ""
        parts.append(f"<p><b>{escape(finding.cause)}</b>{where}: {escape(finding.advice)}</p><ul>{evidence}</ul>")
    return "".join(parts) + "</div>"
