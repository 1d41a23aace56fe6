"""Trust models as mechanisms: a curator, secure aggregation, distributed noise, local privacy.

Given the exact counts of all clients, each model draws what its protocol would release. This
package does not import ``protocol``.
"""
