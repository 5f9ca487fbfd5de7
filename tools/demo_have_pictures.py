"""Pictures of the demo items: a street, signs, slides, charts and drawings to be looked at beside a recording.

Every function returns an RGB `PIL.Image.Image`; nothing is random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PIL import Image, ImageDraw, ImageFont

PAPER, INK, GREY, SKY, GRASS = "#fbf8f0", "#22303c", "#8a949c", "#cfe6f5", "#b9d7a8"
RED, BLUE, GREEN, GOLD, BROWN = "#d0453b", "#2f6fb5", "#3f9a54", "#e0a92e", "#8a5a36"
NAMED = {"red": RED, "blue": BLUE, "green": GREEN, "yellow": GOLD}
Draw = ImageDraw.ImageDraw
Row = Sequence[str]


def _sheet(width: int, height: int, fill: str = PAPER) -> tuple[Image.Image, Draw]:
    image = Image.new("RGB", (width, height), fill)
    return image, ImageDraw.Draw(image)


def _write(draw: Draw, place: tuple[float, float], text: str, size: int, anchor: str = "mm", fill: str = INK) -> None:
    draw.text(place, text, fill=fill, font=ImageFont.load_default(size), anchor=anchor)


def street() -> Image.Image:
    """A house with a red roof and a yellow door, a tree, and a blue car before it."""
    image, draw = _sheet(420, 280, SKY)
    draw.rectangle([0, 190, 420, 280], fill=GRASS)
    draw.rectangle([0, 222, 420, 262], fill=GREY)
    draw.rectangle([60, 100, 200, 200], fill="white", outline=INK, width=2)
    draw.polygon([(46, 102), (214, 102), (130, 44)], fill=RED, outline=INK)
    draw.rectangle([112, 142, 148, 200], fill=GOLD, outline=INK, width=2)
    for left in (74, 162):
        draw.rectangle([left, 122, left + 24, 146], fill=SKY, outline=INK, width=2)
    draw.rectangle([318, 130, 334, 200], fill=BROWN)
    draw.ellipse([278, 58, 374, 146], fill=GREEN, outline=INK)
    draw.rounded_rectangle([214, 206, 334, 240], 8, fill=BLUE, outline=INK, width=2)
    draw.polygon([(236, 206), (254, 180), (300, 180), (316, 206)], fill=BLUE, outline=INK)
    for centre in (242, 306):
        draw.ellipse([centre - 15, 226, centre + 15, 256], fill=INK)
        draw.ellipse([centre - 5, 236, centre + 5, 246], fill="white")
    return image


def shapes() -> Image.Image:
    """Four triangles, three circles and two squares."""
    image, draw = _sheet(420, 260)
    for x, y, colour in ((60, 60, RED), (210, 90, BLUE), (345, 58, GREEN), (120, 190, GOLD)):
        draw.polygon([(x, y - 32), (x - 32, y + 26), (x + 32, y + 26)], fill=colour, outline=INK)
    for x, y, colour in ((132, 62, GREEN), (286, 180, RED), (372, 200, BLUE)):
        draw.ellipse([x - 26, y - 26, x + 26, y + 26], fill=colour, outline=INK)
    for x, y, colour in ((284, 58, GOLD), (206, 196, GREEN)):
        draw.rectangle([x - 24, y - 24, x + 24, y + 24], fill=colour, outline=INK)
    return image


def table(title: str, rows: Sequence[Row], columns: Sequence[int], width: int) -> Image.Image:
    """A board or a slide: a title and rows of cells, the first row as a heading."""
    image, draw = _sheet(width, 74 + 38 * len(rows))
    draw.rectangle([0, 0, width, 48], fill=INK)
    _write(draw, (20, 24), title, 24, "lm", PAPER)
    for number, row in enumerate(rows):
        y = 74 + 38 * number
        for x, cell in zip(columns, row, strict=True):
            _write(draw, (x, y), cell, 17 if number == 0 else 21, "lm", GREY if number == 0 else INK)
        if number:
            draw.line([(14, y - 19), (width - 14, y - 19)], fill="#d9d4c6", width=1)
    return image


_DEPARTURES = (
    ("to", "platform", "time"),
    ("Lund", "3", "9:40"),
    ("Malta", "1", "9:55"),
    ("Ghent", "2", "10:15"),
    ("Porto", "4", "10:40"),
)
_MENU = (("dish", "price"), ("Onion soup", "4.50"), ("Fish pie", "9.20"), ("Salad", "6.80"), ("Plum cake", "3.90"))
_PLANS = (
    ("way", "price", "arrives"),
    ("Snail", "12", "Saturday"),
    ("Hare", "38", "Thursday"),
    ("Falcon", "70", "Wednesday"),
)
_RECIPE = (
    ("step", "what to do"),
    ("1", "mix the dough"),
    ("2", "let it rest"),
    ("3", "shape it"),
    ("4", "bake it"),
    ("5", "let it cool"),
)


def rectangle() -> Image.Image:
    """A rectangle with its sides given: 7 m and 6 m."""
    image, draw = _sheet(360, 280)
    draw.rectangle([60, 30, 270, 210], fill="#dfeaf3", outline=INK, width=3)
    _write(draw, (165, 236), "7 m", 24)
    _write(draw, (310, 120), "6 m", 24)
    return image


def bars() -> Image.Image:
    """A bar chart of fruit sold: apples 14, pears 6, plums 9."""
    image, draw = _sheet(380, 290)
    _write(draw, (190, 24), "Baskets sold", 22)
    draw.line([(40, 244), (350, 244)], fill=INK, width=2)
    for number, (name, count, colour) in enumerate((("apples", 14, RED), ("pears", 6, GREEN), ("plums", 9, BLUE))):
        left, top = 70 + 100 * number, 244 - 12 * count
        draw.rectangle([left, top, left + 60, 244], fill=colour, outline=INK)
        _write(draw, (left + 30, top - 14), str(count), 19)
        _write(draw, (left + 30, 264), name, 19)
    return image


def seesaw() -> Image.Image:
    """A seesaw held level: 2 kg three marks to the left of the support, 3 kg one mark to its right."""
    image, draw = _sheet(460, 240)
    draw.polygon([(230, 130), (204, 200), (256, 200)], fill=GREY, outline=INK)
    draw.rectangle([30, 118, 430, 130], fill=BROWN, outline=INK)
    for mark in range(-3, 4):
        x = 230 + 60 * mark
        draw.line([(x, 130), (x, 140)], fill=INK, width=2)
        if mark:
            _write(draw, (x, 154), f"{abs(mark)} m", 16)
    for mark, text in ((-3, "2 kg"), (1, "3 kg")):
        x = 230 + 60 * mark
        draw.rectangle([x - 28, 76, x + 28, 118], fill=GOLD, outline=INK, width=2)
        _write(draw, (x, 97), text, 19)
    _write(draw, (230, 222), "held level by hand", 17, fill=GREY)
    return image


def food_chain() -> Image.Image:
    """Grass, rabbit and fox in boxes, with arrows from the eaten to the eater."""
    image, draw = _sheet(460, 140)
    for number, (name, colour) in enumerate((("fox", "#f0c9a8"), ("grass", GRASS), ("rabbit", "#e3ddd2"))):
        left = 20 + 150 * number
        draw.rounded_rectangle([left, 50, left + 110, 96], 10, fill=colour, outline=INK, width=2)
        _write(draw, (left + 55, 73), name, 22)
    _arrow(draw, (280, 73), (318, 73))
    draw.line([(375, 50), (375, 22), (75, 22)], fill=INK, width=3)
    _arrow(draw, (75, 22), (75, 48))
    return image


def _arrow(draw: Draw, start: tuple[int, int], end: tuple[int, int]) -> None:
    draw.line([start, end], fill=INK, width=3)
    (x, y), down = end, end[1] > start[1]
    tip = [(x, y), (x - 6, y - 11), (x + 6, y - 11)] if down else [(x, y), (x - 11, y - 6), (x - 11, y + 6)]
    draw.polygon(tip, fill=INK)


def contours() -> Image.Image:
    """Four lines of a melody, numbered: rising, falling, rising then falling, falling then rising."""
    image, draw = _sheet(440, 300)
    lines = {"1": (0, 1, 2, 3, 4), "2": (4, 3, 2, 1, 0), "3": (0, 2, 4, 2, 0), "4": (4, 2, 0, 2, 4)}
    for number, (name, steps) in enumerate(lines.items()):
        left, top = 20 + 210 * (number % 2), 16 + 142 * (number // 2)
        draw.rectangle([left, top, left + 190, top + 126], fill="white", outline=GREY, width=2)
        _write(draw, (left + 16, top + 18), name, 22)
        points = [(left + 36 + 32 * place, top + 108 - 20 * step) for place, step in enumerate(steps)]
        draw.line(points, fill=BLUE, width=2)
        for x, y in points:
            draw.ellipse([x - 7, y - 7, x + 7, y + 7], fill=BLUE)
    return image


def stables() -> Image.Image:
    """Four stables with an animal's name above and a number on the door."""
    image, draw = _sheet(460, 220, SKY)
    draw.rectangle([0, 170, 460, 220], fill=GRASS)
    for place, (name, number) in enumerate((("cow", 1), ("frog", 3), ("rooster", 4), ("sheep", 2))):
        left = 14 + 112 * place
        draw.rectangle([left, 70, left + 96, 180], fill=BROWN, outline=INK, width=2)
        draw.polygon([(left - 6, 72), (left + 102, 72), (left + 48, 34)], fill=RED, outline=INK)
        _write(draw, (left + 48, 86), name, 19, fill=PAPER)
        draw.rectangle([left + 28, 108, left + 68, 180], fill=PAPER, outline=INK)
        _write(draw, (left + 48, 142), str(number), 24)
    return image


