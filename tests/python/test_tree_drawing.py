"""Draft trees are drawn whole: every node has its place, and what is kept looks kept."""

import matplotlib.pyplot as plt

from specdec.book.figures import ROLE_COLORS
from specdec.book.tree_drawing import draw_tree
from specdec.eagle2 import expand_draft_tree, rerank_draft_tree


def _oracle(path):
    return [(7, 0.6), (8, 0.3)] if len(path) < 2 else [(9, 0.9)]


def test_every_node_is_drawn_once_and_the_kept_ones_are_filled_and_named():
    tree = expand_draft_tree(_oracle, 3, 2, 2)
    kept = rerank_draft_tree(tree, 4)["kept"]
    figure, axis = plt.subplots()
    draw_tree(axis, tree, kept, root="start")
    places = [tuple(dot.get_offsets()[0]) for dot in axis.collections]
    assert len(places) == len(set(places)) == len(tree["tokens"])
    assert [depth for depth, _ in places] == tree["depths"]
    filled = [node for node, dot in enumerate(axis.collections) if len(dot.get_facecolor())]
    assert filled == kept
    names = [text.get_text() for text in axis.texts]
    assert names[0] == "start"
    assert names[1:] == [f"{tree['tokens'][n]}  {tree['values'][n]:.2f}" for n in kept]
    lines = [line.get_color() == ROLE_COLORS["accepted"] for line in axis.lines]
    assert [node for node, green in enumerate(lines) if green] == kept
    plt.close(figure)


def test_labels_replace_tokens_and_tiny_nodes_have_none():
    tree = expand_draft_tree(lambda path: [(1, 0.9), (2, 0.01)], 1, 2, 1)
    figure, axis = plt.subplots()
    draw_tree(axis, tree, [0, 1], root="", labels=["yes", "no"])
    assert [text.get_text() for text in axis.texts] == ["", "yes  0.90"]
    plt.close(figure)
