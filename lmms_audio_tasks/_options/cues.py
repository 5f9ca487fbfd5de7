"""Cue tables: what the words before and after a named option say about it.

All patterns read folded text without apostrophes ("isnt"), with brackets, quotes and markup blanked, and only a bounded
stretch of it, so none can run away. Patterns named ``*_LEFT`` end where the option begins, ``*_RIGHT`` begin where it
ends.
"""

from __future__ import annotations

import re

from lmms_audio_tasks._options.text import SLOT, SLOTS
from lmms_audio_tasks._options.text import any_of as _any

REACH = 160  # characters of context read on each side of an option
_SLOT = f"[{chr(SLOT)}-{chr(SLOT + SLOTS - 1)}]"
SPLIT_SLOTS = re.compile(f"({_SLOT})")
ASKS_BEFORE_MENU = re.compile(rf"\?\s*{_SLOT}")
SENTENCE_END = re.compile(r"([.!?]+(?=\s|$)|\.{2,}|\n|;)")


def _words(*rows: str) -> frozenset[str]:
    return frozenset(word for row in rows for word in row.split())


_IS = _any(
    "is, are, was, be, remains, becomes, would be, must be, should be, es, est, ist, e, lautet, sera, seria, ware",
)
_NOT = _any(
    "not, cannot, never, hardly, neither, nor, isnt, arent, wasnt, werent, dont, doesnt, didnt, cant, couldnt",
    "wouldnt, shouldnt, wont, havent, hasnt, hadnt, mustnt, aint, no es, nicht, kein, keine, pas, non e, nao e",
)
_ARTICLE = r"(?:(?:a|an|the)\s+)"

