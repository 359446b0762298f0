"""TOML and flags in, a `Config` out.

One rule: a config with faults is refused with all of them at once, each with its key, what is wrong
and what to do, and none repeats a value that may be a secret. msgspec checks key by key: asked for
the whole document it would stop at the first fault.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar, get_args

import msgspec

from .address import Address, Network, Origin, UnusableError
from .config import Config, ConfigError, Fault, Flags, Route

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Parsers = Mapping[Any, Callable[[str], object]]

S = TypeVar("S", bound=msgspec.Struct)

_ROUTE_FLAGS: Final = ("listen", "upstream", "label")
_TABLES: Final = {f.name: f.type for f in msgspec.structs.fields(Config) if f.name != "route"}

_PLACES: Final = {
    f"[[{name}]]" if name == "route" else f"[{name}]": kind.__struct_fields__
    for name, kind in {**_TABLES, "route": Route}.items()
}
_TOML_TYPES: Final[Mapping[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    list: "an array",
    dict: "a table",
}


def load(path: Path | None = None, flags: Flags | None = None) -> Config:
    """Read the file at `path`, if there is one, put the flags over it, and check the whole.

    Raises ConfigError with every fault.
    """
    document = {} if path is None else _document(path)
    faults: list[Fault] = []
    check = _Check(_overlay(document, flags or Flags(), faults), faults)
    config = check.config(document)
    if faults:
        raise ConfigError(faults)
    return config


def _document(path: Path) -> dict[str, Any]:
    """The file's tables. What stops the reading of a file is one fault with the file as its key."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        fault = Fault(str(path), what, "name another with --config, or start without one")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        fault = Fault(str(path), f"line {line} is not UTF-8", "save the file as UTF-8")
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError, as is int()'s
        fault = Fault(str(path), _syntax(error), "mend the line; https://toml.io has the syntax")
    raise ConfigError([fault])


def _syntax(error: Exception) -> str:
    """`line 3, column 7: what tomllib says`. Its own words name a character at most, no value."""
    said = str(error)
    place = re.fullmatch(r"(.*) \(at (line \d+, column \d+)\)", said, re.DOTALL)
    return f"{place[2]}: {place[1]}" if place else f"is not TOML: {said[:100]}"


def _overlay(document: dict[str, Any], flags: Flags, faults: list[Fault]) -> dict[str, str]:
    """Put the flags into the document; say which keys are now a flag's, and which flag's.

    Flags about a route mean the file's only one; it is a fault if there are several.
    """
    flagged: dict[str, str] = {}
    status = flags.status
    for table, key, flag, value in (
        ("journal", "dir", "--journal", flags.journal),
        ("console", "quiet", "--quiet", flags.quiet),
        ("status", "enabled", "--status", None if status is None else status != "off"),
        ("status", "listen", "--status", None if status == "off" else status),
    ):
        if value is not None and isinstance(document.setdefault(table, {}), dict):
            document[table][key] = value
            flagged[f"{table}.{key}"] = flag
    given = {key: value for key in _ROUTE_FLAGS if (value := getattr(flags, key)) is not None}
    routes = document.get("route") or [{}]
    if not given or not _is_list_of_tables(routes):
        return flagged
    if len(routes) > 1:
        what = f"could mean any of the {len(routes)} routes in the file"
        faults += [Fault(f"--{key}", what, "change it in the file") for key in given]
        return flagged
    document["route"] = [routes[0] | given]
    return flagged | {f"route[0].{key}": f"--{key}" for key in given}


