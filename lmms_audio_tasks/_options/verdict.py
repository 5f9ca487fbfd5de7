"""From a folded response to one verdict: what does it commit to?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lmms_audio_tasks._options import cues
from lmms_audio_tasks._options.lexicon import Lexicon
from lmms_audio_tasks._options.mentions import Mention, find_mentions, skeleton
from lmms_audio_tasks._options.partial import has_other_text, outside_quotes, partial_mentions, unnamed
from lmms_audio_tasks._options.runs import Run, Status, find_runs, mark_menus, retract
from lmms_audio_tasks._options.text import WORD, strip_echo, undress

Verdict = tuple[str, int | None, str]  # kind, option index, rule

_LEVELS = (Status.FINAL, Status.ALONE, Status.CLAIM, Status.MENTION, Status.SOFT)
_BLANKED = str.maketrans(dict.fromkeys('"()[]{}', " "))
_MENU_GAP = re.compile(r"[\s.:!?()\[\]\"-]*")


def judge(text: str, lexicon: Lexicon, question: str | None) -> Verdict:
    """Verdict on folded text from outside thinking blocks."""
    plain, echoed = strip_echo(undress(text), question)
    if not WORD.search(plain):
        return "none", None, "echo" if echoed else "empty"
    if "?" in plain:
        plain = cues.TAG_QUESTION.sub(".", plain)
    mentions = find_mentions(plain, lexicon)
    rest = _cut_menus(plain, mentions, len(lexicon.letters))
    if rest is not None:
        echoed = echoed or "?" in plain[: mentions[0].start]
        plain, mentions = rest, find_mentions(rest, lexicon)
    mentions = mentions or partial_mentions(plain, lexicon)
    if not mentions:
        verdict = unnamed(plain, lexicon, echoed)
        return ("several", None, "list") if rest is not None and verdict[2] == "no option" else verdict
    if '"' in plain:  # "she says 'I am happy' in a sad voice": quoted words are no answer where others stand
        outside = outside_quotes(plain, mentions)
        if outside and len(outside) < len(mentions):
            verdict = _decide(plain, outside, lexicon, echoed)
            if verdict[0] == "one":
                return verdict
    return _decide(plain, mentions, lexicon, echoed)


def _cut_menus(text: str, mentions: Sequence[Mention], count: int) -> str | None:
    """Cut bare lists of all options in order ("(a) x (b) y"), which commit to none; None where there is none to cut."""
    kept: list[str] = []
    at = place = 0
    while count > 1 and place + count <= len(mentions):
        block = mentions[place : place + count]
        in_order = all(mention.index == i and mention.how != "text" for i, mention in enumerate(block))
        if in_order and all(_MENU_GAP.fullmatch(text, block[i].end, block[i + 1].start) for i in range(count - 1)):
            kept.append(text[at : block[0].start])
            at = block[-1].end
            place += count
        else:
            place += 1
    return "\n".join([*kept, text[at:]]) if kept else None


@dataclass(frozen=True, slots=True)
class _Case:
    """All that a decision looks at."""

    bare: str
    runs: list[Run]  # menus left out
    denied: frozenset[int]
    lexicon: Lexicon

    def rivals(self, option: int, least: Status) -> list[Run]:
        """Runs of at least this status that name another option, not denied."""
        other = {option} | self.denied
        return [run for run in self.runs if run.status >= least and not other.issuperset(run.options)]


def _last(runs: Sequence[Run], option: int, *statuses: Status) -> int:
    return max((i for i, run in enumerate(runs) if run.status in statuses and option in run.options), default=-1)


def _decide(text: str, mentions: Sequence[Mention], lexicon: Lexicon, echoed: bool) -> Verdict:
    bare = skeleton(text, mentions).translate(_BLANKED)  # so that option texts are not read as cues
    runs = find_runs(bare, mentions)
    mark_menus(runs, len(lexicon.letters))
    retract(runs)
    negated = {option for run in runs if run.status == Status.NEGATED for option in run.options}
    denied = frozenset(
        option
        for option in negated
        if _last(runs, option, Status.NEGATED) > _last(runs, option, Status.FINAL, Status.ALONE)
    )
    case = _Case(bare, [run for run in runs if not run.menu], denied, lexicon)
    for level in _LEVELS:
        deciding = [run for run in case.runs if run.status == level]
        chosen = {option for run in deciding for option in run.options} - denied
        if chosen:
            return _choose(case, level, deciding, chosen)
    return _nothing_chosen(case, echoed)


def _choose(case: _Case, level: Status, deciding: Sequence[Run], chosen: set[int]) -> Verdict:
    """Verdict where ``chosen`` holds the options of the firmest status."""
    mentions = [mention for run in deciding for mention in run.mentions if mention.index in chosen]
    if any(mention.doubt for mention in mentions):
        return "undecided", None, "letter or text"
    if len(chosen) > 1:
        return _several(case, level, deciding, chosen)
    option = next(iter(chosen))
    if any(cues.ADDS.search(run.left) for run in case.rivals(option, Status.MENTION)):
        return "several", None, "also"
    doubts = _firm_doubts if level >= Status.ALONE else _faint_doubts
    verdict = doubts(case, level, deciding, option)
    if verdict is not None:
        return verdict
    how = {mention.how for mention in mentions}
    if how == {"letter"} and any(
        run.ends and run.options[-1] == option and has_other_text(run.right, option, case.lexicon) for run in deciding
    ):
        return "undecided", None, "letter with other text"
    return "one", option, "final answer" if level == Status.FINAL else _evidence(how)


def _evidence(how: set[str]) -> str:
    if len(how) == 1:
        return next(iter(how))
    return "letter+text" if how & {"letter", "letter+text"} else "text"


def _several(case: _Case, level: Status, deciding: Sequence[Run], chosen: set[int]) -> Verdict:
    if level == Status.SOFT and cues.REFUSED.search(case.bare):
        return "none", None, "refusal"
    pairs = [(one, two) for run in deciding for one, two in zip(run.mentions, run.mentions[1:], strict=False)]
    if any(one.how == "letter" and two.how != "letter" and one.index != two.index for one, two in pairs):
        return "several", None, "conflict"  # "(a) owl" where owl is (d)
    if any(len(chosen.intersection(run.options)) > 1 for run in deciding):
        return "several", None, "list"
    sure = all(run.labelled and not cues.HEDGED.search(run.left) for run in deciding)
    if level >= Status.ALONE or (level == Status.CLAIM and sure) or any(cues.ALSO.search(run.left) for run in deciding):
        return "several", None, "conflict"
    return "undecided", None, "several named"


def _firm_doubts(case: _Case, level: Status, deciding: Sequence[Run], option: int) -> Verdict | None:
    """What speaks against an explicit answer, or against one that stands alone."""
    if level == Status.FINAL:
        answered = max(run.sentence for run in deciding)
        for run in case.rivals(option, Status.ALONE):
            if run.sentence > answered:
                return "several", None, "conflict"
            if run is case.runs[0] and not run.reason:
                return "undecided", None, "answers differ"
        return None
    only_letters = all(mention.how == "letter" for run in deciding for mention in run.mentions)
    if only_letters and case.rivals(option, Status.CLAIM):  # "A. The voice is that of a woman"
        return "undecided", None, "answers differ"
    return None


def _faint_doubts(case: _Case, level: Status, deciding: Sequence[Run], option: int) -> Verdict | None:
    """What speaks against an option that is only claimed or named."""
    if level == Status.CLAIM:  # "angry at the sad news"
        mixed = {run.sentence for run in case.rivals(option, Status.MENTION)}
        if all(run.sentence in mixed for run in deciding if option in run.options):
            return "undecided", None, "several named"
    if cues.NONE_OF_THEM.search(case.bare):
        return "undecided", None, "none, yet one"
    if level <= Status.MENTION and cues.WALKS_THROUGH.search(case.bare):
        return "undecided", None, "one of the options gone through"
    turned = any(run.contrasts or run.corrects for run in deciding) or cues.UNSURE_ENDS.search(case.bare)
    refused = level < Status.CLAIM and any(run.status == Status.REFUSED for run in case.runs)
    if refused or (not turned and cues.REFUSES_FIRST.search(case.bare)):
        return "undecided", None, "refusal, yet one"
    return None


def _nothing_chosen(case: _Case, echoed: bool) -> Verdict:
    """Verdict where every named option is denied, compared, refused, or part of a list of all."""
    none_of_them = cues.NONE_OF_THEM.search(case.bare)
    left = set(range(len(case.lexicon.letters))) - case.denied
    if case.denied and len(left) == 1 and not none_of_them:
        return "one", left.pop(), "elimination"
    statuses = {run.status for run in case.runs}
    if Status.REFUSED in statuses or cues.REFUSED.search(case.bare):
        return "none", None, "refusal"
    if none_of_them:
        return "none", None, "none of the options"
    if statuses & {Status.CONTRAST, Status.RETRACTED}:
        return "undecided", None, "only compared"
    if case.denied:
        return "none", None, "negated"
    if echoed or cues.ASKS_BEFORE_MENU.search(case.bare):
        return "none", None, "echo"
    return "several", None, "list"
