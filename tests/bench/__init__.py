"""How fast the program is, beside others that do the same work on the same machine at the same time.

    python -m tests.bench --n 10,100 --urlwatch PYTHON --webchanges PYTHON

    pages.py      the pages of the site, and what is different about them from one look to the next
    server.py     the site, a process of its own
    programs.py   monitor.py and the others: their configuration, their command, and what they say they have seen
    limit.py      one of them: the least that does the work, to measure what is left to gain
    measure.py    one process: seconds, processor seconds, memory; and programs in turns
    scenarios.py  what is measured for N watches
    singles.py    what is measured once: nothing due, ten of many due, a large page, a large sitemap

Seconds mean little on another machine; the ratios are what counts, and they are taken round by round.
"""