# --- negation -------------------------------------------------------------------------------------------------------
_BREAKS = _any("but, so, because, since, and, therefore, which, however, though, only, just") + r"\b"
_NO_SIGN_OF = _any(
    "such, signs?, hints?, traces?, evidence, indication, of, real, clear, any, a, an, the, obvious, sense, sound",
    "presence, elements?",
)
_REJECTS = _any(
    "rather than, instead of, as opposed to, in place of, anything but, other than, excluding, except(?: for)?",
    "over, non, rul(?:e|es|ed|ing) out, eliminat(?:e|es|ed|ing), exclud(?:e|es|ed), discard(?:s|ed|ing)?",
    "reject(?:s|ed|ing)?, dismiss(?:es|ed|ing)?, neither, incorrect, wrong",
)
NEGATED_LEFT = re.compile(
    rf"\b{_NOT}(?:\s+(?!{_BREAKS})[\w-]+){{0,6}}[\s-]*$"
    rf"|\b{_any('no, without, lacks?, lacking, absence, free')}(?:\s+{_NO_SIGN_OF})*\s*$"
    rf"|\b{_REJECTS}[\s:-]*(?:both\s+)?(?:{_any('a, an, the, any, options?, choice, answer, letter')}\s+)*\s*$"
    rf"|{_any('不是, 并非, 並非, 不会是, 没有, 不可能是, 不选, 排除')}\s*$"
)
_DENIED_BUT = _any("wrong, incorrect, ruled out, eliminated, out, none, no, nothing, neither") + r"\b[^.;]{0,40}"
_NO_DENIAL = _any(
    "not? (?:a )?doubt, without (?:a |any )?doubt, no question, not only, not just, nothing but, why not",
    "none other than, no other (?:than|option), not surprising(?:ly)?, cant go wrong",
    "(?:can ?not|cant|could ?not|couldnt|not) (?:be )?anything (?:but|other than|else)",
)
# "no doubt it is", "not only", "nothing but": negative words that deny nothing about the option.
NOT_NEGATED = re.compile(
    rf"\b(?:{_NO_DENIAL}"
    rf"|{_DENIED_BUT}\bexcept(?: for)?)\b[^,;]*$"
)
_OFF = _any(
    r"not, no, nope, wrong, incorrect, false, unlikely, improbable, impossible, implausible, inconsistent",
    r"irrelevant, invalid, inaccurate, ruled out, eliminated, excluded, discarded, dismissed, rejected, out",
    r"unrelated, inappropriate, unsuitable, a mistake, less \w+, the wrong, an incorrect, x, n/a, falsch",
    r"incorrecta?, faux, fausse, ✗",
)
_ADVERB = _any(
    "also, clearly, definitely, certainly, obviously, simply, therefore, thus, likely, probably, both, all, then",
    "just, easily, immediately",
)
_MATCHING = _any(
    "correct, right, it\\b, this\\b, a match, match, matching, likely, true, fit, fitting, possible, plausible",
    "applicable, relevant, present, because, since, as, for, here, and, but, so",
)
_MORE_MATCHING = _any(
    "a fit, suitable, appropriate, accurate, valid, consistent, the, what, that, supported, mentioned, heard, to",
    "from, by, my, an? (?:answer|option|good|correct|possible)",
)
_THE_ANSWER = r"the (?:answer|right|correct|best|case|one)"
_SEEMS = _any(
    "is, are, was, were, seems?, would be, looks?, must be, can be, could be, should be, sounds?, being, gets?",
)
_FITS = _any(
    "match, fit, apply, work, correspond, align, make sense, sound, seem, suit, count, describe, represent, reflect",
)
_STOPS = r"[\s.,;:!?-]*"
NEGATED_RIGHT = re.compile(
    rf"\s*(?:[:,?=→-]+|->)?\s*(?:{_ADVERB}\s+)*{_OFF}(?={_STOPS}(?:$|[.,;:!?-]|{_MATCHING}|{_THE_ANSWER}))"
    rf"|\s*,?\s*(?:which\s+)?"
    rf"{_SEEMS}\s+(?:{_ADVERB}\s+)*{_OFF}(?={_STOPS}(?:$|[.,;:!?-]|{_MATCHING}|{_MORE_MATCHING}))"
    rf"|\s*,?\s*{_any('isnt, arent, wasnt, werent, (?:can ?not|cant|could ?not|couldnt|wont|would ?not|wouldnt) be')}"
    rf"(?=\s*(?:$|[.,;:!?-]|{_MATCHING}|the|what))"
    rf"|\s*,?\s*{_any('doesnt, does not, dont, do not, didnt, did not, wouldnt, would not, cannot, cant')}\s+"
    rf"(?:(?:possibly|really|quite|seem to)\s+)?"
    rf"{_FITS}"
    rf"|\s*{_any('不对, 不對, 错, 錯, (?:では|じゃ)(?:ない|なく|ありません)')}|(?:이|가)?\s*아[니닙]"
    rf"|\s*(?:can|could|may|should|must)\s+(?:\w+\s+)?be\s+"
    rf"{_any('ruled out, eliminated, excluded, discarded, dismissed, rejected')}"
)
# "(a)? no (d)": before a label this is a correction, where "no dog" would be a denial.
BARE_NO = re.compile(r"(?:^|[^\w\s])\s*no\s*$")
# "All except (d) are wrong".
ALL_BUT_LEFT = re.compile(r"\b(?:all|every\w*|any\w*|each)\b[^.;]{0,30}\b(?:except(?: for)?|but|besides)\s*$")
ARE_OFF_RIGHT = re.compile(rf"\s*(?:is|are|can be|seems?)\s+(?:{_ADVERB}\s+)*{_OFF}\b")
# A whole sentence that judges the one before it.
NO = re.compile(
    r"\W*"
    + _any("no, nope, wrong, incorrect, false, not really, not this(?: one)?, unlikely, not correct, not a match, ✗")
    + r"\W*"
)
NO_BEGINS = re.compile(r"\W*(?:no|nope|not)\b")
YES = re.compile(
    rf"\W*{_any('yes, correct, right, yep, exactly, that is it, thats it, this is it, true, match, a match, ✓')}\W*"
)
CROSS_FIRST = re.compile(r"[\s-]*✗\s*$")
CHECK_FIRST = re.compile(r"[\s-]*✓\s*$")
# "A dog does not meow", "a cat would meow": facts about an option, not a verdict on it.
FACT_RIGHT = re.compile(
    rf"\s*would\s+(?!{_any('be, fit, match, seem, make sense, best, work, suit, align, correspond, answer')}\b)\w"
    r"|\s*,?\s*(?:\w+\s+){0,2}?"
    rf"{_any('is, are, was, were, do, does, did, would, can, could, will, has, have, sounds?')}?\s*{_NOT}\b"
)

