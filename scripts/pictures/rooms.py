"""The rooms of dpcore and what they import: ``python scripts/draw.py rooms``.

Draws docs/project/rooms.png from the imports in the source, including imports for type checking.
The floors are those of the contract in pyproject.toml. Arrows that follow from other arrows are
left out.
"""

import ast
import tomllib

from _environment import ROOT, ensure

ensure("studies")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402

PACKAGE = ROOT / "dpcore"
PICTURE = ROOT / "docs" / "project" / "rooms.png"
# everybody's, and nobody's
LEFT_OUT = ("errors", "_check", "_documentation", "_process", "_threads", "__main__")
BLUE, GREY, INK = "#e7eef7", "#f1f1ee", "0.2"
WIDE, HIGH = 1.7, 0.62
ACROSS = {  # places at which few arrows pass behind rooms; other rooms are in the middle
    "studies": 6.3,
    "models": 1.0,
    "testing": 7.1,
    "streams": 1.0,
    "trust": 6.6,
    "mechanisms": 3.0,
    "statistics": 5.2,
    "curves": 5.2,
    "privacy": 2.0,
    "summaries": 4.6,
    "noise": 2.0,
    "records": 4.6,
    "kernels": 3.3,
}
MIDDLE = 4.0

Arrows = dict[str, set[str]]


def main() -> None:
    """Draw."""
    floors = contract()
    arrows = needed(imports({room for floor in floors for room in floor}))
    places = {
        room: (ACROSS.get(room, MIDDLE), (len(floors) - 1 - level) * 1.15)
        for level, floor in enumerate(floors)
        for room in floor
    }
    plt.switch_backend("Agg")
    figure, ax = plt.subplots(figsize=(7.2, 7.4), layout="constrained")
    for room, others in sorted(arrows.items()):
        for other in sorted(others):
            (x, y), (end, floor) = places[room], places[other]
            style = {"arrowstyle": "-|>", "color": "0.45", "linewidth": 1.0, "shrinkA": 0}
            start, tip = (x, y - HIGH / 2), (end, floor + HIGH / 2)
            ax.annotate("", xy=tip, xytext=start, arrowprops={**style, "shrinkB": 0}, zorder=1)
    for room, (x, y) in places.items():
        color = GREY if room == "kernels" else BLUE
        corner = (x - WIDE / 2, y - HIGH / 2)
        ax.add_patch(Rectangle(corner, WIDE, HIGH, facecolor=color, edgecolor=INK, zorder=2))
        ax.text(x, y, room, ha="center", va="center", fontsize=10.5, zorder=3)
    ax.set_xlim(0.0, 8.0)
    ax.set_ylim(-0.6, (len(floors) - 1) * 1.15 + 0.6)
    ax.axis("off")
    figure.savefig(PICTURE, dpi=130, metadata={"Software": None})
    print(f"written: {PICTURE.relative_to(ROOT)}")


def contract() -> list[list[str]]:
    """Return the rooms of each floor, from the top."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["type"] == "layers")
    floors = [[room.strip() for room in layer.split("|")] for layer in layers]
    return [floor for floor in floors if not set(floor) & set(LEFT_OUT)]


def imports(rooms: set[str]) -> Arrows:
    """Return which rooms each room imports."""
    found: Arrows = {room: set() for room in rooms}
    for path in PACKAGE.rglob("*.py"):
        inside = ("dpcore", *path.relative_to(PACKAGE).parts)
        if inside[1] == "kernels" or inside[1] not in rooms:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                found[inside[1]] |= {
                    other for other in targets(node, inside) if other in rooms - {inside[1]}
                }
    return found


def targets(node: ast.ImportFrom, inside: tuple[str, ...]) -> set[str]:
    """Return the parts after ``dpcore.`` of the names that a statement imports."""
    base = inside[: len(inside) - node.level] if node.level else ()
    module = (*base, *(node.module.split(".") if node.module else ()))
    if module[:1] != ("dpcore",):
        return set()
    return {module[1]} if len(module) > 1 else {alias.name for alias in node.names}


def needed(arrows: Arrows) -> Arrows:
    """Return the arrows that do not follow from other arrows."""
    return {
        room: {
            other
            for other in others
            if not any(other in reached(arrows, between) for between in others - {other})
        }
        for room, others in arrows.items()
    }


def reached(arrows: Arrows, room: str) -> set[str]:
    """Return all rooms below a room."""
    below = set(arrows[room])
    for other in arrows[room]:
        below |= reached(arrows, other)
    return below


if __name__ == "__main__":
    main()
