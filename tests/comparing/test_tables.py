import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.comparing import tables
from dumbbell.comparing.tables import Table, fixed

TABLE = Table("Title", ["name", "value (ms)"], [["a|b", "1.5"], ["[bold]c", "+2 %"]])


def test_csv_is_header_and_rows():
    assert TABLE.csv() == "name,value (ms)\na|b,1.5\n[bold]c,+2 %\n"


def test_markdown_aligns_numbers_right_and_escapes_pipes():
    assert TABLE.markdown() == "**Title**\n\n| name | value (ms) |\n| --- | ---: |\n| a\\|b | 1.5 |\n| [bold]c | +2 % |\n"


def test_terminal_shows_every_field_as_it_is():
    text = TABLE.text(60)
    for field in ("Title", "a|b", "[bold]c", "+2 %"):
        assert field in text


def test_fields_are_wrapped_and_no_word_is_cut_however_narrow_the_terminal():
    row = ["flowblind sce-single", "throughput (Mbit/s)", "23.78 to 31.03"]
    table = Table("t", ["queue mode", "metric", "our range"], [row])
    for width in (1, 30, 40, 60, 200):
        text = table.text(width)
        assert set(" ".join(row).split()) <= set(text.split())
        assert max(len(line.rstrip()) for line in text.splitlines() if "─" not in line) <= max(width, 37)
    assert "flowblind sce-single  throughput (Mbit/s)  23.78 to 31.03" in table.text(200)
    assert "flowblind   throughput  23.78" in table.text(1)


def test_a_terminal_gets_title_header_rule_and_rows_with_numbers_to_the_right():
    table = Table("t", ["name", "Mbit/s"], [["a", "1.5"], ["bcdef", "12"]])
    assert table.text(80) == "t\n\nname   Mbit/s\n─────────────\na         1.5\nbcdef      12\n"
    assert table.text(80, bold=True).startswith("\033[1mt\033[0m\n")


def test_lines_of_a_field_stay_lines_and_keep_their_indent():
    table = Table("", ["claim", "what"], [["c1", "a statement of six words\n  its measure"], ["c2", ""]])
    expected = [
        "claim  what",
        "──────────────────",
        "c1     a statement",
        "       of six",
        "       words",
        "         its",
        "       measure",
        "c2",
    ]
    assert table.text(18).splitlines() == expected


def test_what_would_steer_a_terminal_is_written_out():
    text = Table("a\x1b[2J", ["n\ta"], [["\x1b]0;x\x07"], ["µ 中"]]).text(80)
    assert text.splitlines() == ["a\\x1b[2J", "", "n\\ta", "─" * 12, "\\x1b]0;x\\x07", "µ 中"]


def test_wide_characters_take_two_places():
    assert Table("", ["a", "b"], [["中", "x"], ["abc", "y"]]).text(80).splitlines()[2:] == ["中   x", "abc  y"]


def test_latex_has_nothing_that_latex_would_take_for_commands():
    table = Table("50 % & more_", ["qdisc", "rtt_ms"], [["pfifo {x}", "1.5±0.2"], [r"a\b~^#$", "2"]])
    assert table.latex().splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{50 \% \& more\_}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"qdisc & rtt\_ms \\",
        r"\midrule",
        r"pfifo \{x\} & 1.5$\pm$0.2 \\",
        r"a\textbackslash{}b\textasciitilde{}\textasciicircum{}\#\$ & 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_html_has_no_markup_of_others():
    html = Table("<b>", ["a"], [["<script>"]]).html()
    assert "<b>" not in html
    assert "<td" in html
    assert "&lt;script&gt;" in html
    assert str(TABLE) == repr(TABLE) == "Title\n\nname     value (ms)\n───────────────────\na|b             1.5\n[bold]c        +2 %"
    assert repr(Table("", ["a"], [["1"]])) == "a\n─\n1"


def test_records_have_values_as_they_are_and_text_has_six_digits():
    table = Table("t", ["rtt", "count", "x", "y"], [["20ms", 1234567, 1 / 3, math.nan], ["", 0, 1e-9, math.inf]])
    assert table.records() == [
        {"rtt": "20ms", "count": 1234567, "x": 1 / 3, "y": None},
        {"rtt": "", "count": 0, "x": 1e-9, "y": None},
    ]
    assert table.fields == [["20ms", "1234567", "0.333333", ""], ["", "0", "1e-09", "inf"]]
    assert Table("t", ["n", "x"], [["12", fixed(1 / 3, 2)]]).records() == [{"n": "12", "x": 1 / 3}]


FIELDS = st.text(st.sampled_from("ab1-. %\n\x1b中é"), max_size=8)


