"""The judge of live runs: what a running system published, against the truth of its sources.

Nothing here shares code with what it judges: the sources are read with DuckDB, and the truth of a pane is computed from
all rows of its window, every time anew. Only the front end of the language is used, to learn what a watch asks.
``truths/`` has one file per kind of watch; docs/VERIFY.md says what is judged and how.
"""