def balls() -> Image.Image:
    """Four balls with numbers: green 2, red 3, yellow 4, blue 5."""
    image, draw = _sheet(440, 150)
    for place, (colour, number) in enumerate((("yellow", 4), ("green", 2), ("blue", 5), ("red", 3))):
        x = 64 + 104 * place
        draw.ellipse([x - 42, 32, x + 42, 116], fill=NAMED[colour], outline=INK, width=2)
        _write(draw, (x, 74), str(number), 30, fill="white")
    return image


def shelves() -> Image.Image:
    """Three shelves, red, green and blue from above, with a lamp, a clock and a teapot by name."""
    image, draw = _sheet(360, 300)
    for place, (colour, thing) in enumerate((("red", "lamp"), ("green", "teapot"), ("blue", "clock"))):
        y = 86 + 88 * place
        draw.rectangle([30, y, 330, y + 14], fill=NAMED[colour], outline=INK)
        draw.rounded_rectangle([130, y - 44, 230, y - 2], 6, fill="white", outline=INK, width=2)
        _write(draw, (180, y - 23), thing, 22)
    return image


PICTURES: dict[str, Callable[[], Image.Image]] = {
    "street": street,
    "shapes": shapes,
    "departures": partial(table, "Departures", _DEPARTURES, (20, 170, 290), 390),
    "menu": partial(table, "Today at the Anchor", _MENU, (20, 290), 390),
    "rectangle": rectangle,
    "bars": bars,
    "seesaw": seesaw,
    "food_chain": food_chain,
    "contours": contours,
    "stables": stables,
    "balls": balls,
    "shelves": shelves,
    "plans": partial(table, "Three ways to send it", _PLANS, (20, 170, 270), 410),
    "recipe": partial(table, "Bread in five steps", _RECIPE, (20, 90), 360),
}
