import io

from rich.console import Console

from dumbbell.comparing.tables import Table

TABLE = Table("Title", ["name", "value (ms)"], [["a|b", "1.5"], ["[bold]c", "+2 %"]])


def test_csv_is_header_and_rows():
    assert TABLE.csv() == "name,value (ms)\na|b,1.5\n[bold]c,+2 %\n"


def test_markdown_aligns_numbers_right_and_escapes_pipes():
    assert TABLE.markdown() == "**Title**\n\n| name | value (ms) |\n| --- | ---: |\n| a\\|b | 1.5 |\n| [bold]c | +2 % |\n"


def printed(table, width):
    out = io.StringIO()
    Console(file=out, width=1000).print(table.rich(width))
    return out.getvalue()


def test_terminal_shows_every_field_as_it_is():
    text = printed(TABLE, 60)
    for field in ("Title", "a|b", "[bold]c", "+2 %"):
        assert field in text


def test_fields_are_wrapped_and_no_word_is_cut_however_narrow_the_terminal():
    row = ["flowblind sce-single", "throughput (Mbit/s)", "23.78 to 31.03"]
    table = Table("t", ["queue mode", "metric", "our range"], [row])
    for width in (1, 30, 40, 60, 200):
        text = printed(table, width)
        assert set(" ".join(row).split()) <= set(text.split())
        assert max(len(line.rstrip()) for line in text.splitlines() if "─" not in line) <= max(width, 37)
    assert "flowblind sce-single  throughput (Mbit/s)  23.78 to 31.03" in printed(table, 200)
    assert "flowblind   throughput  23.78" in printed(table, 1)
