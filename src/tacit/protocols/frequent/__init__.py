"""Keys with more than so many rows, over all sites, none of which is known beforehand.

``shares.py`` divides a threshold among sites, ``candidates.py`` is what a site knows of keys, ``lookout.py`` a site's
half of the protocol, ``census.py`` the coordinator's. The messages are those of rankings (topk/messages.py).
"""
