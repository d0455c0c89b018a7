"""Values that follow from an array at every site: kept true by a few numbers per site instead of the array.

``gauge.py`` says what such a value needs, ``self_join.py``, ``inner_product.py`` and ``quantile.py`` have them;
``gauger.py`` is a site's half and ``sounder.py`` the coordinator's.
"""
