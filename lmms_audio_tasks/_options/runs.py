"""Runs of mentions, and what the words on their two sides make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from lmms_audio_tasks._options import cues
from lmms_audio_tasks._options.mentions import Mention

_LABELS = frozenset(("letter", "letter+text"))


class Status(IntEnum):
    """How firmly a run stands for its options; the highest present decides."""

    REFUSED = 0  # "I cannot tell whether it is ..."
    NEGATED = 1
    CONTRAST = 2  # "higher than male", "if it were ..."
    RETRACTED = 3
    SOFT = 4  # a first thought, a reason, a question
    MENTION = 5
    CLAIM = 6  # "the speaker sounds ..."
    ALONE = 7  # a sentence or line of its own
    FINAL = 8  # "the answer is ..."


@dataclass(slots=True)
class Run:
    """Joined mentions ("(a), (b) or (c)") with the words around them."""

    mentions: list[Mention]
    left: str
    sentence: int
    right: str = ""
    ends: bool = True  # no other run follows in the sentence
    asked: bool = False  # the sentence is a question
    refused: bool = False
    reason: bool = False  # "because ..." stands before it
    corrects: bool = False  # a correction word stands between the run before and this one
    contrasts: bool = False  # a "but" does
    menu: bool = False  # nothing but the list of all options
    status: Status = Status.MENTION

    @property
    def options(self) -> list[int]:
        """Option indices in order of mention."""
        return [mention.index for mention in self.mentions]

    @property
    def labelled(self) -> bool:
        """Whether every option is named by its letter."""
        return all(mention.how in _LABELS for mention in self.mentions)


# --- building -------------------------------------------------------------------------------------------------------
def _is_joined(gap: str, one: Mention, two: Mention, following: str) -> bool:
    if not gap.strip():
        return True
    if not cues.JOIN.fullmatch(gap) or (":" in gap and not (one.how == "letter" and two.how != "letter")):
        return False
    if cues.LIST_WORD.search(gap):
        return True
    # "a, c" is a list where it ends or goes on as one; ", it is c" opens a new clause.
    ends = not following.strip(" ,.") or cues.JOIN_BEGINS.match(following) is not None
    return ends and not cues.CLAIMS_AGAIN.search(gap)


def _sentence_runs(pieces: Sequence[str], mentions: Sequence[Mention], carry: str, number: int) -> list[Run]:
    """Runs of one sentence; ``pieces`` alternates text and slots, ``carry`` is a heading before the sentence."""
    gaps = pieces[::2]
    runs: list[Run] = []
    for place, mention in enumerate(mentions):
        if runs and _is_joined(gaps[place], mentions[place - 1], mention, gaps[place + 1]):
            runs[-1].mentions.append(mention)
        else:
            if runs:
                runs[-1].ends = False
            left = gaps[place] if place else carry + gaps[place]
            runs.append(Run([mention], left[-cues.REACH :], number))
        runs[-1].right = gaps[place + 1][: cues.REACH]
    return runs


def find_runs(bare: str, mentions: Sequence[Mention]) -> list[Run]:
    """All runs of a text, in order, with their status; ``bare`` is its skeleton."""
    parts = cues.SENTENCE_END.split(bare)
    runs: list[Run] = []
    used, carry, corrects = 0, "", False
    for number in range(0, len(parts), 2):
        sentence, stop = parts[number], parts[number + 1] if number + 1 < len(parts) else ""
        pieces = cues.SPLIT_SLOTS.split(sentence)
        if len(pieces) == 1:
            if sentence.strip():
                _judge_before(runs, sentence)
                corrects = corrects or bool(runs and cues.CORRECTION.search(sentence))
                carry = f"{sentence.rstrip()[-80:]}\n" if stop == "\n" else ""
            continue
        count = len(pieces) // 2
        fresh = _sentence_runs(pieces, mentions[used : used + count], carry, number)
        used += count
        _read(fresh, asked=stop.startswith("?"), corrects=corrects)
        if _only_adds(runs, fresh):
            runs[-1].mentions += fresh.pop().mentions
        runs += fresh
        corrects, carry = bool(cues.CORRECTION.search(runs[-1].right)), ""
    return runs


def _only_adds(runs: Sequence[Run], fresh: Sequence[Run]) -> bool:
    """Tell "It could be (a). Or (b).": the second sentence goes on with the first."""
    left = fresh[0].left
    if not runs or len(fresh) > 1 or runs[-1].right.strip() or fresh[0].right.strip():
        return False
    return bool(cues.OR_BEGINS.match(left) and cues.JOIN.fullmatch(left))


def _judge_before(runs: Sequence[Run], sentence: str) -> None:
    """Apply "(a)? No." and "Is it (c)? Yes.": a sentence that only judges the one before."""
    if not runs:
        return
    last = runs[-1]
    if cues.NO.fullmatch(sentence) or (last.asked and cues.NO_BEGINS.match(sentence)):
        last.status = Status.NEGATED
    elif cues.YES.fullmatch(sentence) and last.status >= Status.SOFT and len(set(last.options)) == 1:
        last.status = Status.FINAL


# --- reading --------------------------------------------------------------------------------------------------------
def _read(runs: Sequence[Run], *, asked: bool, corrects: bool) -> None:
    """Fill in what needs the whole sentence, then the status of each run."""
    refused = reason = False
    for place, run in enumerate(runs):
        left = run.left
        run.asked, run.corrects = asked, corrects and place == 0
        if left:
            refusal = cues.REFUSED.search(left)
            if refusal:
                refused = not cues.UNSURE_ENDS.search(left, refusal.end()) and not cues.PERCEIVES.search(left)
            elif refused and cues.UNSURE_ENDS.search(left):
                refused = False
            reason = reason or bool((cues.REASON_WORD if place else cues.REASON).search(left))
            run.corrects = run.corrects or bool(cues.CORRECTION.search(left)) or _is_corrected_label(run)
            run.contrasts = bool(cues.BUT.search(left)) and not (cues.ALSO.search(left) or cues.HEDGED.search(left))
        run.refused, run.reason = refused, reason
    for place, run in enumerate(runs):
        run.status = _status(run, runs[place + 1] if place + 1 < len(runs) else None, first=place == 0)


def _is_corrected_label(run: Run) -> bool:
    return run.labelled and cues.BARE_NO.search(run.left) is not None


def _is_negated(run: Run, following: Run | None) -> bool:
    if _is_corrected_label(run):
        return False
    if run.left and cues.NEGATED_LEFT.search(run.left) and not cues.NOT_NEGATED.search(run.left):
        return True
    if not run.right or not cues.NEGATED_RIGHT.match(run.right):
        return False
    # In "a, not b" the word belongs to b.
    belongs_to_next = following is not None and cues.NEGATED_LEFT.search(following.left) is not None
    return not belongs_to_next or not cues.NEGATED_LEFT.fullmatch(run.right.strip(" ,-"))


def _status(run: Run, following: Run | None, *, first: bool) -> Status:
    """Status of a run by the cues beside it, the ones that weaken it first."""
    left, right = run.left, run.right
    if run.refused:
        return Status.REFUSED
    if first and cues.CHECK_FIRST.match(left):
        return Status.FINAL
    if cues.ALL_BUT_LEFT.search(left) and cues.ARE_OFF_RIGHT.match(right):
        return Status.FINAL
    if (first and cues.CROSS_FIRST.match(left)) or _is_negated(run, following):
        return Status.NEGATED
    if left and cues.CONTRAST_LEFT.search(left):
        return Status.CONTRAST
    if left and (cues.MENU_LEFT.search(left) or cues.TENTATIVE_LEFT.search(left)):
        return Status.SOFT
    if right and cues.TENTATIVE_RIGHT.match(right):
        return Status.SOFT
    if not run.asked and ((left and cues.FINAL_LEFT.search(left)) or (right and cues.FINAL_RIGHT.match(right))):
        return Status.FINAL
    if run.reason or run.asked:
        return Status.SOFT
    if first and _stands_alone(run):
        return Status.CLAIM if cues.HEDGED.search(left) else Status.ALONE
    if right and cues.FACT_RIGHT.match(right) and not (following and cues.NEGATED_LEFT.search(following.left)):
        return Status.CONTRAST
    return Status.CLAIM if left and cues.CLAIM_LEFT.search(left) else Status.MENTION


def _stands_alone(run: Run) -> bool:
    """Nothing but light words around it, or a reason after it."""
    if not cues.LIGHT.fullmatch(run.left):
        return False
    return bool((run.ends and cues.LIGHT.fullmatch(run.right)) or cues.REASON_BEGINS.match(run.right))


# --- looking back ---------------------------------------------------------------------------------------------------
def mark_menus(runs: Sequence[Run], count: int) -> None:
    """Mark "male or female": a run of all options commits to none of them."""
    everything = list(range(count))
    for run in runs:
        if Status.SOFT <= run.status <= Status.ALONE and sorted(run.options) == everything:
            run.menu = True


def retract(runs: Sequence[Run]) -> None:
    """Apply "(a)... wait, no, (c)" and "sounds like (a) but it is (c)": what came before no longer counts."""
    for place, run in enumerate(runs):
        if run.menu or run.status < Status.MENTION or not (run.corrects or run.contrasts):
            continue
        same_sentence = place > 0 and runs[place - 1].sentence == run.sentence
        if run.status > Status.MENTION or same_sentence or run.mentions[0].how in _LABELS:
            for earlier in runs[:place]:
                if _is_retracted(earlier, run):
                    earlier.status = Status.RETRACTED


def _is_retracted(earlier: Run, run: Run) -> bool:
    same = set(earlier.options) == set(run.options)
    if earlier.status == Status.NEGATED:
        return same
    if run.corrects:
        return not same and earlier.status > Status.NEGATED
    near = earlier.sentence == run.sentence or cues.HEDGED.search(earlier.left) is not None
    return near and Status.SOFT <= earlier.status <= Status.ALONE
