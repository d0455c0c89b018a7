"""The k largest objects across all sites, kept by a coordinator (Babcock and Olston, Distributed Top-K Monitoring).

Objects have a partial score at every site; the score of an object is their sum. The coordinator keeps a set of k
objects that is valid within epsilon: no object outside has a score larger by more than epsilon than one inside. It
hands out adjustments, which sum to 0 for every object over the coordinator and all sites, so that at every site every
adjusted score inside is at least every adjusted score outside. While that holds everywhere, nobody needs to speak.
"""