# --- commitment -----------------------------------------------------------------------------------------------------
NOUN = _any(
    "answers?, option, choice, selection, pick, guess, vote, bet, response, solution, conclusion, verdict",
    "prediction, decision, respuesta, opcion, reponse, antwort, losung, risposta, resposta, ответ",
)
_FILL = (
    _any(
        "most, more, very, likely, probably, possibly, clearly, definitely, certainly, obviously, surely, simply",
        "just, indeed, actually, really, undoubtedly, in fact, therefore, thus, then, also, still, now, option",
        "choice, answer, letter, number, the, a, an, one, that, of, as follows, following, it is, its, this is",
        "thats, to be, be, is, either, both, in, as, sound, as in, :, =, -",
    )
    + r"[\s,]*"
)
_CHOOSE = _any(
    "choose, choosing, chose, chosen, pick, picking, picked, select, selecting, selected, go(?:ing)? (?:with|for)",
    "went with, opt(?:ing|ed)? for, settl(?:e|ing|ed) (?:on|for), concluded?, concluding, guess, vote for",
    "answer(?:ing)?, stick(?:ing)? with, lean(?:ing)? (?:more )?(?:towards?|to), say, elijo, choisis, wahle, scelgo",
    "escolho",
)
_THEREFORE = _any(
    "therefore, thus, hence, consequently, ultimately, in conclusion, in summary, overall, to conclude, accordingly",
    "as a result, finally, to summarize, all in all, =+>, -+>, →",
)
_BEST = _any(
    "closest, best, nearest, likeliest, most (?:likely|probable|plausible|appropriate|suitable|accurate)",
)
_CLAUSE = r"(?:^|[,;:.-]|\band\b)\s*"
FINAL_LEFT = re.compile(
    rf"\b{NOUN}\b(?:(?!\b(?:but|however)\b|\n).){{0,80}}?(?:\b{_IS}\b|[:=→>-])[\s,]*(?:{_FILL}){{0,4}}$"
    rf"|\b(?:answer|conclusion|choice|antwort|respuesta|reponse)\s*\n\s*(?:{_FILL}){{0,3}}$"
    rf"|\b{_CHOOSE}\b\s*(?:that\s+)?,?\s*(?:{_FILL}){{0,4}}$"
    rf"|{_any('答案, 正解, 答え, 정답, 답변, 답')}\s*"
    rf"{_any('是, 为, 為, 应该是, 應該是, 应为, は, 은, 는, :, =, -')}?\s*(?:选项|選項)?\s*$"
    rf"|{_any('选择, 選擇, 选, 選')}\s*(?:项|是|:)?\s*$"
    rf"|{_CLAUSE}{_THEREFORE}(?![^;✓✗]*\b(?:but|although|though)\b)[^;]{{0,90}}$"
    rf"|{_CLAUSE}so\b[^;]{{0,90}}$|\bso\s+{_any('the, it, its, this, i, that, my, we, hes, shes')}\b[^;,]{{0,80}}$"
    rf"|\b{_BEST}\b[^,;\n]{{0,60}}?(?:\b{_any('is, are, be, to be, as, matches, match, to, with, would be')}\b|[:-])"
    rf"[\s,]*(?:{_FILL}){{0,3}}$"
    rf"|\b{_any('most likely, must be, has to be, have to be, can only be, definitely, clearly, no doubt')}\s+"
    rf"(?:{_FILL}){{0,3}}$"
    r"|(?:→|=+>|-+>)\s*$"
    rf"|\b{_DENIED_BUT}\b(?:except(?: for)?|other than|but)\s*$"
)
_GOOD = _any(
    "correct, right, true, accurate, best, better, answer, choice, option, pick, guess, selection, likely",
    "likeliest, closest, match, appropriate, suitable, plausible, consistent, fit, valid, it, probable, fitting",
)
FINAL_RIGHT = re.compile(
    rf"\s*,?\s*(?:which\s+)?(?:{_IS}|{_any('seems?(?: to be)?, appears?(?: to be)?, sounds?, looks?, has to be')})\s+"
    rf"(?:(?!{_any('not, no, less, also, only')}\b)[\w-]+\s+){{0,4}}?{_GOOD}\b"
    r"|\s*(?:[:=?,→-]+|->)\s*"
    rf"{_any('yes, correct, right, true, this (?:is|matches|fits), match(?:es)?(?! with), final answer')}\b"
    r"|\s*[:-]?\s*✓"
    r"|\s*(?:best|most closely|most accurately)\s+"
    rf"{_any('fits?, matches, describes, represents, reflects, corresponds, aligns, suits, answers')}"
    rf"|\s*{_any('fits?, matches, suits, works, aligns, corresponds, describes, represents, reflects, makes')}\b"
    rf"[^,;]{{0,50}}?\b{_any('best, better, most, perfectly, closely, exactly, well, more sense')}\b"
    rf"|\s*,?\s*{_any('it is, its my, is my, for sure, of course, final answer, wins')}\b"
    rf"|\s*{_any('是正确, 是对, 正确, が正解, が正し, です, 가 정답, 이 정답')}"
)
_CLAIM = _any(
    "is, are, was, be, its, thats, hes, shes, sounds?, sounding, seems?, appears?, like, as, speaks?, speaking",
    "spoken in, language of, hear, heard, express(?:es|ing|ed)?, convey(?:s|ing|ed)?, feel(?:s|ing)?",
    "show(?:s|ing)?, indicates?, suggests?, points? to, corresponds? to, matches, match, identify, identified",
    "classified, belongs? to, think, believe, made by, has, produced by, coming from, comes from, from",
)
_CLAIM_FILL = _any(
    "a, an, the, very, quite, clearly, most, likely, probably, possibly, to be, be, to, in, of, spoken, some, kind",
    "sort, sound, that, it, is, its, voice, feeling, definitely, as, from, like, rather, somewhat, extremely",
    "really, so, option, being, emotion, language, by, made, deeply",
)
CLAIM_LEFT = re.compile(rf"\b{_CLAIM}(?:\s+{_CLAIM_FILL})*[\s-]*$")
HEDGED = re.compile(r"\b(?:could|might|may|maybe|perhaps|possibly)\b")
# Words that add nothing to an option in a sentence of its own: "I think it is ...", "maybe".
LIGHT = re.compile(
    r"(?:\W|\b"
    + _any(
        "maybe, probably, perhaps, possibly, definitely, certainly, clearly, surely, i think, i guess, i believe",
        "i would say, id say, its, it is, this is, thats, that is, option, choice, a, an, the, yes, ok, okay, well",
        "hmm, um, uh, sure, likely, most likely, then, please, answer, it, is, most, hm, so, here, you go, i am, im",
        "confident, sounds like, like, must be, would be, could be, might be, may be, has to be, speech, sound",
        "voice, speaker, emotion, language, animal, of, in, es, est, ist, c est, ce, cest, das, el, la, le, un, une",
        "eine?",
    )
    + r"\b)*"
)

