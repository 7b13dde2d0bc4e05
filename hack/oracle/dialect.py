"""What sqlfluff's Oracle dialect lacks and we use, after Oracle's SQL reference.

Each segment takes the forms that our texts need and no others, so that a slip
is still seen.
"""

from sqlfluff.core import FluffConfig
from sqlfluff.core.dialects import load_raw_dialect
from sqlfluff.core.parser import BaseSegment, Bracketed, OneOf, OptionallyBracketed, Ref, Sequence


class BindVariableSegment(BaseSegment):
    """A bind: :name, or :1 by number."""

    type = "bind_variable"
    match_grammar = OptionallyBracketed(
        Ref("BindColonSegment"),
        OneOf(Ref("ParameterNameSegment"), Ref("NumericLiteralSegment")),
    )


class AlterSystemStatementSegment(BaseSegment):
    """ALTER SYSTEM: COMMENT, SCOPE and SID stand in this order."""

    type = "alter_system_statement"
    match_grammar = Sequence(
        "ALTER",
        "SYSTEM",
        OneOf(
            Sequence("SWITCH", "LOGFILE"),
            "CHECKPOINT",
            Sequence("FLUSH", "BUFFER_CACHE"),
            Sequence(
                "SET",
                Ref("SingleIdentifierGrammar"),
                Ref("EqualsSegment"),
                OneOf(
                    Ref("QuotedLiteralSegment"),
                    Ref("NumericLiteralSegment"),
                    Sequence(Ref("NegativeSegment"), Ref("NumericLiteralSegment")),
                    Ref("SizeClauseGrammar"),
                    "TRUE",
                    "FALSE",
                ),
                Sequence("COMMENT", Ref("EqualsSegment"), Ref("QuotedLiteralSegment"), optional=True),
                Sequence("SCOPE", Ref("EqualsSegment"), OneOf("MEMORY", "SPFILE", "BOTH"), optional=True),
                Sequence("SID", Ref("EqualsSegment"), Ref("QuotedLiteralSegment"), optional=True),
            ),
        ),
    )


class AlterDatabaseStatementSegment(BaseSegment):
    """ALTER DATABASE: groups of redo logs, and the size of a datafile."""

    type = "alter_database_statement"
    match_grammar = Sequence(
        "ALTER",
        "DATABASE",
        OneOf(
            Sequence(
                "ADD",
                "LOGFILE",
                "GROUP",
                Ref("NumericLiteralSegment"),
                Bracketed(Ref("QuotedLiteralSegment")),
                "SIZE",
                Ref("SizeClauseGrammar"),
                Ref.keyword("REUSE", optional=True),
            ),
            Sequence("DROP", "LOGFILE", "GROUP", Ref("NumericLiteralSegment")),
            Sequence("DATAFILE", Ref("QuotedLiteralSegment"), "RESIZE", Ref("SizeClauseGrammar")),
        ),
    )


class AlterUserStatementSegment(BaseSegment):
    """ALTER USER: a new password, an open account."""

    type = "alter_user_statement"
    match_grammar = Sequence(
        "ALTER",
        "USER",
        Ref("SingleIdentifierGrammar"),
        Sequence("IDENTIFIED", "BY", Ref("SingleIdentifierGrammar"), optional=True),
        Sequence("ACCOUNT", OneOf("LOCK", "UNLOCK"), optional=True),
    )


class CreateTablespaceStatementSegment(BaseSegment):
    """CREATE TABLESPACE: a permanent one, managed locally."""

    type = "create_tablespace_statement"
    match_grammar = Sequence(
        "CREATE",
        OneOf("BIGFILE", "SMALLFILE", optional=True),
        "TABLESPACE",
        Ref("SingleIdentifierGrammar"),
        "DATAFILE",
        Ref("QuotedLiteralSegment", optional=True),
        Sequence("SIZE", Ref("SizeClauseGrammar"), optional=True),
        Sequence(
            "AUTOEXTEND",
            "ON",
            Sequence("NEXT", Ref("SizeClauseGrammar"), optional=True),
            Sequence("MAXSIZE", OneOf("UNLIMITED", Ref("SizeClauseGrammar")), optional=True),
            optional=True,
        ),
        Sequence(OneOf("NOLOGGING", "LOGGING"), optional=True),
        Sequence("EXTENT", "MANAGEMENT", "LOCAL", Ref.keyword("AUTOALLOCATE", optional=True), optional=True),
        Sequence("SEGMENT", "SPACE", "MANAGEMENT", OneOf("AUTO", "MANUAL"), optional=True),
    )


class DropTablespaceStatementSegment(BaseSegment):
    """DROP TABLESPACE, with what is in it."""

    type = "drop_tablespace_statement"
    match_grammar = Sequence(
        "DROP",
        "TABLESPACE",
        Ref("SingleIdentifierGrammar"),
        Sequence(
            "INCLUDING",
            "CONTENTS",
            Sequence("AND", "DATAFILES", optional=True),
            Sequence("CASCADE", "CONSTRAINTS", optional=True),
            optional=True,
        ),
    )


STATEMENTS = (
    AlterDatabaseStatementSegment,
    AlterSystemStatementSegment,
    AlterUserStatementSegment,
    CreateTablespaceStatementSegment,
    DropTablespaceStatementSegment,
)


def config():
    """Return a configuration of sqlfluff with the whole dialect."""
    extra = set()
    for statement in STATEMENTS:
        extra |= keywords(statement.match_grammar)
    raw = load_raw_dialect("oracle")
    raw.sets("unreserved_keywords").update(extra - raw.sets("reserved_keywords"))
    result = FluffConfig(overrides={"dialect": "oracle", "templater": "raw"})
    oracle = result.get("dialect_obj")
    statement = oracle.ref("StatementSegment")
    grammar = statement.match_grammar.copy(insert=[Ref(s.__name__) for s in STATEMENTS], at=0)
    oracle.add(**{s.__name__: s for s in STATEMENTS})
    oracle.replace(
        BindVariableSegment=BindVariableSegment,
        StatementSegment=type("StatementSegment", (statement,), {"match_grammar": grammar}),
    )
    return result


def keywords(grammar):
    """Return the keywords that a grammar names."""
    found = set()
    for part in getattr(grammar, "_elements", []):
        name = getattr(part, "_ref", None)
        if name and name.endswith("KeywordSegment"):
            found.add(name.removesuffix("KeywordSegment").upper())
        found |= keywords(part)
    return found
