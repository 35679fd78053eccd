"""What transformers makes of our model folders: logits, token ids, chats; and PEFT of our adapters."""

import torch
from answering import answer
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast


def logits_of(model, sequences):
    with torch.no_grad():
        return [model(torch.tensor([ids])).logits[0].flatten().tolist() for ids in sequences]


def read_model(case):
    model = AutoModelForCausalLM.from_pretrained(case["folder"], dtype=torch.float32).eval()
    if "adapter" in case:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, case["adapter"]).eval()
    return {"logits": logits_of(model, case["sequences"]), "kind": type(model).__name__}


def read_texts(case):
    reader = AutoTokenizer if case["automatic"] else PreTrainedTokenizerFast
    tokenizer = reader.from_pretrained(case["folder"])
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in case["texts"]]
    keep = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    chats = []
    for chat in case["chats"]:
        settings = {"tools": chat.get("tools"), "add_generation_prompt": True}
        text = tokenizer.apply_chat_template(chat["messages"], tokenize=False, **settings)
        encoded = tokenizer(text, add_special_tokens=False)["input_ids"]
        chats.append({"text": text, "ids": encoded})
    return {"ids": ids, "texts": [tokenizer.decode(row, **keep) for row in ids], "chats": chats}


def respond(request):
    return {
        "models": [read_model(case) for case in request.get("models", [])],
        "texts": [read_texts(case) for case in request.get("texts", [])],
    }


answer(respond)