# --- neither --------------------------------------------------------------------------------------------------------
_UNABLE = _any(
    "cannot, cant, can not, could not, couldnt, unable to, not able to, dont, do not, am not, im not",
    "not possible to, impossible to, difficult to, hard to, isnt possible to, no way to, without being able to",
    "wont be able to, refuse to, not (?:equipped|designed|allowed|permitted) to",
)
_KNOW = _any(
    "determine, tell, identify, know, say, answer, decide, discern, distinguish, hear, listen, process, access",
    "analy[sz]e, provide, assist, help, judge, assess, recogni[sz]e, detect, infer, ascertain, confirm, play",
    "perceive, choose, select, make, classify, guess, figure, see, have (?:access|enough|the ability)",
    "be (?:determined|identified|certain|sure)",
)
REFUSED = re.compile(
    rf"\b{_UNABLE}\s+(?:[\w-]+\s+){{0,3}}?{_KNOW}\b"
    r"|\b(?:(?:not|isnt) (?:sure|certain|clear)|not enough information)\b"
    rf"|\b{_any('unsure, uncertain, unclear, no idea, undetermined, insufficient')}\b"
)
_SORRY = _any(
    "im sorry, i am sorry, sorry, i apologi[sz]e, unfortunately, as an ai, i cannot, i cant, i am unable, im unable",
    "i dont, i do not",
)
# "Let me look at each option": where the text ends before it came to an answer, the option it stopped at is not one.
WALKS_THROUGH = re.compile(
    r"\b(?:lets|let me|let us|(?:ill|i will|we will|well|we can|we need to|i need to)(?: now)?)(?: \w+){1,3}? "
    r"(?:each|every|all|through|the|these)(?: \w+){0,2}? (?:options?|choices?|possibilities)\b"
)
REFUSES_FIRST = re.compile(rf"^\W*{_SORRY}\b[^.!?\n]{{0,200}}(?:{REFUSED.pattern})")
# "I cannot be sure, but ...": where the refusal stops.
UNSURE_ENDS = re.compile(
    rf"\b{_any('but, however, although, though, yet, still, nevertheless, if i had to, if i have to, if i must')}\b|:"
    rf"|,\s*{_any('i, it, the, my, so, based, this, maybe, perhaps, probably, possibly, likely, could, might')}\b|,\s*$"
)
# "I do not hear a ...": a denial, no refusal.
PERCEIVES = re.compile(r"\b(?:hear|detect|see|perceive|sense)\s+(?:(?:a|an|any|the|signs?|hints?|of|much)\s+)*$")
_COMPARED = _any(
    "than, unlike, compared (?:to|with), versus, vs, in contrast to, contrary to, different from, distinct from",
    "opposed to, confused (?:with|for), mistaken (?:for|as), whereas, while, similarly to, just as",
)
_COMPARED_FILL = _any(
    "a, an, the, that, those, of, typical, other, most, average, with, for, usual, in, normal, is, are, sound, more",
    "option",
)
CONTRAST_LEFT = re.compile(
    rf"\b{_COMPARED}(?:\s+{_COMPARED_FILL}){{0,5}}[\s-]*$"
    rf"|\btoo \w+ (?:for|to be)\s+{_ARTICLE}?$"
    r"|\b(?:if (?!(?:i|we) (?:had|have|must|were to)\b)|were it|had it been|whether)\b[^,;]*$"
    rf"|\b{_any('words?, term, phrase, saying, says, said, named, called, lyrics?')}[\s:,]+(?:the\s+)?$"
)
MENU_LEFT = re.compile(
    rf"\b{_any('options, choices, alternatives, candidates, possibilities')}"
    rf"(?:\s+{_any('are, were, include, given, provided, listed, available, here, to choose from, above, below')}"
    r"|[:,\s])*$"
    r"|\b(?:question|options?)\s*:\s*$"
)
_EARLIER = r"(?:first|initial|original|previous) " + _any(
    "thought, guess, instinct, impression, answer, choice, pick, response",
)
TENTATIVE_LEFT = re.compile(
    r"\b"
    + _any(
        f"at first, initially, originally, {_EARLIER}, i thought, i was (?:going|about), thought (?:it|this)",
        "(?:might|may) (?:first )?(?:seem|think|say|expect|assume), (?:one|you) (?:might|could|may), tempting",
        "tempted, considered, considering, suspected, assumed, could have been",
        "(?:let me|lets) (?:check|consider|examine|look at), looking at",
        "(?:options?|choices) (?:are|includes?|were), choose (?:from|between|among), between, among, is it",
        "could it be, is this",
    )
    + r"\b[^,;]*$"
)
TENTATIVE_RIGHT = re.compile(
    r"\s*,?\s*(?:(?:is|are|was|could be|may be|might be)\s+)?"
    + _any(
        "at first, initially, my first (?:thought|guess|instinct), my initial, a possibility, possible, plausible",
        "tempting, close, also (?:possible|plausible|likely|an option|a possibility)",
        "(?:could|might|may) (?:also )?be, seemed, looked, came to mind",
    )
    + r"\b"
)
_BECAUSE = _any("because, since, due to, given, considering, based on, as (?:the|it|this|there|its)")
REASON = re.compile(rf"\b(?:{_BECAUSE}|for (?:the|its)|thanks to)\b[^,;:]*$")
REASON_WORD = re.compile(rf"\b{_BECAUSE}\b")
REASON_BEGINS = re.compile(rf"[\s,-]*(?:{_BECAUSE}|as|for|which|where|with)\b")

