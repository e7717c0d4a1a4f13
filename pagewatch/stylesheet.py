"""How the report looks, and the policy that lets nothing else in.

One style element, named in the policy by its hash: no other style, no script, no picture, no frame and no request can
come from what a page wrote, even if its text got past the escaping. Colours are variables, once for light and once for
dark; each text has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3).
"""

from __future__ import annotations

import base64
import hashlib

LIGHT = """
--paper: #f5f6f5; --card: #ffffff; --ink: #1b2125; --quiet: #59646c; --rule: #dfe3e3; --link: #0a589e;
--good: #25703f; --trouble: #b3261e; --waiting: #7d5700; --alarm: #fdf3f1;
--plus: #e4f4e8; --plus-ink: #14532d; --minus: #fcebe9; --minus-ink: #8c1d18; --mark: #3b7ea1; --tint: #3b7ea11f;
"""
DARK = """
--paper: #121517; --card: #1a1e21; --ink: #e4e7e9; --quiet: #a0abb3; --rule: #30373c; --link: #86bdf5;
--good: #74c791; --trouble: #ff958b; --waiting: #e2b650; --alarm: #2a1c1b;
--plus: #15301f; --plus-ink: #a5e3b9; --minus: #3a1e1d; --minus-ink: #ffb9b2; --mark: #74b3d4; --tint: #74b3d429;
"""
RULES = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.page { max-width: 70rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1, h2, h3 { line-height: 1.25; margin: 0; font-weight: 650; text-wrap: balance; }
h1 { font-size: 1.75rem; letter-spacing: -.015em; }
h2 { font-size: 1.2rem; }
h3 { font-size: .8125rem; font-weight: 600; color: var(--quiet); }
p { margin: 0; }
a { color: var(--link); text-underline-offset: .18em; text-decoration-thickness: .06em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 3px; border-radius: 3px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--card); z-index: 1; }
.quiet { color: var(--quiet); font-size: .875rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.tally { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .75rem 0 0; padding: 0; list-style: none; }
.notes { margin: 1rem 0 0; padding: .75rem 1rem .75rem 2rem; background: var(--card);
  border: 1px solid var(--rule); border-left: 3px solid var(--waiting); border-radius: 6px; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; margin: 1.25rem 0 0;
  padding: 1.25rem 1.5rem 1.5rem; }
.mark { width: .7em; height: .7em; flex: none; fill: currentColor; stroke: currentColor; stroke-width: 1.6; }
.mark .open { fill: none; }
.health { display: inline-flex; align-items: baseline; gap: .45em; font-weight: 600;
  font-size: .875rem; }
.health i { font-style: normal; font-weight: 400; }
.good { color: var(--good); } .trouble { color: var(--trouble); }
.waiting { color: var(--waiting); } .off { color: var(--quiet); }

.overview { width: 100%; border-collapse: collapse; margin-top: 1rem; }
.overview th, .overview td { text-align: left; vertical-align: baseline; padding: .6rem 1rem .6rem 0;
  border-bottom: 1px solid var(--rule); }
.overview tr > :last-child { padding-right: 0; }
.overview tbody tr:last-child > * { border-bottom: 0; padding-bottom: 0; }
.overview thead th { font-size: .8125rem; font-weight: 600; color: var(--quiet); padding-top: 0; }
.overview tbody th { font-weight: 500; width: 34%; min-width: 9rem; unicode-bidi: plaintext; }
.overview tbody td { font-size: .875rem; white-space: nowrap; }
.overview .why { display: block; font-size: .8125rem; font-weight: 400; color: var(--quiet); }
.overview .strip { width: 9rem; height: 1rem; display: block; }
.overview .bars { stroke: var(--mark); vector-effect: non-scaling-stroke; }

.top { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .25rem 1.5rem; }
.top h2 { flex: 1 1 16rem; unicode-bidi: plaintext; }
.address { font-size: .875rem; margin-top: .15rem; }
.detail { margin-top: .75rem; unicode-bidi: plaintext; }
.troubled .detail { background: var(--alarm); border-left: 3px solid var(--trouble); border-radius: 4px;
  padding: .5rem .75rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.25rem, 1fr)); gap: .9rem 1rem;
  margin: 1.1rem 0 0; }
.facts dt { font-size: .8125rem; color: var(--quiet); }
.facts dd { margin: 0; font-weight: 500; }
.facts time { display: block; font-size: .8125rem; font-weight: 400; color: var(--quiet); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1.5rem 2.5rem;
  margin-top: 1.5rem; align-items: start; }
figure { margin: 0; min-width: 0; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1.5rem; align-items: baseline;
  margin-bottom: .5rem; }
