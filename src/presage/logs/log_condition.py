"""The condition by which a task picks rows of its log: SQL that may read the log's own columns, and nothing else.

What a task says is parsed, and every part of it must be on a list of parts that only compute. What runs is written out
of that tree by DuckDB: the words of the task never stand in a query.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import duckdb

from presage.errors import DataError
from presage.logs.csv_errors import one_line

PARTS = {
    "COLUMN_REF",
    "CONSTANT",
    "COMPARISON",
    "CONJUNCTION",
    "BETWEEN",
    "OPERATOR",
    "FUNCTION",
    "CAST",
    "CASE",
    "TYPE",
}
OPERATORS = {
    "COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE",
    "OPERATOR_NULLIF", "OPERATOR_TRY", "ARRAY_EXTRACT", "STRUCT_EXTRACT",
}  # fmt: skip
FUNCTIONS = {
    "+", "-", "*", "/", "//", "%", "||", "~~", "!~~", "~~*", "!~~*", "~~~", "like_escape", "not_like_escape",
    "ilike_escape", "abs", "ceil", "ceiling", "floor", "round", "trunc", "sign", "sqrt", "ln", "log", "log2", "log10",
    "exp", "pow", "power", "mod", "greatest", "least", "isnan", "isinf", "isfinite", "ifnull", "nullif", "coalesce",
    "lower", "lcase", "upper", "ucase", "trim", "ltrim", "rtrim", "length", "len", "strlen", "substr", "substring",
    "left", "right", "replace", "concat", "contains", "starts_with", "ends_with", "prefix", "suffix", "strpos", "instr",
    "position", "split_part", "string_split", "regexp_matches", "regexp_full_match", "regexp_extract",
    "list_contains", "list_has", "array_contains", "list_value", "array_length", "hash", "md5", "md5_number_lower",
    "date_part", "datepart", "date_trunc", "datetrunc", "date_diff", "datediff", "year", "month", "day", "hour",
    "minute", "second", "quarter", "week", "weekday", "dayofweek", "isodow", "dayofyear", "epoch", "epoch_ms",
    "strptime", "try_strptime", "strftime", "to_timestamp", "make_date", "make_timestamp", "timezone", "to_days",
    "to_hours", "to_minutes", "to_seconds", "to_months", "to_weeks", "to_years",
}  # fmt: skip
"""What a condition may call: functions of their arguments alone, that touch nothing and give the same every day."""
NOW = {
    "now", "today", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "random",
    "get_current_timestamp", "transaction_timestamp", "gen_random_uuid", "uuid",
}  # fmt: skip
NUMBERS = {"INTEGER", "NUMERIC", "FLOAT", "DOUBLE", "DECIMAL", "BIGINT", "HUGEINT", "TINYINT", "SMALLINT"}
"""What DuckDB calls the constants that are numbers."""
REMEDY = "compare columns of the log with values, such as status <> 'test' AND country IN ('DE', 'FR')"
LONGEST = 10_000


class Condition(NamedTuple):
    """SQL that is true for the rows to keep, and the columns it reads."""

    sql: str
    columns: tuple[str, ...]


def read_condition(
    connection: duckdb.DuckDBPyConnection, text: str, name: str, types: Mapping[str, str], relation: str
) -> Condition:
    """The condition of a task on a log with columns of these types, which `relation` holds."""
    if len(text) > LONGEST:
        raise DataError("log.where is too long", f"{len(text):,} characters", f"keep it within {LONGEST:,}")
    tree, statement = _parsed(connection, text)
    columns = tuple(dict.fromkeys(_checked(tree, text, name, types)))
    _refuse_numbers(tree, text, {column.lower() for column, declared in types.items() if declared == "VARCHAR"})
    statement["statements"][0]["node"]["where_clause"] = tree
    written = str(connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(statement)]).fetchall()[0][0])
    sql = written.split(" WHERE ", 1)[1]
    try:
        connection.execute(f"SELECT ({sql})::BOOLEAN FROM {relation} LIMIT 0").fetchall()
    except duckdb.Error as error:
        why = one_line(error).partition(" Candidate")[0]
        raise DataError(f"log.where does not fit {name}", text, why) from error
    return Condition(f"coalesce(({sql})::BOOLEAN, false)", columns)


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tree of the condition, and a statement that has only a condition."""
    query = "SELECT json_serialize_sql(?)"
    try:
        found = json.loads(connection.execute(query, [f"SELECT 1 WHERE (\n{text}\n)"]).fetchall()[0][0])
        plain = json.loads(connection.execute(query, ["SELECT 1 WHERE true"]).fetchall()[0][0])
    except (duckdb.Error, RecursionError) as error:
        raise DataError("log.where cannot be read as SQL", text, REMEDY) from error
    if found["error"]:
        why = " ".join(str(found.get("error_message", "")).split())
        why = "it is nested too deeply" if "depth" in why else why
        raise DataError("log.where cannot be read as SQL", text, f"{why}; {REMEDY}" if why else REMEDY)
    statements = found["statements"]
    tree = statements[0]["node"].get("where_clause") if len(statements) == 1 else None
    # Whatever else a statement can have must be as in the plain one: nothing may hide behind a bracket.
    if tree is None or _bare(statements[0]) != _bare(plain["statements"][0]):
        raise DataError("log.where must be one condition and nothing else", text, REMEDY)
    return tree, plain


