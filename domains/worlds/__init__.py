"""The families of the worlds suite, one package each, all split alike.

``instance`` (the hidden instance: a frozen dataclass, its JSON form, checker), ``generate`` (sizes,
draws), ``solve`` (construction, reference, random decision), ``verify`` (the second solver),
``present`` (tools and desks), ``facts`` (plans, catalogue, normaliser, rebuilding, variants),
``words`` (prompt texts), and the family itself in ``__init__``. docs/worlds-authors.md tells how to
add one; transit_routing is the example to copy.
"""
