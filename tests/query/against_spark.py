"""Apache Spark on the Parquet files of archives and of a store against trace-query."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import against_duckdb
from against_store import HOSTS, LARGE, QUERIES, Store
from archives import Archive
from program import Query, Row, differences
from pyspark.sql import SparkSession

# What is read, the name of a check, its faults and its rows.
Check = tuple[str, str, Callable[[], list[str]], int | None]

TABLE = re.compile(r"\b(?:from|join) (\w+)")


class Spark:
    """A session on this machine, and the tables that it reads."""

    def __init__(self, work: Path) -> None:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = SparkSession.builder.master("local[2]").appName("trace").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.warehouse.dir", str(work / "warehouse")).config("spark.sql.shuffle.partitions", "2")
        # The folders of a day have texts.
        self.session = builder.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate()
        self.session.sparkContext.setLogLevel("OFF")

    def table(self, name: str, files: list[str], folder: str | None = None) -> None:
        reader = self.session.read if folder is None else self.session.read.option("basePath", folder)
        reader.parquet(*files).createOrReplaceTempView(name)

    def rows(self, text: str) -> list[Row]:
        text = text.replace("as varchar", "as string")
        return [[plain(value) for value in row] for row in self.session.sql(text).collect()]

    def drop(self) -> None:
        for table in self.session.catalog.listTables():
            self.session.catalog.dropTempView(table.name)


def plain(value: object) -> object:
    """Unsigned integers of 64 bits are decimal numbers."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value) if isinstance(value, date) else value


def checks(query: Query, archives: list[Archive], work: Path) -> Iterator[Check]:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    spark = Spark(work)
    archives = [archive for archive in archives if archive.name not in LARGE]
    for archive in archives:
        folder = work / archive.name
        query.export(archive.path, folder)
        spark.drop()
        for file in folder.glob("*.parquet"):
            spark.table(file.stem, [str(file)])
        texts = {name: text.replace("{key}", archive.key) for name, text in against_duckdb.QUERIES.items()}
        yield from compared(archive.name, spark, texts, query.results(archive.path, list(texts.values())))
    store = Store(str(work / "store"), query)
    store.add(archives)
    store.run("compact", store.name, "--delete-after", "0s")
    spark.drop()
    tables: dict[str, list[str]] = {}
    for file in store.files():
        tables.setdefault(Path(file).relative_to(store.name).parts[0], []).append(file)
    for table, files in tables.items():
        spark.table(table, files, str(Path(store.name) / table))
    texts = {name: text for name, text in (against_duckdb.QUERIES | QUERIES).items() if "{key}" not in text}
    texts = {name: text for name, text in texts.items() if all(table in tables for table in TABLE.findall(text))}
    yield from compared("a store", spark, texts, [[as_spark(row) for row in rows] for rows in store.results(list(texts.values()))])
    spark.session.stop()


def as_spark(row: Row) -> Row:
    """Returns a row with the hosts as Spark reads them: each escaped byte in the name of a directory is a character."""
    names = {host: host.encode().decode("latin-1") for host in HOSTS}
    return [names.get(value, value) if isinstance(value, str) else value for value in row]


def compared(what: str, spark: Spark, texts: dict[str, str], found: list[list[Row]]) -> Iterator[Check]:
    for (name, text), own in zip(texts.items(), found):
        # DuckDB's checks have rows for each query, of more archives.
        yield what, f"Spark: {name}", lambda text=text, own=own: differences(spark.rows(text), own), len(own) or None
