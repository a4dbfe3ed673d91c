"""The one package that a wheel installs: its floors are the folders at the repository's root.

Each floor is linked here (`penstock/schema -> ../schema`), so that imports read
`penstock.schema` while the folders stay at the top of the repository.
"""
