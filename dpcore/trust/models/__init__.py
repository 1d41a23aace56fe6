"""Trust models as mechanisms: a curator, secure aggregation, distributed noise, local privacy.

Given the exact counts of all clients, each model draws what its protocol would release. Each file
has all about one model: the mechanism, and what its clients and servers do in a round. The package
imports the interfaces of ``protocol``.
"""