class _Check:
    """One pass over a document. Goes on after a fault, with the default in the faulty key's place."""

    def __init__(self, flagged: Mapping[str, str], faults: list[Fault]) -> None:
        self._flagged = flagged
        self._faults = faults

    def fault(self, key: str, what: str, remedy: str) -> None:
        """Note one. It is named as its writer knows it: by the flag if the value came from one."""
        self._faults.append(Fault(self._flagged.get(key, key), what, remedy))

    def config(self, document: Mapping[str, Any]) -> Config:
        """The whole of it."""
        tables: dict[str, Any] = {}
        for name, value in document.items():
            if name == "route":
                tables[name] = self._routes(value) or Config().route
            elif name not in _TABLES:
                self._unknown(name, name, [*_TABLES, "route"])
            elif isinstance(value, dict):
                tables[name] = self._struct(_TABLES[name], value, name, _PARSERS)
            else:
                self.fault(
                    name, f"is {_type_of(value)}, not a table", f"write [{name}], then its keys"
                )
        config = Config(**tables)
        self._check_status(config)
        return config

    def _check_status(self, config: Config) -> None:
        """The proxy's own pages need a port that no route has."""
        listen = config.status.listen
        if listen is None or not config.status.enabled:
            return
        for n, route in enumerate(config.route):
            for end in (route.listen, route.upstream.address):
                if listen.overlaps(end):
                    what = f"{listen} is taken by route[{n}] ({end})"
                    self.fault("status.listen", what, "give the status pages a port of their own")

    def _routes(self, value: object) -> tuple[Route, ...]:
        if not _is_list_of_tables(value):
            self.fault("route", f"is {_type_of(value)}, not a list of tables", "write [[route]]")
            return ()
        routes = [self._route(raw, f"route[{n}]") for n, raw in enumerate(value)]
        sound = {f"route[{n}]": route for n, route in enumerate(routes) if route is not None}
        for at, route in sound.items():
            self._check_upstream(at, route, sound)
        for (first, one), (second, other) in itertools.combinations(sound.items(), 2):
            if one.listen.overlaps(other.listen):
                what = f"{other.listen} is taken by {first} ({one.listen})"
                self.fault(f"{second}.listen", what, "give each route a port of its own")
        return tuple(sound.values())

    def _check_upstream(self, at: str, route: Route, sound: Mapping[str, Route]) -> None:
        for name, other in sound.items():
            if route.upstream.address.overlaps(other.listen):
                what = f"{route.upstream} is where {name} itself listens"
                self.fault(f"{at}.upstream", what, "write the inference server's own address")

    def _route(self, raw: Mapping[str, Any], at: str) -> Route | None:
        """One route; None if it has faults, so that no second fault is made of the first."""
        before = len(self._faults)
        listen = Route().listen
        with contextlib.suppress(UnusableError):  # becomes a fault when it is the key's own turn
            listen = Address.parse(str(raw.get("listen", listen)))
        parse_origin = partial(Origin.parse, client_url=listen.client_url)
        parsers: Parsers = {**_PARSERS, Origin: parse_origin}
        route = self._struct(Route, raw, at, parsers)
        for one, other in (("tls_cert", "tls_key"), ("tls_key", "tls_cert")):
            if one in raw and other not in raw:
                self.fault(f"{at}.{other}", f"is missing beside {one}", "write both or neither")
        return route if len(self._faults) == before else None

    def _struct(self, kind: type[S], raw: Mapping[str, Any], at: str, parsers: Parsers) -> S:
        types = {f.name: f.type for f in msgspec.structs.fields(kind)}
        values: dict[str, object] = {}
        for name, value in raw.items():
            key = f"{at}.{name}"
            if name not in types:
                self._unknown(key, name, list(types))
                continue
            try:
                values[name] = _convert(value, types[name], parsers)
            except UnusableError as error:
                for what, remedy in error.faults:
                    self.fault(key, what, remedy)
        return kind(**values)

    def _unknown(self, key: str, name: str, known: list[str]) -> None:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        elsewhere = [place for place, names in _PLACES.items() if name in names]
        if near:
            remedy = f"did you mean {near[0]}?"
        elif elsewhere:
            remedy = f"it belongs below {elsewhere[0]}"
        else:
            remedy = f"known here: {', '.join(sorted(known))}"
        self.fault(_printable(key), "is not a key", remedy)


def _convert(value: object, kind: Any, parsers: Parsers) -> object:
    """One value as its key's type. Raises UnusableError."""
    if kind in _LISTS:
        return _each(value, _LISTS[kind])
    if kind in parsers:
        if not isinstance(value, str):
            raise UnusableError((f"is {_type_of(value)}", "write a string, in quotes"))
        return parsers[kind](value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # "got" is msgspec's word for a wrong type: the rest of its message may repeat the value
        what = f"cannot be {_type_of(value)}" if "got `" in str(error) else _out_of_bounds(value)
        raise UnusableError((what, f"write {_described(kind)}")) from None


def _each(value: object, parse: Callable[[str], object]) -> tuple[object, ...]:
    """Each text of an array as what it stands for; all that is wrong with them at once."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UnusableError(("is no array of strings", 'write ["...", "..."]'))
    if not value:
        raise UnusableError(("lets nobody in", "name who may come in, or leave the key out"))
    found: list[object] = []
    faults: list[tuple[str, str]] = []
    for item in value:
        try:
            found.append(parse(item))
        except UnusableError as error:
            faults += error.faults
    if faults:
        raise UnusableError(*dict.fromkeys(faults))
    return tuple(found)


def _out_of_bounds(value: object) -> str:
    """Of a value of the right type: a number as it is, since none is a secret, of a text nothing."""
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
        return f"cannot be {value}"
    return "cannot be that"


def _described(kind: Any) -> str:
    """What the annotation says a value must be, found below `| None` too."""
    metas = (*getattr(kind, "__metadata__", ()), *(_described(arg) for arg in get_args(kind)))
    words = [m.description if isinstance(m, msgspec.Meta) else m for m in metas]
    return next((word for word in words if word), "")


def _folder(text: str) -> Path:
    if not text.strip():
        raise UnusableError(("is empty", "write the path of a folder"))
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UnusableError(("starts with a ~ that stands for no home", "write it out")) from None


def _file(text: str) -> Path:
    if not text.strip():
        raise UnusableError(("is empty", "write the path of a file"))
    return _folder(text)


_PARSERS: Final[Parsers] = {
    Path: _folder,
    Path | None: _file,
    Address: Address.parse,
    Address | None: Address.parse,
}
_LISTS: Final[Parsers] = {tuple[Network, ...] | None: Network.parse}


def _is_list_of_tables(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _type_of(value: object) -> str:
    """The TOML word for a value's type; never the value."""
    return _TOML_TYPES.get(type(value), "a date or time")


def _printable(key: str) -> str:
    return key if key.isascii() and key.isprintable() and len(key) <= 80 else ascii(key)[:80]
