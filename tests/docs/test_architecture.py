"""The picture of the architecture is that of the import contract."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "tools"))

import architecture


def test_the_architecture_page_is_up_to_date():
    """Picture and table are what the contract and the imports give now."""
    stale = [path.name for path in architecture.find_stale()]
    assert not stale, "python docs/tools/architecture.py --write"


def test_every_folder_is_a_box():
    """All folders of the package with modules, each once."""
    graph = architecture.make_graph()
    boxes = [word for row in graph.rows for word in row]
    folders = {path.parent.name for path in architecture.PACKAGE.glob("*/__init__.py")}
    assert sorted(boxes) == sorted({*folders, architecture.TOP})
    assert all(f">{word}</text>" in architecture.draw(graph) for word in folders)


def test_arrows_go_up_and_no_way_is_drawn_twice():
    """What gives data lies below what takes them; unnamed arrows follow from no others."""
    graph = architecture.make_graph()
    height = {word: i for i, row in enumerate(graph.rows) for word in row}
    assert all(height[a] > height[b] for a, b in graph.arrows)
    for a, b in set(graph.arrows) - set(architecture.DATA):
        others = architecture.reach(set(graph.arrows) - {(a, b)})
        assert (a, b) not in others
