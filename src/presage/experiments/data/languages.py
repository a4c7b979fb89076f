"""The language of a file, judged by its name alone."""

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

BY_LANGUAGE = {
    "Assembly": "s asm",
    "Batch": "bat cmd",
    "C": "c h",
    "C#": "cs",
    "C++": "cc cpp cxx hh hpp hxx",
    "CMake": "cmake",
    "CSS": "css",
    "CUDA": "cu cuh",
    "Clojure": "clj cljc cljs",
    "CoffeeScript": "coffee",
    "Crystal": "cr",
    "Cython": "pyx pxd",
    "Dart": "dart",
    "Dockerfile": "dockerfile",
    "Elixir": "ex exs",
    "Emacs Lisp": "el",
    "Erlang": "erl hrl",
    "F#": "fs fsi fsx",
    "Fortran": "f f90 f95 f03",
    "Go": "go",
    "Groovy": "groovy gradle",
    "HCL": "tf hcl",
    "HTML": "html htm",
    "Haskell": "hs",
    "Java": "java",
    "JavaScript": "js jsx mjs cjs",
    "Julia": "jl",
    "Jupyter Notebook": "ipynb",
    "Kotlin": "kt kts",
    "Lua": "lua",
    "Makefile": "mk",
    "Nim": "nim",
    "Nix": "nix",
    "OCaml": "ml mli",
    "Objective-C": "m mm",
    "PHP": "php",
    "Perl": "pl pm",
    "PowerShell": "ps1 psm1",
    "Python": "py pyi",
    "R": "r",
    "Racket": "rkt",
    "Ruby": "rb rake gemspec",
    "Rust": "rs",
    "SCSS": "scss sass",
    "SQL": "sql",
    "Scala": "scala sbt",
    "Shell": "sh bash zsh fish",
    "Solidity": "sol",
    "Svelte": "svelte",
    "Swift": "swift",
    "TeX": "tex sty",
    "TypeScript": "ts tsx",
    "Verilog": "v sv",
    "Vim Script": "vim",
    "Vue": "vue",
    "Zig": "zig",
}
EXTENSIONS = {f".{extension}": name for name, endings in BY_LANGUAGE.items() for extension in endings.split()}
NAMES = {
    "cmakelists.txt": "CMake",
    "dockerfile": "Dockerfile",
    "gemfile": "Ruby",
    "gnumakefile": "Makefile",
    "makefile": "Makefile",
    "rakefile": "Ruby",
}


def language_of(path: str) -> str | None:
    """The language of a file, None where its name tells none.

    >>> language_of("src/main.RS"), language_of("build/Makefile"), language_of("LICENSE")
    ('Rust', 'Makefile', None)
    """
    file = PurePosixPath(path.lower())
    return NAMES.get(file.name) or EXTENSIONS.get(file.suffix)


def count_languages(paths: Iterable[str]) -> dict[str, int]:
    """How many of the files are written in each language."""
    return dict(Counter(name for path in paths if (name := language_of(path))))