@given(st.integers(0, 4).flatmap(lambda n: st.lists(st.lists(FIELDS, min_size=n, max_size=n), min_size=1, max_size=5)), st.integers(1, 40))
def test_the_short_way_of_simple_rows_shows_nothing_else(rows, width):
    right = Table("", rows[0], rows[1:])._numeric()
    assert tables._in_lines(rows, right, width) in (None, tables._in_paragraphs(rows, right, width))


def test_rows_that_cannot_be_wrapped_are_simple_however_wide():
    rows = [["name", "value"], ["n" * 30, "1.5"]]
    assert tables._in_lines(rows, [False, True], 20) is not None
    assert tables._in_lines([*rows, ["two words", "2"]], [False, True], 20) is None


WIDE = Table(
    "sweep",
    ["queue", "goodput (Mbit/s)", "ping of the one stream (ms)", "MOS"],
    [["pfifo limit=1000p", "38.0±0.1", "319±5", "1.00"], ["fq_codel", "44.8±0.2", "31.0±0.1", "4.36"]],
)


@pytest.mark.parametrize(
    ("width", "head"),
    [
        pytest.param(80, "queue              goodput (Mbit/s)  ping of the one stream (ms)   MOS", id="rows as they are"),
        pytest.param(50, "                    goodput  ping of the one", id="wrapped headings"),
    ],
)
def test_a_table_takes_the_form_that_fits(width, head):
    lines = WIDE.fitted(width).splitlines()
    assert lines[2] == head
    assert max(map(len, lines)) <= width
    assert lines[-1].startswith("fq_codel  ")


def test_rows_become_columns_where_rows_are_too_wide():
    names = [f"a long name of a column {i}" for i in range(6)]
    table = Table("", ["queue", *names], [["pfifo", *"123456"], ["cake", *"234567"]])
    lines = table.fitted(48).splitlines()
    assert lines[0].split() == ["queue", "pfifo", "cake"]
    assert [line.split()[-2:] for line in lines[2:]] == [[str(i), str(i + 1)] for i in range(1, 7)]


def test_many_rows_are_cut_into_parts_that_each_have_their_names():
    names = [f"column_{i}_with_a_name" for i in range(6)]
    table = Table("", ["queue", *names], [[f"queue{row}", *map(str, range(6))] for row in range(30)])
    lines = table.fitted(60).splitlines()
    assert max(map(len, lines)) <= 60
    assert sum(line.startswith("queue29") for line in lines) == 3
    assert not any(word.startswith("_") for line in lines for word in line.split())  # no word is broken


def test_names_of_rows_that_begin_with_digits_stay_names():
    names = [f"a long name of a column {i}" for i in range(6)]
    table = Table("", ["rtt", "limit", *names], [["10ms", "1bdp", *"123456"], ["20ms", "1bdp", *"234567"]], 2)
    assert table.fitted(48).splitlines()[0].split() == ["10ms", "1bdp", "20ms", "1bdp"]


def test_a_single_row_without_a_name_is_a_list():
    table = Table("", [f"a long name of a column {i}" for i in range(6)], [[*"123456"]])
    assert table.fitted(40).splitlines()[0] == "a long name of a column 0  1"


def test_columns_that_are_left_out_are_named():
    table, names = WIDE.without(lambda fields: "319±5" in fields)
    assert names == ["ping of the one stream (ms)"]
    assert table.columns == ["queue", "goodput (Mbit/s)", "MOS"]
    assert table.fields[1] == ["fq_codel", "44.8±0.2", "4.36"]


def test_columns_that_say_nothing_are_left_out_and_named_once():
    table = Table(
        "",
        ["queue", "back", "seed", "goodput", "srtt", "marks", "completion"],
        [["pfifo", "pfifo", 1, 9.5412345, 1234.5678, 0, math.nan], ["cake", "cake", 2, 9.0412345, 31.25, 0, math.nan]],
        3,
    )
    shown, told = table.trimmed()
    assert shown.columns == ["queue", "seed", "goodput", "srtt"]
    assert shown.fields == [["pfifo", "1", "9.541", "1235"], ["cake", "2", "9.041", "31.25"]]
    assert told == ["no value: completion", "equal everywhere: marks 0", "back equals queue"]
    assert table.fields[0][3] == "9.54123"  # CSV and the others keep their digits


def test_a_single_row_keeps_its_numbers_and_so_do_rows_that_are_all_equal():
    one, told = Table("", ["queue", "goodput"], [["pfifo", 9.5]]).trimmed()
    assert (one.fields, told) == ([["pfifo", "9.5"]], [])
    same, told = Table("", ["queue", "goodput"], [["pfifo", 9.5], ["cake", 9.5]]).trimmed()
    assert (same.fields, told) == ([["pfifo", "9.5"], ["cake", "9.5"]], [])
