"""What the chapter on pitfalls draws and prints are the laws of its rules; what its table of words looks like."""

import matplotlib
import matplotlib.pyplot as plt
import pytest

matplotlib.use("Agg")

from specdec.book import tables
from specdec.book.law_drawing import draw_laws, print_laws
from specdec.book.rules import WRONG_LAWS


@pytest.mark.parametrize("name", WRONG_LAWS)
def test_bars_are_the_laws_and_marks_the_target(name):
    case = WRONG_LAWS[name]
    figure, axis = plt.subplots()
    draw_laws(axis, case)
    right, wrong = case.laws()
    assert [bar.get_height() for bar in axis.patches] == pytest.approx([*right, *wrong])
    hatched = [bool(bar.get_hatch()) for bar in axis.patches]
    assert hatched == [False] * len(right) + [True] * len(wrong)
    [marks] = axis.collections
    assert [segment[0][1] for segment in marks.get_segments()] == pytest.approx(
        case.p.tolist()
    )
    assert axis.get_ylim()[1] > max(*right, *wrong)
    plt.close(figure)


def test_both_laws_are_printed(capsys):
    print_laws(WRONG_LAWS["residual"])
    printed = capsys.readouterr().out
    assert "law of the right rule  0.500  0.300  0.200" in printed
    assert "law of the wrong rule  0.350  0.390  0.260" in printed
    assert "distance of the wrong law from the target: 0.150" in printed


def test_a_table_of_words_is_set_left(monkeypatch):
    shown = []
    monkeypatch.setattr(tables, "display", shown.append)
    tables.show_table(["what", "why"], [["a", "b"]], widths=[1, 3])
    assert shown[0].data == "| what | why |\n| :- | :--- |\n| a | b |"
    with pytest.raises(ValueError, match="widths must have 2 entries, got 1"):
        tables.show_table(["what", "why"], [], widths=[1])
