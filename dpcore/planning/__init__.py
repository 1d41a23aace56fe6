"""What is decided from public numbers and from releases, and spends nothing.

``plan`` and ``suggest`` say in advance what a release costs and how accurate it is, and
``most_accurate`` chooses the mechanism of ``dpcore.cdf``. ``compare`` reads two released curves.
"""
