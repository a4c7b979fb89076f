"""How words are written in SQL."""


def words(value: str) -> str:
    """Words as SQL takes them.

    >>> words("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
