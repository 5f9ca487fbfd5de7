"""Pictures of the demo graphs: a town's map and its places, screens of a puzzle, and lines of a melody.

Every function returns an RGB `PIL.Image.Image`; nothing is random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PIL import Image, ImageDraw, ImageFont

PAPER, INK, GREY, SKY, GRASS = "#fbf8f0", "#22303c", "#8a949c", "#cfe6f5", "#b9d7a8"
RED, BLUE, GREEN, GOLD, BROWN = "#d0453b", "#2f6fb5", "#3f9a54", "#e0a92e", "#8a5a36"
LAMPS = {"red": RED, "blue": BLUE, "green": GREEN}

# Places of the map by column and row, north at the top.
PLACES = {
    "bakery": (0, 0), "mill": (1, 0), "lighthouse": (2, 0),
    "fountain": (0, 1), "market": (1, 1), "school": (2, 1),
    "station": (0, 2), "bridge": (1, 2), "park": (2, 2),
}  # fmt: skip
STREETS = (
    ("station", "fountain"), ("station", "bridge"), ("fountain", "bakery"), ("fountain", "market"),
    ("bakery", "mill"), ("market", "mill"), ("market", "bridge"), ("mill", "lighthouse"),
    ("bridge", "park"), ("park", "school"),
)  # fmt: skip


def town_map() -> Image.Image:
    """The map: nine places, the streets between them, and an arrow to the north."""
    image, draw = _sheet(540, 400)
    centre = {name: (90 + 150 * column, 80 + 120 * row) for name, (column, row) in PLACES.items()}
    for one, other in STREETS:
        draw.line([centre[one], centre[other]], fill=GREY, width=12)
        draw.line([centre[one], centre[other]], fill="white", width=7)
    for name, (x, y) in centre.items():
        draw.rounded_rectangle([x - 52, y - 20, x + 52, y + 20], 8, fill=PAPER, outline=INK, width=2)
        _label(draw, (x, y), name, 17)
    draw.line([(500, 60), (500, 20)], fill=INK, width=3)
    draw.polygon([(500, 12), (493, 28), (507, 28)], fill=INK)
    _label(draw, (500, 74), "N", 18)
    return image


def place(name: str) -> Image.Image:
    """What one sees at a place, with its name on a sign."""
    image, draw = _sheet(320, 240)
    draw.rectangle([0, 0, 320, 150], fill=SKY)
    draw.rectangle([0, 150, 320, 240], fill=GRASS)
    draw.polygon([(120, 240), (200, 240), (172, 150), (148, 150)], fill=PAPER)
    _SCENES[name](draw)
    draw.rectangle([18, 178, 26, 232], fill=BROWN)
    draw.rounded_rectangle([8, 162, 118, 192], 5, fill="white", outline=INK, width=2)
    _label(draw, (63, 177), name, 17)
    return image


def _fountain(draw: ImageDraw.ImageDraw) -> None:
    for shift in (14, 30):
        draw.arc([240 - 2 * shift, 70, 240, 150], 180, 360, fill=BLUE, width=3)
        draw.arc([240, 70, 240 + 2 * shift, 150], 180, 360, fill=BLUE, width=3)
    draw.rectangle([236, 90, 244, 140], fill=GREY)
    draw.ellipse([170, 125, 310, 160], fill=GREY, outline=INK, width=2)
    draw.ellipse([180, 129, 300, 152], fill=BLUE)


def _market(draw: ImageDraw.ImageDraw) -> None:
    for left in (175, 250):
        draw.rectangle([left, 110, left + 60, 155], fill=BROWN, outline=INK)
        for stripe in range(4):
            colour = RED if stripe % 2 else "white"
            draw.polygon([(left - 4 + 17 * stripe, 112), (left + 13 + 17 * stripe, 112), (left + 10 + 13 * stripe, 85),
                          (left + 3 + 13 * stripe, 85)], fill=colour, outline=INK)  # fmt: skip
        for fruit in range(4):
            draw.ellipse([left + 4 + 14 * fruit, 100, left + 14 + 14 * fruit, 110], fill=(GOLD, RED)[fruit % 2])


def _mill(draw: ImageDraw.ImageDraw) -> None:
    draw.polygon([(215, 160), (275, 160), (262, 70), (228, 70)], fill="white", outline=INK)
    draw.polygon([(224, 72), (266, 72), (245, 48)], fill=RED, outline=INK)
    for dx, dy in ((48, 28), (-28, 48), (-48, -28), (28, -48)):
        draw.line([(245, 74), (245 + dx, 74 + dy)], fill=BROWN, width=7)
    draw.rectangle([237, 130, 253, 160], fill=BROWN)


def _station(draw: ImageDraw.ImageDraw) -> None:
    draw.rectangle([190, 90, 310, 158], fill=GOLD, outline=INK, width=2)
    draw.polygon([(182, 92), (318, 92), (250, 55)], fill=RED, outline=INK)
    draw.ellipse([236, 66, 264, 90], fill="white", outline=INK, width=2)
    draw.line([(250, 78), (250, 70)], fill=INK, width=2)
    draw.line([(250, 78), (257, 80)], fill=INK, width=2)
    for left in (200, 240, 280):
        draw.rectangle([left, 110, left + 20, 140], fill=BLUE, outline=INK)


_SCENES: dict[str, Callable[[ImageDraw.ImageDraw], None]] = {
    "station": _station,
    "fountain": _fountain,
    "market": _market,
    "mill": _mill,
}


def menu(title: str, buttons: Sequence[str]) -> Image.Image:
    """A screen with a title and one button for each choice."""
    image, draw = _sheet(320, 240)
    draw.rectangle([0, 0, 320, 44], fill=INK)
    _label(draw, (160, 22), title, 20, "white")
    for number, text in enumerate(buttons):
        top = 68 + 54 * number
        draw.rounded_rectangle([70, top, 250, top + 40], 10, fill="white", outline=BLUE, width=3)
        _label(draw, (160, top + 20), text, 19)
    return image


def speaker(title: str) -> Image.Image:
    """A screen on which something is being said."""
    image, draw = _sheet(320, 240)
    draw.rectangle([0, 0, 320, 44], fill=INK)
    _label(draw, (160, 22), title, 20, "white")
    draw.rectangle([105, 120, 132, 160], fill=INK)
    draw.polygon([(132, 120), (168, 90), (168, 190), (132, 160)], fill=INK)
    for radius in (20, 38, 56):
        draw.arc([168 - radius, 140 - radius, 168 + radius, 140 + radius], -45, 45, fill=BLUE, width=5)
    return image


def lamps(colours: Sequence[str]) -> Image.Image:
    """Lamps in a row, each with a box for a digit below."""
    image, draw = _sheet(320, 240)
    draw.rectangle([0, 0, 320, 44], fill=INK)
    _label(draw, (160, 22), "Code", 20, "white")
    for number, colour in enumerate(colours):
        x = 70 + 90 * number
        draw.ellipse([x - 28, 72, x + 28, 128], fill=LAMPS[colour], outline=INK, width=3)
        draw.rectangle([x - 10, 128, x + 10, 142], fill=GREY, outline=INK)
        draw.rectangle([x - 22, 168, x + 22, 214], fill="white", outline=INK, width=2)
        _label(draw, (x, 191), "?", 24, GREY)
    return image


def padlock(title: str) -> Image.Image:
    """A screen that is locked."""
    image, draw = _sheet(320, 240)
    draw.rectangle([0, 0, 320, 44], fill=INK)
    _label(draw, (160, 22), title, 20, "white")
    draw.arc([130, 70, 190, 150], 180, 360, fill=GREY, width=10)
    draw.rounded_rectangle([110, 115, 210, 200], 10, fill=GOLD, outline=INK, width=3)
    draw.ellipse([151, 142, 169, 160], fill=INK)
    draw.rectangle([156, 155, 164, 182], fill=INK)
    return image


def contours(lines: dict[str, Sequence[int]]) -> Image.Image:
    """One row for each line: its letter, and the melody as dots joined, higher tones further up."""
    image, draw = _sheet(360, 96 * len(lines))
    for row, (letter, tones) in enumerate(lines.items()):
        base = 96 * row + 78
        if row:
            draw.line([(0, 96 * row), (360, 96 * row)], fill=GREY, width=1)
        _label(draw, (30, base - 30), letter, 26)
        points = [(80 + 60 * number, base - 15 * tone) for number, tone in enumerate(tones)]
        draw.line(points, fill=GREY, width=3)
        for x, y in points:
            draw.ellipse([x - 7, y - 7, x + 7, y + 7], fill=BLUE, outline=INK)
    return image


def _sheet(width: int, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (width, height), PAPER)
    return image, ImageDraw.Draw(image)


def _label(draw: ImageDraw.ImageDraw, centre: tuple[int, int], text: str, size: int, fill: str = INK) -> None:
    draw.text(centre, text, fill=fill, font=ImageFont.load_default(size), anchor="mm")
