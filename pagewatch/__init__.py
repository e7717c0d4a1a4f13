"""A map of the modules. monitor.py joins them; nothing here imports it. Each layer imports only from those above it.

Words, standard library only:
    errors        what a person must hear
    answers       what the web said, and what was found in it
    model         the frozen values that travel: what the user wrote, what is remembered, what is decided
    frozen        values made of fields, and the same with other fields
    nodes         what watches.yaml is made of; configuration: what has been read of it
    urls          one form of a URL: for robots.txt, for the request, for its validators

Rules: text and values in, values out; no network, no files, no clock:
    config        watches.yaml -> settings and watches, every problem with its line; it reads
                  document (YAML to nodes), environment (.env, ${NAME}), top_level, keys, request_keys,
                  content_keys, values; editors read watches.schema.json
    kept          the configuration as a text, so that it need not be read and checked again
    robots        RFC 9309: which rule decides for a URL
    conditional   which validators may be sent, and whether a 304 can be believed
    hops          what is sent at each redirect and what its answer leads to; with http_headers and cookies
    content_coding takes gzip and deflate off a body; failures: what an exception of the HTTP library means
    sources       an answer -> what was seen in it: its text by charset, the rest by one of readers: page (embedded: the
                  JSON in it), json, text, feed (its entries; jsonfeed), sitemap (lastmod: what one says of when)
    reading       what a reader is given and makes of it; doubts: is it to be believed
    markup        a tree of HTML or XML; css, translation, soup: how its elements are found; element_text, view, items,
                  extract: what is watched in it
    jsondata      JSON and paths into it; amounts: numbers as people write them
    fingerprint   normalises, leaves noise out, compares
    matching      how two texts are matched, line by line or word by word
    decide        (plan, outcome, now) -> new state, a row, notices; with conditions (what is told), schedule, and the
                  words of diff, notices and baselines
    events        what the history keeps of a decision; removals: what became of records that are gone
    memory        all that is remembered, in one document; records has the JSON of each value
    output        the lines of a run; health: how each watch is, for list and the report
    report        the HTML page, with comparison (of sides), plots and stylesheet; atom: the feed of changes; changes:
                  what both say of versions
    differences   a change in full, for a terminal; explain: why an alert came, or none did
    arithmetic    what checking costs and finds; installing: the lines for schedulers
    advice        what `test` says of one look or two, each proposal tried on the page: brittle (will the selector
                  last), sturdy (a better one), embedded (JSON in scripts), announced (feeds, APIs, a hub), noise (what
                  differs in a second look), moved (where a lost text is now), pace (how often), entry (to paste)
    commandline   the words of a call

Edges, one outside thing each; none imports another:
    fetch         one look over all its hops; connections (requests) has the way there, over sockets
    politeness    may we ask this host now: robots.txt of each origin, turns, gaps, pauses
    state         the files of state/; lock
    history       every version and the last decisions (SQLite)
    notify        sends what is in the outbox (Apprise)
    demo          a site on this machine
    quiet         the note of when each watch will be due

Steps, which bring edges together for the script and the commands:
    beginning     which watches a run is about, and what is wrong before it begins
    setup         the configuration as it was kept; after an edit watches_yaml reads it from disk, and checking does the
                  checks that are done once
    one_watch     all that is known of one watch, what the history has not got yet included
    asking        one request for all watches that share it, hosts side by side
    run           decided, saved, shown, told: in this order
    telling       what a run tells beside its watches: offline, a wrong watches.yaml, heartbeat, what will be due when
    ping          requests the user's own URL when a run has finished
    recall        the history with the rows that still wait in the memory; publishing: changes.atom, written from it

Commands, a module each: commands.test, .list, .history, .diff, .why, .report, .schedule, .forget, .doctor, .demo; check
is monitor.py itself.
"""
