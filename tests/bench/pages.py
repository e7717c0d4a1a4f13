"""The pages of the site: shop pages of three sizes with a price deep inside.

The same number gives the same page on every machine. A page is a template with two gaps: the price, which is watched,
and a stamp, which stands in three places that are not. Sizes come in a fixed order, so that any twenty neighbours
have the same mix: 70 % of 20 KB, 25 % of 150 KB, 5 % of 1 MB.
"""

from __future__ import annotations

import json
import random
from functools import cache

SELECT = "#price"
PRICE, STAMP = b"%PRICE%", b"%STAMP%"
TEMPLATES = 100  # pages further apart are alike but for price and title
SMALL, MIDDLE, LARGE = 20_000, 150_000, 1_000_000
SITEMAP_URLS = 50_000
BIG = 5_000_000

WORDS = """apron bench bolt brass canvas cedar chisel clamp copper cork crate dowel drill easel felt flask funnel gasket
glaze hinge jute kettle ladle lathe linen mallet needle nozzle oak paddle pencil pewter pulley quill rivet saddle
spindle spool steel tallow thimble trowel twine valve vessel walnut wedge wicker wrench yarn Größe crème""".split()


def size(number: int) -> int:
    """Bytes of a page, nearly."""
    place = number % 20
    return LARGE if place == 19 else MIDDLE if place % 4 == 1 else SMALL


def is_changed(number: int) -> bool:
    """Whether it is one of the tenth of the pages whose price changes."""
    return number % 10 == 4


def page(number: int, version: str) -> bytes:
    """A page as it is in one of its versions: `base`, `noise` (another stamp), `changed` (and another price)."""
    price = f"{100 + number}.{'95' if version == 'changed' else '49'}"
    stamp = "2024-03-01 08:00:00" if version == "base" else "2024-03-02 09:10:11"
    return _template(number % TEMPLATES, size(number)).replace(PRICE, price.encode()).replace(STAMP, stamp.encode())


def big_page() -> bytes:
    return _template(TEMPLATES, BIG).replace(PRICE, b"5.00").replace(STAMP, b"-")


def small_page(number: int) -> bytes:
    return f"<!doctype html><title>{number}</title><p id=price>{number}.00</p>\n".encode()


def sitemap(base: str) -> bytes:
    locations = "".join(
        f"<url><loc>{base}/item/{number}</loc><lastmod>2024-01-{1 + number % 28:02d}</lastmod></url>\n"
        for number in range(SITEMAP_URLS)
    )
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return f"{start}{locations}</urlset>\n".encode()


def robots() -> bytes:
    """Rules as shops have them, none of which is about the pages."""
    own = ["User-agent: *", *(f"Disallow: /{word}/" for word in ("cart", "account", "search", "*?sort=")), ""]
    bots = [f"User-agent: {word}bot\nDisallow: /{word}/\nDisallow: /*.{word}$\n" for word in WORDS[:30]]
    return "\n".join([*own, *bots]).encode()


@cache
def _template(number: int, length: int) -> bytes:
    """Markup before and after the product, and behind it the state of a page that scripts will enliven."""
    chance = random.Random(number * 1_000_003 + length)
    head, product, foot = _head(chance), _product(chance), "".join(map(_link, chance.choices(WORDS, k=8)))
    room = length - len(head) - len(product)
    above = _filled(chance, int(room * 0.3))
    below = _filled(chance, int(room * 0.4))
    state = _state(chance, max(200, room - len(above) - len(below) - len(foot) - 300))
    return "".join(
        (
            f"{head}<div class=layout><div class=inner><main id=main role=main>\n{above}{product}{below}",
            "</main></div></div>\n",
            f"<footer><p>Made at <time>%STAMP%</time></p><ul>{foot}</ul></footer>\n",
            f'<script id="state" type="application/json">{state}</script>\n</body>\n</html>\n',
        )
    ).encode()


def _head(chance: random.Random) -> str:
    scripts = "".join(f'<script src="/js/{chance.randrange(10**8)}.js" defer></script>\n' for _ in range(6))
    menu = "".join(f"<li class=item>{_link(word)}</li>\n" for word in chance.choices(WORDS, k=30))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_text(chance, 4)}</title>\n'
        f'<meta name="csrf-token" content="%STAMP%">\n{scripts}'
        "<style>.card > a:hover { color: red } @media (max-width: 600px) { .grid { display: block } }</style>\n"
        "<script>if (1 < 2 && 3 > 2) { window.layer = [] }</script>\n</head>\n"
        f'<body class="page">\n<!-- menu -->\n<header><nav><ul>\n{menu}</ul></nav></header>\n'
    )


def _product(chance: random.Random) -> str:
    return (
        '<div class="product"><div class="grid"><div class="col"><section><div class="info">'
        f'<h1>{_text(chance, 3)}</h1><div class="box"><div class="buy"><p class="line">Price: '
        '<span id="price" class="price"><b>%PRICE%</b> <span class="currency">EUR</span></span> with tax</p>'
        '<form method="post" action="/cart"><input type="hidden" name="token" value="%STAMP%">'
        "<button>Buy</button></form></div></div></div></section></div></div></div>\n"
    )


def _filled(chance: random.Random, length: int) -> str:
    parts: list[str] = []
    left = length
    while left > 0:
        part = chance.choice((_card, _card, _table, _review))(chance)
        parts.append(part)
        left -= len(part)
    return "".join(parts)


def _card(chance: random.Random) -> str:
    picture = f'<source srcset="/i/{chance.randrange(10**6)}.webp 1x"><img loading="lazy" alt="{_text(chance, 4)}">'
    return (
        f'<ul class="cards"><li class="card" data-sku="{chance.randrange(10**7)}"><article>\n'
        f'<a class="media" href="/p/{chance.randrange(10**6)}"><picture>{picture}</picture></a>\n'
        f'<div class="body"><h3>{_link(chance.choice(WORDS))}</h3><p>{_text(chance, 12)}</p>'
        f'<span class="price">{chance.randrange(9999) / 100:.2f}&nbsp;&euro;</span></div></article></li></ul>\n'
    )


def _table(chance: random.Random) -> str:
    rows = "".join(
        f"<tr><th>{_text(chance, 1)}</th><td>{_text(chance, 4)}</td><td>{chance.randrange(999)}</td></tr>\n"
        for _ in range(6)
    )
    head = f"<h2>{_text(chance, 2)}</h2><table><thead><tr><th>Name<th>Value<th>No.</thead>"
    return f"<section>{head}\n{rows}</table></section>\n"


def _review(chance: random.Random) -> str:
    return (
        f'<!-- review -->\n<div class="review"><b>{_text(chance, 2)}</b> <time>{chance.randrange(1, 28)} May</time>\n'
        f"<p>{_text(chance, 30)} &amp; {_text(chance, 6)}<p>{_text(chance, 20)}</div>\n"
    )


def _state(chance: random.Random, length: int) -> str:
    items: list[str] = []
    left = length
    while left > 0:
        item = {"id": chance.randrange(10**9), "name": _text(chance, 5), "html": "<b>new<\\/b>", "stock": True}
        items.append(json.dumps(item).replace("\\\\/", "\\/"))
        left -= len(items[-1]) + 1
    return f"[{','.join(items)}]"


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def _link(word: str) -> str:
    return f'<a href="/c/{word}">{word.title()}</a>'
