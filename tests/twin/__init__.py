"""A brute-force twin of the language, which judges a replay's answers from the raw rows.

It shares nothing with the pipelines, the engine or the observer but the sentence of a watch: it puts the rows in order
with its own hash (`order`), cuts windows as lists of rows (`windows`), computes every aggregate afresh from them
(`aggregates`) and walks along the alerts of the report (`judge`). `watches_of_…` are the tables of what is compared.
"""