def _bare(statement: dict[str, Any]) -> Any:
    """A statement without its condition, and without the places in the text at which its parts stand."""
    node = statement["node"]
    bare = statement | {"node": {key: value for key, value in node.items() if key != "where_clause"}}
    return json.loads(json.dumps(bare), object_hook=lambda part: {k: v for k, v in part.items() if "location" not in k})


def _checked(tree: Any, text: str, name: str, types: Mapping[str, str]) -> Iterator[str]:
    """The columns that a condition reads; refused if any part of it is not on the lists."""
    by_name = {column.lower(): column for column in types}
    for part in _nodes(tree):
        kind, called = part["class"], str(part.get("function_name", "")).lower()
        if kind == "COLUMN_REF":
            column = str(part["column_names"][0])
            if column.lower() in by_name:
                yield by_name[column.lower()]
                continue
            if column.lower() in NOW:
                raise _changes(column, text)
            near = difflib.get_close_matches(column, list(types), 1, 0.6)
            remedy = (
                f"did you mean {near[0]}?" if near else f"its columns are {', '.join(types)}; text goes between '...'"
            )
            raise DataError(f"log.where names a column that {name} lacks", column, remedy)
        if kind == "FUNCTION" and called in NOW:
            raise _changes(called, text)
        if kind == "FUNCTION" and (called not in FUNCTIONS or part.get("schema") or part.get("catalog")):
            raise DataError("log.where may not call this function", called.replace("_star", "(*)"), REMEDY)
        if kind not in PARTS or (kind == "OPERATOR" and part["type"] not in OPERATORS):
            found = "a query within it" if kind == "SUBQUERY" else kind.lower().replace("_", " ")
            raise DataError("log.where may only compute with the columns of the log", f"{found} in {text!r}", REMEDY)


def _changes(called: str, text: str) -> DataError:
    remedy = "write the date itself, such as shown_at < '2024-07-01'"
    return DataError(f"log.where would mean something else at every run: it calls {called}", text, remedy)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every part of a tree; also those of parts that are not allowed, for it does not know them."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "class" in one:
                yield one
            elif "node" in one or "query" in one or "function_name" in one:
                yield {"class": "SUBQUERY", "type": "SUBQUERY"}
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _refuse_numbers(tree: Any, text: str, words: set[str]) -> None:
    """Nothing, or the error that words are compared with a number: to compare '12.5' with 12 DuckDB would round it."""
    for part in _nodes(tree):
        if part["class"] in ("COMPARISON", "BETWEEN") or part["type"] in ("COMPARE_IN", "COMPARE_NOT_IN"):
            sides = [side for side in _sides(part) if isinstance(side, dict)]
            named = [side["column_names"] for side in sides if side.get("class") == "COLUMN_REF"]
            columns = [str(names[0]) for names in named if len(names) == 1 and str(names[0]).lower() in words]
            if columns and any(_is_number(side) for side in sides):
                remedy = f"write try_cast({columns[0]} AS DOUBLE), or put the value between '...'"
                raise DataError(f"log.where compares the text of column {columns[0]} with a number", text, remedy)


def _sides(part: dict[str, Any]) -> list[Any]:
    return [*part.get("children", []), *(part.get(key) for key in ("left", "right", "input", "lower", "upper"))]


def _is_number(side: dict[str, Any]) -> bool:
    kind = side.get("literal", {}).get("kind") or side.get("value", {}).get("type", {}).get("id")
    return side.get("class") == "CONSTANT" and kind in NUMBERS
