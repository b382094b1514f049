import io

from rich.console import Console

from dumbbell.report.tables import Table

TABLE = Table("Title", ["name", "value (ms)"], [["a|b", "1.5"], ["[bold]c", "+2 %"]])


def test_csv_is_header_and_rows():
    assert TABLE.csv() == "name,value (ms)\na|b,1.5\n[bold]c,+2 %\n"


def test_markdown_aligns_numbers_right_and_escapes_pipes():
    assert TABLE.markdown() == "**Title**\n\n| name | value (ms) |\n| --- | ---: |\n| a\\|b | 1.5 |\n| [bold]c | +2 % |\n"


def test_terminal_shows_every_field_as_it_is():
    out = io.StringIO()
    Console(file=out, width=60).print(TABLE.rich())
    for field in ("Title", "a|b", "[bold]c", "+2 %"):
        assert field in out.getvalue()
