import pytest

from dumbbell.agreement.draw import Draw


def test_a_draw_depends_only_on_its_arguments():
    draw = Draw("agree", 7, 3)
    assert draw.unit("rate") == pytest.approx(0.990123294790438, abs=1e-15)
    assert draw.unit("rate") == Draw("agree/7").at(3).unit("rate")
    assert len({draw.unit("rate"), draw.unit("rtt"), Draw("agree", 8, 3).unit("rate"), Draw("agree", 7, 4).unit("rate")}) == 4


def test_draws_cover_their_whole_range():
    draws = [Draw("range", i) for i in range(2000)]
    whole = [draw.whole("w", 3, 6) for draw in draws]
    assert set(whole) == {3, 4, 5, 6}
    assert all(whole.count(value) == pytest.approx(500, abs=80) for value in (3, 4, 5, 6))
    logs = [draw.log("l", 1, 100) for draw in draws]
    assert 1 <= min(logs) < 1.02
    assert 98 < max(logs) < 100
    assert sum(value < 10 for value in logs) == pytest.approx(1000, abs=80)
    assert sum(draw.chance("c", 0.2) for draw in draws) == pytest.approx(400, abs=60)


def test_adding_an_option_changes_only_the_draws_that_choose_it():
    before = [Draw("c", i).choice("qdisc", ("pfifo", "bfifo", "cake")) for i in range(900)]
    after = [Draw("c", i).choice("qdisc", ("codel", "pfifo", "bfifo", "cake")) for i in range(900)]
    assert all(new in (old, "codel") for old, new in zip(before, after, strict=True))
    assert after.count("codel") == pytest.approx(225, abs=45)
    assert all(before.count(name) == pytest.approx(300, abs=60) for name in ("pfifo", "bfifo", "cake"))