# --- between options ------------------------------------------------------------------------------------------------
_LETTERS_JOIN = "和|或者|或|與|与|か|と|와|과|또는"
_AND_OR = _any("and, or, nor, as well as, plus, vs, versus, y, o, et, ou, und, oder, e, maybe, perhaps, possibly, also")
LIST_WORD = re.compile(rf"[/&+|]|\b{_AND_OR}\b|{_LETTERS_JOIN}")
_JOIN_FILL = _any(
    "and/or, along with, even, either, both, probably, then, option, choice, letter, the, a, an, that, one, another",
    "its, it, is, (?:could|might|may|can)(?: also)? be, of, sometimes",
)
_JOINT = rf"(?:[,/&+|.-]|\b{_AND_OR}\b|\b{_JOIN_FILL}\b|{_LETTERS_JOIN})"
JOIN = re.compile(rf"[\s:]*(?:{_JOINT}[\s,]*)*")
JOIN_BEGINS = re.compile(rf"\s*{_JOINT}")
OR_BEGINS = re.compile(r"\s*(?:or|and)\b")
CLAIMS_AGAIN = re.compile(r"\b(?:its|it is|is)\b")
ALSO = re.compile(r"\b(?:also|as well|too|equally|either|both)\b")
ADDS = re.compile(rf"\b(?:(?:is|its|are|be|was) also|also|as well as)\s+(?:{_ARTICLE}|(?:likely|possibly|option)\s+)*$")
BUT = re.compile(r"\b(?:but|however|yet|except|although)\b")
CORRECTION = re.compile(
    r"\b"
    + _any(
        r"wait, actually, correction, scratch that, strike that, oops, second thoughts?",
        r"let me (?:re\w+|correct|think again|change), i mean, i meant, my mistake, my bad, i misspoke, sorry",
        r"apologies, hold on, chang(?:e|ed|ing) my (?:mind|answer), upon (?:reflection|reconsideration|closer)",
        r"or rather, to correct myself, i take that back, revised, updated, no no",
    )
    + r"\b|(?:^|[.,;:!?-])\s*(?:no|nope|hmm,? no)\b(?=\s*(?:$|[.,;:!-]|(?:wait|its|it|that|the|this)\b))"
)
TAG_QUESTION = re.compile(
    rf",\s*{_any('isnt it, is it not, doesnt it, right, correct, no, arent they, isnt (?:he|she)')}\s*\?"
)