.strip { width: 100%; height: 2.25rem; display: block; }
.line { width: 100%; height: 7rem; display: block; overflow: visible; }
.axis { display: flex; justify-content: space-between; font-size: .75rem; color: var(--quiet); margin-top: .3rem; }
.bars { fill: var(--mark); }
.ground, .grid { fill: none; stroke: var(--rule); vector-effect: non-scaling-stroke; }
.grid { stroke-dasharray: 2 4; }
svg .area { fill: var(--tint); }
svg .line, svg .dot { fill: none; stroke: var(--mark); stroke-width: 2; vector-effect: non-scaling-stroke; }
svg .dot { stroke-width: 8; stroke-linecap: round; }
.extremes { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1rem; margin: .75rem 0 0; font-size: .875rem; }
.extremes dt { font-size: .8125rem; color: var(--quiet); }
.extremes dd { margin: 0; font-weight: 500; }
.extremes time { display: block; font-size: .8125rem; font-weight: 400; color: var(--quiet); }

.changes { margin-top: 1.75rem; }
.changes > .quiet { margin-top: .75rem; }
details, .plain { border-top: 1px solid var(--rule); }
.changes h3 { margin-bottom: .5rem; }
summary, .plain { display: flex; gap: 0 1rem; flex-wrap: wrap; padding: .55rem 0; align-items: baseline; }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: ""; width: .4rem; height: .4rem; border: solid var(--quiet); border-width: 0 2px 2px 0;
  transform: rotate(-45deg) translateY(-.1rem); flex: none; }
details[open] > summary::before { transform: rotate(45deg) translateY(-.1rem); }
summary time, .plain time { color: var(--quiet); font-size: .875rem; flex: none; width: 10rem; }
summary .gist, .plain .gist { flex: 1 1 14rem; unicode-bidi: plaintext; }
.plain::before { content: ""; width: .4rem; flex: none; }

.diff { width: 100%; table-layout: fixed; border-collapse: separate; border-spacing: 0; margin: .25rem 0 1rem;
  font-size: .875rem; line-height: 1.45; border: 1px solid var(--rule); border-radius: 6px; overflow: hidden; }
.diff th { text-align: left; font-size: .75rem; font-weight: 600; color: var(--quiet); padding: .35rem .75rem;
  border-bottom: 1px solid var(--rule); }
.diff td { padding: .2rem .75rem .2rem 1.75rem; vertical-align: top; position: relative; overflow: hidden;
  unicode-bidi: plaintext; }
.diff td + td, .diff th + th { border-left: 1px solid var(--rule); }
.diff .same td { color: var(--quiet); }
.diff .gap td { color: var(--quiet); text-align: center; padding: .2rem .75rem; }
.diff .none { background: var(--paper); }
.diff .plus { background: var(--plus); color: var(--plus-ink); }
.diff .minus { background: var(--minus); color: var(--minus-ink); }
.diff .plus::before, .diff .minus::before { position: absolute; left: .75rem; font-weight: 600; content: "+"; }
.diff .minus::before { content: "\\2212"; }
.diff ins, .diff del { text-decoration: none; }
.diff .part ins, .diff .part del { font-weight: 650; }
.diff .part ins { text-decoration: underline; text-underline-offset: .2em; }
.diff .part del { text-decoration: line-through; }
.rest, .rest > summary { border: 0; padding-top: 0; }
.rest > summary { color: var(--quiet); font-size: .875rem; margin-top: -.75rem; }
footer { margin-top: 2.5rem; }

@media (max-width: 44rem) {
  .page { padding: 1.5rem 1rem 3rem; }
  .card { padding: 1rem 1rem 1.25rem; }
  .overview .wide { display: none; }
  .overview { margin-top: .5rem; }
  .overview, .overview tbody { display: block; }
  .overview thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .overview tbody tr { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .1rem 1rem;
    padding: .6rem 0; border-bottom: 1px solid var(--rule); }
  .overview tbody tr:last-child { border: 0; padding-bottom: 0; }
  .overview tbody tr > * { border: 0; padding: 0; white-space: normal; }
  .overview tbody th { flex: 1 0 100%; width: auto; }
  .overview .changed { color: var(--quiet); }
  .overview .changed time::before { content: "changed "; }
  .facts { grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); }
  summary .gist, .plain .gist { flex-basis: 100%; margin-left: 1.4rem; }
  .diff thead { display: none; }
  .diff, .diff tbody, .diff tr, .diff td { display: block; }
  .diff td + td { border-left: 0; }
  .diff .none, .diff .same td + td { display: none; }
}
@media print {
  .page { max-width: none; padding: 0; }
  .card { break-inside: avoid-page; border-color: #bbb; }
  .skip { display: none; }
}
"""
CSS = (
    f":root {{ color-scheme: light dark; {LIGHT} }}\n"
    f"@media (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}\n"
    # Paper is white whatever the screen is.
    f"@media print {{ :root {{ color-scheme: light; {LIGHT} --paper: #ffffff; }} }}\n"
    f"{RULES}"
)


def policy() -> str:
    """The Content-Security-Policy of a page whose one style element holds `CSS` and nothing else."""
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
