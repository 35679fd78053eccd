"""Makes tests/models/tokenizer/gemma: a small tokenizer built as Gemma's, and what the tokenizers library and
transformers make of texts and chats.

    python tools/interop/python/make_tokenizer_goldens.py tests/models/tokenizer && npm run format

Also writes what transformers renders with the templates in tests/models/tokenizer/manners.
"""

import json
import random
import sys
from datetime import datetime
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.utils import chat_template_utils

SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>"]
# Gemma has runs of line breaks and spaces, and some tags, as tokens that are no special ones.
PLAIN = ["\n\n", "\n\n\n", "▁▁", "▁▁▁▁", "</td>"]
# They are in the vocabulary, too, as in Gemma's: the corpus has them.
WORDS = (
    "</td> You are in the middle of a room. Looking around, you see a drawer 12, a cabinet 3. größe naïve 日本 "
    "go to take put"
)


def text_of(rng):
    pools = [
        lambda: rng.choice(WORDS.split()),
        lambda: rng.choice([" ", " ", "  ", "    ", "\n", "\n\n", "\n\n\n", "\t", "\r\n", "▁", "▁▁"]),
        lambda: "".join(rng.choice("abcdefgo rt.,!?'0123456789") for _ in range(rng.randint(1, 4))),
        lambda: rng.choice(["é", "e\u0301", "ﬁ", "ß", "漢", "👩‍🚀", "🇩🇪", "\u0000", "\u200b", "\ufeff", "\u2028", "한"]),
        lambda: rng.choice([*SPECIAL[1:6], "<start_of", "</td>", "<0x0A>", "<0xE2>"]),
        lambda: chr(rng.choice([rng.randint(1, 0xD7FF), rng.randint(0xE000, 0x1FFFF)])),
    ]
    return "".join(rng.choice(pools)() for _ in range(rng.randint(0, 6)))


def gemma_tokenizer(corpus):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    # Learned from words, or whole lines would become tokens; used without cutting, as Gemma's.
    cut = tokenizer.pre_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("▁?[^▁]+|▁+"), "isolated")
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=520, special_tokens=[*SPECIAL, *bytes_], limit_alphabet=90, show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.pre_tokenizer = cut
    described = json.loads(tokenizer.to_str())
    # Bytes are tokens of the vocabulary, not added ones.
    described["added_tokens"] = [token for token in described["added_tokens"] if token["content"] in SPECIAL]
    tokenizer = Tokenizer.from_str(json.dumps(described))
    assert all(token in described["model"]["vocab"] for token in PLAIN)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in PLAIN])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", 2)]
    )
    return tokenizer


PARAMETERS = {"type": "object", "properties": {}, "required": [], "n": [1, 2.5, True, False]}
DESCRIPTION = "it's \"größe\"\n"
FUNCTION = {"name": "look", "description": DESCRIPTION, "strict": None, "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}
USER, REPLY = {"role": "user", "content": " Where?\n"}, {"role": "assistant", "content": "\n\nHere. "}
CHATS = [
    {"messages": [USER]},
    {"messages": [{"role": "system", "content": "Be brief. /no_think"}, USER, REPLY, USER]},
    {"messages": [{"role": "system", "content": "Only this. /alone"}, USER, REPLY, USER, REPLY]},
    {"messages": [USER, REPLY, USER], "variables": {"enable_thinking": False}},
    {"messages": [USER], "tools": [TOOL, TOOL]},
    {"messages": [USER], "variables": {"python_tools": ["def f(x): ..."], "xml_tools": ["{'a': 1}"]}},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": " a "}, {"type": "image"}]}, REPLY, USER]},
    {"messages": [USER, REPLY, {"role": "tool", "content": "<b>"}]},
    {"messages": [USER, USER]},
]
# JSON must be able to carry them: no 2.0, which is read as 2.
VALUES = [
    *[None, True, False, 0, -7, 12345678901234, 0.5, -2.25, 1e-4, 1.5e-5, 1e-7, 123456.789],
    *[[], {}, [[]], [{}], ["a", 1, None], {"a": {"b": [1, {"c": "d"}]}}, {"": ""}, {"größe": True}],
    *[{"it's": 'say "it\'s"'}, ["it's"], ['"'], ["\\", "\n\r\t\0\x1f\x7f\x80\xa0\xad"]],
    ["é", "漢", "👍🏽", "\u200b\u2028\ufeff", "\U000e0001", "a b", "\u3000"],
]
DAY = datetime(2025, 7, 8, 9, 10, 11)


class FixedDay(datetime):
    @classmethod
    def now(cls):
        return DAY


def rendered(source, chat):
    """None where the template refuses."""
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            [chat["messages"]],
            chat_template=source,
            tools=chat.get("tools"),
            add_generation_prompt=True,
            bos_token="<bos>",
            **chat.get("variables", {}),
        )
        return texts[0]
    except Exception as error:
        if "take turns" in str(error):
            return None
        raise


def main(place):
    rng = random.Random(5)
    gaps = [" ", " ", "  ", "    ", "\n", "\n\n", "\n\n\n"]
    corpus = ["".join(rng.choice(WORDS.split()) + rng.choice(gaps) for _ in range(30)) for _ in range(40)]
    folder = place / "gemma"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = gemma_tokenizer(corpus)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    named = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
    settings = {**named, "tokenizer_class": "GemmaTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    texts = [text_of(rng) for _ in range(500)]
    ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    # Ids that nobody wrote: bytes in the middle of characters, tokens in any order.
    drawn = [[rng.randrange(tokenizer.get_vocab_size()) for _ in range(rng.randint(1, 8))] for _ in range(100)]
    expected = {
        "texts": texts,
        "ids": ids,
        "again": [tokenizer.decode(row, skip_special_tokens=False) for row in ids],
        "drawn": drawn,
        "decoded": [tokenizer.decode(row, skip_special_tokens=False) for row in drawn],
        "with_special": tokenizer.encode("You see").ids,
    }
    (folder / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
    chat_template_utils.datetime = FixedDay
    manners = {}
    for file in sorted((place / "manners").glob("*.jinja")):
        manners[file.stem] = [rendered(file.read_text(), chat) for chat in CHATS]
    answer = {"now": DAY.isoformat() + "Z", "chats": CHATS, "rendered": manners}
    answer |= {"values": VALUES, "texts": [str(value) for value in VALUES]}
    (place / "manners" / "expected.json").write_text(json.dumps(answer, indent=1) + "\n")


main(Path(sys.argv[1]))