# --- whole responses ------------------------------------------------------------------------------------------------
_LISTED = _any("options?, answers?, choices?, match")
NONE_OF_THEM = re.compile(
    r"\bnone of (?!(?:the |these |those )?(?:others?|remaining|rest)\b)|\b(?:nor|not) any (?:of|other)\b"
    rf"|\b(?:no|not any) (?:of the )?(?:(?:correct|matching|suitable|valid) )?{_LISTED}\b"
    r"|\b(?:not|isnt|arent) "
    rf"{_any('listed, among, in (?:the )?(?:list|options), one of the, any of the, on the list, an option')}\b"
)
ALL_OF_THEM = re.compile(
    rf"\b{_any('all, both, any, each, every one, either')} (?:of )?(?:the )?"
    rf"{_any('above, options?, them, these, those, answers?, choices?')}\b"
    r"|\b(?:both|all|either)\W*$|^\W*(?:both|either)(?:\s+\w+){1,2}\W*$|\bboth (?:are|sound|fit|seem|apply)\b"
)
NUMBERED = re.compile(r"\b(?:option|choice|answer|number)\s*[:#]?\s*[1-9]\b")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
ORDINAL = re.compile(
    rf"\bthe\s+({'|'.join(ORDINALS)}|last)\s+(?:option|choice|answer|one|alternative)\b",
)
# What may come before the answer in a short response.
LEAD = re.compile(
    rf"\s*(?:.{{0,60}}?\b{NOUN}\b\s*(?:{_IS}|[:=-])\s*|"
    + _any(
        "its, it is, this is, that is, thats, i think, i believe, i would say, id say, maybe, probably",
        "they are, he is, she is",
        "hes, shes, (?:it|they|he|she|this animal|the animal)(?: (?:can|will|does|would))?",
        "the (?:speaker|animal|sound|emotion|voice|language|person|audio) "
        "(?:is|sounds|seems|sounds like|feels|in the audio is|is speaking|speaks|heard is)",
    )
    + rf"\s+)?(?:that\s+)?(?:it is |its )?{_ARTICLE}?"
)
# Words of an explanation: what follows a letter with one of these is no option text.
EXPLAINS = _words(
    "is was are seems matches fits sounds best most would will has have describes represents reflects",
    "corresponds and or because since as for with if in on at from due based given it this that i my final",
    "answer option choice correct right please definitely clearly thanks thank confidence confident",
    "explanation reason reasoning judgement judgment note by to of very likely probably maybe speaker audio",
    "sound voice which its be can could must should not no certainly surely obviously sure think guess here",
    "there you your his her their he she they we so then but yes thing one only me am who what",
)
