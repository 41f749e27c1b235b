#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No full-expression draws twice from random generators in an order that C++ leaves open, as in `f(random(), random())`: GCC on
x86 evaluates arguments from the right, Clang from the left, and one seed would give different numbers.

usage: check_draws.py ROOT

A generator is a variable of an engine of <random>, or of a class of the tree that counts up what it hands to a function of an
index, steps a `state_`, or has a generator for a member. A draw is a call of it, of a member function of it, or of a function
that is handed it; of a lambda with a draw in its body; and, within a generator's class, of a member function with one. Braced
lists, declarators, &&, ||, ?:, shifts and assignments have an order. What hides behind std::function or auto is not seen.
"""
import pathlib
import re
import sys

SOURCES = {".h", ".hpp", ".inl", ".cc", ".cpp", ".cu", ".cuh"}
SKIPPED = {"build", "shared"}  # build trees, and what is not part of the repository
ENGINES = {"mt19937", "mt19937_64", "minstd_rand", "minstd_rand0", "ranlux24", "ranlux48", "default_random_engine"}
STEPS = re.compile(r"\b(?:philox4x32|rounding_bits|random_word) \( [^;]*\+\+|\bstate_ \+=")  # in spaced()
TOKEN = re.compile(
    r"""(//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)|(R"(\w*)\(.*?\)\3"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')"""
    r"""|([A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*|::|->|<<=|<<|>>=|>>|&&|\|\||[-+*/%&|^!=<>]=|\+\+|--|\S)""",
    re.DOTALL | re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CONTROLS = {"if", "while", "for", "switch", "catch", "constexpr"}
STARTS = {"return", "else", "do", "case", "throw"}  # before an expression, not a type before a name
ORDERED = {"&&", "||", "?", ":", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="} | STARTS
LOOSER, SHIFTS = {"&", "|", "^", "==", "!="}, {"<<", ">>"}  # operators that bind less than shifts, which have an order
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


class Group(list):
    """What stands between brackets: tokens (text, line) and groups."""

    def __init__(self, bracket, line):
        super().__init__()
        self.bracket, self.line = bracket, line


def text(item):
    return "" if isinstance(item, Group) else item[0]


def bracket(item):
    return item.bracket if isinstance(item, Group) else ""


def is_name(item):
    return re.match(r"[A-Za-z_]", text(item)) is not None


def spaced(items):
    return " ".join(f"{i.bracket} {spaced(i)} {CLOSED_BY[i.bracket]}" if isinstance(i, Group) else i[0] for i in items)


def parsed(source):
    stack, line, at = [Group("", 1)], 1, 0
    for match in TOKEN.finditer(source):
        line, at = line + source.count("\n", at, match.start()), match.start()
        if match.group(1):
            continue
        token = '""' if match.group(2) else match.group()
        if token in CLOSED_BY:
            stack[-1].append(Group(token, line))
            stack.append(stack[-1][-1])
        elif token not in CLOSED_BY.values():
            stack[-1].append((token, line))
        elif len(stack) > 1:
            stack.pop()
    return stack[0]


def parts(items, separators):
    part = []
    for item in items:
        if text(item) in separators:
            yield part
            part = []
        else:
            part.append(item)
    yield part


def bodies(items, owner=""):
    """(kind, class, name, body): every class, every function with a body, every lambda that has a name."""
    head = []  # since the end of the statement before
    for item in items:
        if bracket(item) != "{":
            if isinstance(item, Group):
                yield from bodies(item, owner)
            head = [] if text(item) == ";" else head + [item]
            continue
        words, within = [text(h) for h in head], owner
        call = next((k for k, h in enumerate(head) if k > 0 and bracket(h) == "(" and is_name(head[k - 1])), None)
        equals = words.index("=") if "=" in words else None
        if equals and equals + 1 < len(head) and bracket(head[equals + 1]) == "[":
            yield "lambda", owner, words[equals - 1], item
        elif call is None and ("class" in words or "struct" in words):
            within = (words + [""])[max(k for k, word in enumerate(words) if word in {"class", "struct"}) + 1]
            yield "class", within, within, item
        elif call is not None and words[call - 1] not in CONTROLS and equals is None:
            name = "operator()" if "operator" in words[:call + 1] else words[call - 1]
            yield "function", words[call - 3] if call > 2 and words[call - 2] == "::" else owner, name, item
        yield from bodies(item, within)
        head = []


class Draws:
    """What draws in one file: `generators`, variables; `callables`, lambdas and member functions."""

    def __init__(self, generators, callables):
        self.generators, self.callables, self.found = generators, callables, []

    def expression(self, items):
        """Whether it draws; what it draws twice without an order is noted."""
        drew = False
        for ordered in parts(items, ORDERED):
            drawing = [[self.primaries(piece) for piece in parts(operand, SHIFTS)] for operand in parts(ordered, LOOSER)]
            operands = [[lines for lines in pieces if lines] for pieces in drawing if any(pieces)]
            if len(operands) > 1 or any(len(lines) > 1 for pieces in operands for lines in pieces):
                self.found.append(operands[0][0][0])
            drew |= bool(operands)
        return drew

    def primaries(self, items):
        return [items[k].line for k in range(len(items)) if self.primary(items, k)]

    def primary(self, items, k):
        """Whether a draw ends at item k: the brackets of a call or of a list; a call's own draw and those of its arguments."""
        item, before = items[k], items[k - 1] if k > 0 else ("", 0)
        if bracket(item) == "{":
            lambda_or_block = bracket(before) in {"(", "["} or text(before) in {"mutable", "noexcept", "const"}
            drew = self.statements(item)
            return drew and not lambda_or_block
        if bracket(item) == "[":
            return self.expression(item) if k > 0 and (is_name(before) or isinstance(before, Group)) else False
        if bracket(item) != "(":
            return False
        if text(before) in CONTROLS:
            self.statements(item)
            return False
        arguments = list(parts(item, {","}))
        handed = any(len(a) == 1 and text(a[0]) in self.generators for a in arguments)
        drawing = [a for a in arguments if self.expression(a)]
        called = is_name(before) and text(before) not in STARTS
        if len(drawing) > 1:
            self.found.append(item.line)
        return bool(drawing) or (handed and called) or (called and self.draws(items, k - 1)) or (
            bracket(before) == "(" and spaced(before) == "* this" and "operator()" in self.callables)

    def draws(self, items, k):
        """Whether the call of the name at k draws: of a generator, its member, or a drawing callable that has no object."""
        name, before = text(items[k]), text(items[k - 1]) if k > 0 else ""
        if before in {".", "->"} and k > 1:
            return text(items[k - 2]) in self.generators
        declared = k > 0 and (is_name(items[k - 1]) and before not in STARTS or before in {"::", ">", ">>"})
        return not declared and (name in self.generators or name in self.callables)

    def statements(self, items):
        """Whether any draws. Without a semicolon it is a list, whose elements follow one another."""
        drew = False
        for statement in parts(items, {";"}):
            piece = []
            for item, follower in zip(statement, statement[1:] + [("", 0)]):
                piece.append(item)
                ends = bracket(item) == "{" and not (text(follower) in {".", ",", ")"} or isinstance(follower, Group))
                condition = bracket(item) == "(" and len(piece) > 1 and text(piece[-2]) in CONTROLS
                if text(item) == "," or ends or condition:
                    drew |= self.expression([i for i in piece if text(i) != ","])
                    piece = []
            drew |= self.expression(piece)
        return drew


class Tree:
    def __init__(self, root):
        paths = [p for p in sorted(root.rglob("*")) if p.suffix in SOURCES
                 and not any(part in SKIPPED or part[0] == "." for part in p.relative_to(root).parts)]
        self.root, self.source = root, {p: p.read_text(encoding="utf-8") for p in paths}
        self.included = {p: [h for i in INCLUDE.findall(s) for h in (root / i, p.parent / i) if h in self.source] for p, s in self.source.items()}
        self.found = {}
        self.items = {p: parsed(s) for p, s in self.source.items()}
        self.words = {p: spaced(i) for p, i in self.items.items()}
        self.bodies = {p: list(bodies(i)) for p, i in self.items.items()}
        self.steps = {p: [(b[1], b[2]) for b in self.bodies[p] if b[0] == "function" and b[1] and STEPS.search(spaced(b[3]))]
                      for p in paths}
        self.members = {p: [(b[2], spaced(i for i in b[3] if bracket(i) != "{")) for b in self.bodies[p] if b[0] == "class"]
                        for p in paths}

    def seen_from(self, path, seen):
        """The file and all that it includes."""
        seen[path] = None
        for header in self.included[path]:
            if header not in seen:
                self.seen_from(header, seen)
        return seen

    def declared(self, pattern, path):
        """What a pattern finds in a file; most files ask for the same of the same headers."""
        if (pattern, path) not in self.found:
            self.found[pattern, path] = re.findall(pattern, self.words[path])
        return self.found[pattern, path]

    def generators(self, files):
        """Types, variables, and (class, function) that step a generator, as these files have them."""
        beside = [p.with_suffix(".cpp") for p in files if p.with_suffix(".cpp") in self.source]  # of what a header declares
        steps = {step for p in {*files, *beside} for step in self.steps[p]}
        types, size = ENGINES | {owner for owner, _ in steps}, 0
        while size != len(types):  # classes with a generator for a member
            size = len(types)
            member = re.compile(rf"\b(?:{'|'.join(sorted(types))}) (?:& )?\w+ (?:;|{{|=)")
            types |= {name for p in files for name, words in self.members[p] if member.search(words)}
        pattern = rf"\b(?:{'|'.join(sorted(types))}) (?:& )?([A-Za-z_]\w*)"
        return types, {name for p in files for name in self.declared(pattern, p)} - types, steps

    def problems(self, path):
        files = list(self.seen_from(path, {}))
        types, generators, steps = self.generators(files)
        if types == ENGINES and not generators:
            return []
        members = {owner: {name for of, name in steps if of == owner} for owner in types}
        functions = [b for p in files for b in self.bodies[p] if b[0] == "function" and b[1] in types]
        lambdas, size = set(), -1
        while size != len(lambdas) + sum(map(len, members.values())):
            size = len(lambdas) + sum(map(len, members.values()))
            for _, owner, name, body in functions:
                if Draws(generators, lambdas | members[owner]).statements(body):
                    members[owner].add(name)
            for kind, owner, name, body in self.bodies[path]:
                if kind == "lambda" and Draws(generators, lambdas | members.get(owner, set())).statements(body):
                    lambdas.add(name)
        found = set()
        for owner, body in [("", self.items[path])] + [(b[1], b[3]) for b in self.bodies[path] if b[1] in types]:
            draws = Draws(generators, lambdas | members.get(owner, set()))
            draws.statements(body)
            found |= set(draws.found)
        return sorted(found)


def main():
    root = pathlib.Path(sys.argv[1])
    tree = Tree(root)
    found = [f"{path.relative_to(root)}:{line}: draws twice in no fixed order: {tree.source[path].splitlines()[line - 1].strip()}"
             for path in tree.source for line in tree.problems(path)]
    print("\n".join(found) if found else "every draw has its turn")
    sys.exit(1 if found else 0)


main()
